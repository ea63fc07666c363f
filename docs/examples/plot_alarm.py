"""
A Bayesian network from a table
===============================

Sample rows from a known network, learn the structure from the rows, and compare it with the true structure.
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
# Reversed, missing and superfluous edges have different colours and line styles.
picture = plot_graph(search.dag_, reference=truth)
