"""Steps over the sets of parents of single variables, which moves of one arc do not make.

- `pairs`: additions of two parents that gain only together

`pgmx.search.dag.best` and `pgmx.search.dag.thorough` ask it; it asks the state and the course of the search.
"""
