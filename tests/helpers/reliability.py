"""Each learner of the page on reliability, fitted to a small table; run as a script, all results as JSON."""

import json
import sys
from functools import cache

import numpy as np
import pandas as pd
from sklearn.base import clone

from pgmx.datasets import load_network, sample
from pgmx.estimators import (
    CLIME,
    BestFirstSearch,
    BootstrapStructure,
    ChowLiuForest,
    EdgeGrafting,
    GraphicalLasso,
    GreedyEquivalenceSearch,
    GroupLassoMarkovNetwork,
    HillClimbSearch,
    NeighborhoodLasso,
    Nonparanormal,
    OnlineEdgeGrafting,
    SelectedGraph,
    SimulatedAnnealing,
)

QUIET = {"show_progress": False}
BIC = {"scoring_method": "bic", **QUIET}
GAUSSIAN = ("Gaussian score", "GraphicalLasso", "NeighborhoodLasso", "CLIME", "Nonparanormal", "SelectedGraph")

LEARNERS = {
    "HillClimbSearch, discrete score": HillClimbSearch(**BIC),
    "HillClimbSearch, Gaussian score": HillClimbSearch(scoring_method="bic-g", **QUIET),
    "SimulatedAnnealing": SimulatedAnnealing(**BIC),
    "BestFirstSearch": BestFirstSearch(**BIC),
    "GreedyEquivalenceSearch": GreedyEquivalenceSearch(**BIC),
    "ChowLiuForest": ChowLiuForest(**QUIET),
    "BootstrapStructure": BootstrapStructure(HillClimbSearch(**BIC), n_resamples=5, **QUIET),
    "GroupLassoMarkovNetwork": GroupLassoMarkovNetwork(lam_ratio=0.1, **QUIET),
    "EdgeGrafting": EdgeGrafting(lam_ratio=0.1, **QUIET),
    "OnlineEdgeGrafting": OnlineEdgeGrafting(lam_ratio=0.1, **QUIET),
    "GraphicalLasso": GraphicalLasso(lam=0.1, **QUIET),
    "NeighborhoodLasso": NeighborhoodLasso(lam=0.1, **QUIET),
    "CLIME": CLIME(lam=0.1, **QUIET),
    "Nonparanormal": Nonparanormal(GraphicalLasso(lam=0.1, **QUIET)),
    "SelectedGraph": SelectedGraph(GraphicalLasso(**QUIET), **QUIET),
}


@cache
def frame_of(name):
    """Return the table that a learner is fitted to."""
    if not any(word in name for word in GAUSSIAN):
        return sample(load_network("asia"), 1500, random_state=0)
    mixing = np.eye(6) + np.diag([0.5] * 5, 1)
    return pd.DataFrame(np.random.default_rng(0).normal(size=(400, 6)) @ mixing, columns=list("abcdef"))


def fit(name, data, **options):
    """Return the sorted edges of the graph and the one number that sums up the result."""
    learner = clone(LEARNERS[name]).set_params(**options).fit(data)
    edges = sorted((str(u), str(v)) for u, v in learner.graph_.edges())
    if name == "BootstrapStructure":
        return edges, float(learner.strengths_["strength"].to_numpy() @ np.arange(len(learner.strengths_)))
    if hasattr(learner, "precision_"):
        return edges, float(np.abs(np.asarray(learner.precision_)).sum())
    return edges, float(learner.score_ if hasattr(learner, "score_") else learner.objective_)


if __name__ == "__main__":
    json.dump({name: fit(name, frame_of(name)) for name in LEARNERS}, sys.stdout)
