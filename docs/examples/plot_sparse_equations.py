"""
Sparse instantaneous equations
==============================

Learn which of 20 series drive each other within a row, from windows in which the unobserved inputs change their power.
The penalty is chosen by EBIC. A bootstrap of blocks of rows gives the confidence in each edge.
"""

import networkx as nx
import numpy as np

from pgmx.datasets import switching_series
from pgmx.estimators import BlockBootstrap, SelectedGraph, SparseTensorSEM
from pgmx.models import TimeSeriesGraph
from pgmx.plotting import plot_adjacency

rng = np.random.default_rng(0)
true = nx.gnm_random_graph(20, 40, seed=0, directed=True)
coef = nx.to_numpy_array(true).T * rng.uniform(0.2, 0.5, (20, 20))
series = switching_series(coef, n_windows=8, window=300).series

selected = SelectedGraph(SparseTensorSEM(exogenous="blind", window=300), show_progress=False).fit(series)
print(selected.path_)
names = selected.estimator_.variables_
picture = plot_adjacency(selected.graph_, reference=TimeSeriesGraph.from_coefficients(names, coef))

# %%
# Edges that are in at least 90 % of the resamples.
bootstrap = BlockBootstrap(selected.estimator_, n_resamples=20, show_progress=False).fit(series)
print(len(bootstrap.consensus_graph(0.9).edges), "edges; the true graph has", len(true.edges))
print(bootstrap.strengths_.tail(3))
