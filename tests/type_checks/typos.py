"""Deliberate mistakes: mypy and pyright find one in each line that says so.

mypy knows nothing of the attributes of a class whose bases carry no types, as scikit-learn's and pgmpy's do not.
"""

import pandas as pd

from pgmx.estimators import (
    CLIME,
    BestChoiceEdgeGrafting,
    BestFirstSearch,
    BootstrapStructure,
    ChowLiuForest,
    EdgeGrafting,
    FeatureGrafting,
    FirstHitEdgeGrafting,
    GraftingLight,
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

frame = pd.DataFrame({"a": [0, 1], "b": [1, 0]})
HillClimbSearch(scoring="bic")  # error
HillClimbSearch(max_indegree="three")  # error
SimulatedAnnealing(n_drwas=10)  # error
BestFirstSearch(patiense=3)  # error
GreedyEquivalenceSearch(phase=["forward"])  # error
ChowLiuForest(wieght="bic")  # error
BootstrapStructure(HillClimbSearch(), n_resample=3)  # error
EdgeGrafting(batsch=True)  # error
FeatureGrafting(lam_ration=0.1)  # error
GraftingLight(max_time="1 s")  # error
BestChoiceEdgeGrafting(reservoir=5)  # error
OnlineEdgeGrafting(alhpa=0.3)  # error
FirstHitEdgeGrafting(lamb=0.1)  # error
GroupLassoMarkovNetwork(n_lam=3)  # error
GraphicalLasso(alpha=0.1)  # error
CLIME(lam="small")  # error
NeighborhoodLasso(combine="or")  # error
Nonparanormal(CLIME(), transform="kendall")  # error
SelectedGraph(criterion="ebic")  # error
OnlineEdgeGrafting().fit(frame).model_.marginal({"a": 1})  # error for pyright
GraphicalLasso().fit(frame).graph_.add_egde(1, 2)  # error for pyright
print(HillClimbSearch().fit(frame).scores_)  # error for pyright
print(HillClimbSearch().set_params(max_indegree=2).scores_)  # error for pyright
OnlineEdgeGrafting(frame, alpha=0.3, lam=0.1).estimate()
HillClimbSearch(tiers=[["a"], ["b"]], return_type="dag").fit(frame)
