"""
Greedy, thorough, best
======================

The course of a search that goes on past the first optimum.
"""

from pgmx.datasets import sample_network
from pgmx.estimators import HillClimbSearch
from pgmx.plotting import plot_history

frame = sample_network("insurance", 2_000, random_state=1)
for strategy in ("greedy", "thorough", "best"):
    search = HillClimbSearch(scoring_method="bic", strategy=strategy).fit(frame)
    print(f"{strategy:9} {search.score_:.1f} nats")

# %%
# The score of the last one against its seconds.
picture = plot_history(search)
