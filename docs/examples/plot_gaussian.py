"""
Gaussian graphical models: two learners compared
================================================

Compare the graphs of the graphical lasso and CLIME for the crime rates of the states of the USA.
"""

from pgmx.datasets import load_example
from pgmx.estimators import CLIME, GraphicalLasso
from pgmx.plotting import plot_graph

frame = load_example("crime")
lasso = GraphicalLasso(lam=0.25).fit(frame)
clime = CLIME(lam=0.25).fit(frame)
print("both:", sorted(set(lasso.graph_.edges) & set(clime.graph_.edges)))
print("the lasso alone:", sorted(set(lasso.graph_.edges) - set(clime.graph_.edges)))
picture = plot_graph(lasso.graph_)
