"""
Binning continuous columns
==========================

Hartemink's method chooses bins that preserve the mutual information between columns.
"""

from pgmx.data import discretize
from pgmx.datasets import load_example
from pgmx.estimators import HillClimbSearch
from pgmx.plotting import plot_graph

frame = load_example("crime")
states, bins = discretize(frame, method="hartemink", n_bins=3)  # `bins.transform` takes further rows
print(states.head())
search = HillClimbSearch(scoring_method="bdeu", strategy="thorough").fit(states)
picture = plot_graph(search.dag_)
