"""
A tree-augmented classifier
===========================

Every column depends on the class and on at most one other column. The default prior of a classifier is one pseudo row.
Every row of known states therefore has class probabilities, even if its states did not occur together in the data.
"""

from pgmx.datasets import load_example
from pgmx.estimators import ChowLiuForest
from pgmx.plotting import plot_graph

frame = load_example("affairs")
forest = ChowLiuForest(class_node="affairs").fit(frame)
print(forest.model_.predict_probability(frame.drop(columns="affairs").head()))
picture = plot_graph(forest.dag_)
