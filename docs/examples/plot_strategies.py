"""
Search strategies: greedy, thorough and best
============================================

Compare the scores of three searches. Two of them continue past the first local optimum.
"""

from pgmx.datasets import sample_network
from pgmx.estimators import HillClimbSearch
from pgmx.plotting import plot_history

frame = sample_network("insurance", 2_000, random_state=1)
for strategy in ("greedy", "thorough", "best"):
    search = HillClimbSearch(scoring_method="bic", strategy=strategy).fit(frame)
    print(f"{strategy:9} {search.score_:.1f} nats")

# %%
# The score of the last search against its running time in seconds.
picture = plot_history(search)
