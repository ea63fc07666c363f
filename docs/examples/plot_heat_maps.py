"""
Heat maps: actual and inferred
==============================

Partial correlations of a Gaussian graphical model next to the true ones, and probabilities of edges of a Bayesian
network next to the true graph.
"""

from pgmx.datasets import gaussian_preferential_attachment_network, load_network, sample_network
from pgmx.estimators import GraphicalLasso, StructurePosterior
from pgmx.plotting import plot_adjacency

truth = gaussian_preferential_attachment_network(40, random_state=0)
learner = GraphicalLasso(lam_ratio=0.2).fit(truth.simulate(1_000, random_state=1))
correlations = plot_adjacency(learner.model_, reference=truth, order="clustered")

# %%
# Each cell of the left map is the posterior probability of the edge from the column to the row.
posterior = StructurePosterior(show_progress=False).fit(sample_network("asia", 500, random_state=3))
probabilities = plot_adjacency(posterior, reference=load_network("asia"))
