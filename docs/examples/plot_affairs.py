"""
Prior knowledge: tiers of variables
===================================

A survey in which some answers precede others. Tiers allow only edges from earlier to later columns.
"""

from pgmx.datasets import load_example
from pgmx.estimators import HillClimbSearch
from pgmx.plotting import plot_graph

frame = load_example("affairs")
tiers = [
    ["age", "religious", "educ", "occupation", "occupation_husb"],
    ["yrs_married"],
    ["children"],
    ["rate_marriage"],
    ["affairs"],
]
search = HillClimbSearch(scoring_method="bic", strategy="thorough", tiers=tiers).fit(frame)
print(sorted(search.dag_.predecessors("affairs")))
picture = plot_graph(search.dag_)
