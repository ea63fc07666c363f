"""
A Markov network and its queries
================================

Learn an undirected graph, and query conditional probabilities given evidence.
"""

from pgmx.datasets import load_example
from pgmx.estimators import (
    BestChoiceEdgeGrafting,
    EdgeGrafting,
    FeatureGrafting,
    FirstHitEdgeGrafting,
    GraftingLight,
    GroupLassoMarkovNetwork,
    OnlineEdgeGrafting,
)
from pgmx.plotting import plot_graph

frame = load_example("affairs")
learner = GroupLassoMarkovNetwork(lam_ratio=0.1).fit(frame)
for known in ({}, {"rate_marriage": "poor"}, {"rate_marriage": "poor", "religious": "not"}):
    shares = learner.model_.marginals(evidence=known)["affairs"]
    print(known, {state: round(share, 3) for state, share in shares.items()})

# %%
# Wide edges are strong.
picture = plot_graph(learner.graph_)

# %%
# Learners that graft edges share this objective. Those that graft single features have another one in common.
for grafting in (EdgeGrafting, OnlineEdgeGrafting, BestChoiceEdgeGrafting, FirstHitEdgeGrafting):
    print(f"{grafting.__name__:24} {grafting(lam=learner.lam_).fit(frame).objective_ - learner.objective_:+.0e}")
for grafting in (FeatureGrafting, GraftingLight):
    print(f"{grafting.__name__:24} {grafting(lam=learner.lam_).fit(frame).objective_:.4f}")
