"""
Scores of Bayesian networks: edges and new rows
===============================================

The likelihood finds far too many edges, and predicts new rows worst. Other scores have a penalty, or a prior over
the tables.
"""

import matplotlib.pyplot as plt

from pgmx.datasets import sample_network
from pgmx.estimators import ChowLiuForest, HillClimbSearch
from pgmx.scores import AIC, BIC, EBIC, K2, BDe, BDeu, BDs, LogLikelihood

rows, new_rows = sample_network("sachs", 500, random_state=0), sample_network("sachs", 5_000, random_state=1)
forest = ChowLiuForest(weight="bic", equivalent_sample_size=1).fit(rows).model_  # the prior network of BDe
scores = [score(rows) for score in (LogLikelihood, AIC, K2, BDeu, BDs, BIC, EBIC)] + [BDe(rows, forest)]
edges, losses = {}, {}
for score in scores:
    search = HillClimbSearch(scoring_method=score, equivalent_sample_size=1).fit(rows)
    name = type(score).__name__
    edges[name], losses[name] = len(search.dag_.edges), -search.model_.score(new_rows)
    print(f"{name:14} {edges[name]} edges, {losses[name]:.3f} nats per new row")

# %%
# The true graph has 17 edges.
figure, (left, right) = plt.subplots(1, 2, sharey=True, figsize=(7, 3), layout="constrained")
left.barh(list(edges), edges.values())
left.axvline(17, color="black", linestyle="--")
left.set(xlabel="edges")
right.barh(list(losses), losses.values())
right.set(xlabel="negative log-likelihood per new row", xlim=(7, None))
picture = figure
