"""
A Gaussian graphical model of 600 variables
===========================================

Learn the graph of a random Gaussian network within a second, and draw communities in colours.
"""

from pgmx.datasets import gaussian_preferential_attachment_network
from pgmx.estimators import GraphicalLasso
from pgmx.metrics import skeleton_scores
from pgmx.plotting import plot_graph

truth = gaussian_preferential_attachment_network(600, random_state=0)
rows = truth.simulate(1_000, random_state=1)
learner = GraphicalLasso(lam_ratio=0.25).fit(rows)
print(learner.graph_, skeleton_scores(truth, learner.graph_))
picture = plot_graph(learner.graph_)
