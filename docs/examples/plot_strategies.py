"""
Search strategies: greedy, thorough and best
============================================

Compare the scores of three searches, two of which continue past the first local optimum, and of other learners.
"""

from pgmx.datasets import sample_network
from pgmx.estimators import (
    MMHC,
    BestFirstSearch,
    GreedyEquivalenceSearch,
    HillClimbSearch,
    HybridSearch,
    SimulatedAnnealing,
)
from pgmx.plotting import plot_history
from pgmx.scores import BIC

frame = sample_network("insurance", 2_000, random_state=1)
for strategy in ("greedy", "thorough", "best"):
    search = HillClimbSearch(scoring_method="bic", strategy=strategy).fit(frame)
    print(f"{strategy:24} {search.score_:.1f} nats")

# %%
# Searches that accept worse graphs on the way, search equivalence classes, or first choose candidate edges by tests.
score = BIC(frame)
climb = HillClimbSearch(scoring_method="bic")
for learner in (
    BestFirstSearch(scoring_method="bic"),
    SimulatedAnnealing(scoring_method="bic"),
    GreedyEquivalenceSearch(scoring_method="bic"),
    MMHC(scoring_method="bic"),
    HybridSearch(climb),
):
    print(f"{type(learner).__name__:24} {score.score(learner.fit(frame).dag_):.1f} nats")

# %%
# The score of the best search against its running time in seconds.
picture = plot_history(search)
