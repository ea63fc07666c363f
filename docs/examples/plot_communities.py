"""
A large network: communities and neighbourhoods
===============================================

The first picture of the 724 variables of link shows communities with their most central variables. The second one
shows what is near one of them.
"""

from pgmx.datasets import load_network
from pgmx.plotting import plot_graph

link = load_network("link")
overview = plot_graph(link)

# %%
# All variables at most two edges from ``N55_d_m``.
neighbourhood = plot_graph(link, around="N55_d_m", radius=2)
