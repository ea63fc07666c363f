"""
A Bayesian network from a table
===============================

Rows are sampled from a known network, the structure is learned back, and the two are compared.
"""

from pgmx.datasets import load_network, sample
from pgmx.estimators import HillClimbSearch
from pgmx.metrics import edge_differences
from pgmx.plotting import plot_graph

truth = load_network("alarm")
frame = sample(truth, 10_000, random_state=1)
search = HillClimbSearch(scoring_method="bic", strategy="thorough").fit(frame)
print(f"score {search.score_:.1f} nats, {search.dag_.number_of_edges()} arcs, the truth has {truth.number_of_edges()}")
print(edge_differences(truth, search.dag_))

# %%
# Arcs of the wrong direction and arcs that are missing or too many differ in colour and in line.
picture = plot_graph(search.dag_, reference=truth)
