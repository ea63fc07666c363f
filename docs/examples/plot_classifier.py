"""
A tree-augmented classifier
===========================

Every column depends on the class and on one other column at most. The parameters of a classifier have a prior of one
pseudo row by default, so that every row of known states has class probabilities, also a row whose states did not occur
together in the data.
"""

from pgmx.datasets import load_example
from pgmx.estimators import ChowLiuForest
from pgmx.plotting import plot_graph

frame = load_example("affairs")
forest = ChowLiuForest(class_node="affairs").fit(frame)
print(forest.model_.predict_probability(frame.drop(columns="affairs").head()))
picture = plot_graph(forest.dag_)
