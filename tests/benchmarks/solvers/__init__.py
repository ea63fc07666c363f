"""One small file per tool; all speak the same five functions.

load(problem)         the tool's own loaded data, from a pandas frame of category columns (outside the "learn" clock)
learn(loaded)         the learning call alone (the "learn" clock)
end_to_end(problem)   what a user writes, from the frame to the graph (the "end to end" clock)
edges(result)         (tail, head) names of the graph that ``learn`` or ``end_to_end`` returned
own_score(problem, result)   the score the tool itself gives its graph, in natural logarithms: checked, never compared

``problem`` has ``frame`` (a pandas.DataFrame) and ``states`` ({column: all its declared states}).
A file is named like the package it drives.
"""
