"""
Central variables
=================

Nodes sized by the number of their neighbours, and by closeness: one over the mean distance to the other variables.
"""

from pgmx.datasets import load_network
from pgmx.plotting import plot_graph

alarm = load_network("alarm")
by_degree = plot_graph(alarm, sizes="degree")

# %%
# Closeness.
by_closeness = plot_graph(alarm, sizes="closeness", layout="spring")
