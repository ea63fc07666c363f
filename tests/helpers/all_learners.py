"""Every public learner and wrapper on a small table, for tests of what all of them do under the limits of a run."""

from typing import NamedTuple

import numpy as np

from helpers.learners import GAUSSIAN_LEARNERS, LEARNERS
from helpers.learning_tables import dependent_frame, gaussian_frame, mixed_frame
from helpers.series_learners import SERIES_LEARNERS, frame_of_system, make_series_learner
from pgmx.estimators import (
    BlockBootstrap,
    BootstrapStructure,
    ChowLiuForest,
    GraphicalLasso,
    GroupLassoMarkovNetwork,
    HillClimbSearch,
    LinearSVARM,
    Nonparanormal,
    SelectedGraph,
    SparsityInducingLDS,
)


class Case(NamedTuple):
    """A learner and a table that it learns from."""

    learner: object
    table: object


def _with_holes(frame):
    """Return a frame with one value in ten missing."""
    return frame.mask(np.random.default_rng(0).random(frame.shape) < 0.1)


def make_cases():
    """Return all cases by name."""
    cases = {make.name: Case(make(), make.tables[0](0)) for make in LEARNERS}
    cases |= {cls.__name__: Case(make_series_learner(cls), frame_of_system()) for cls in SERIES_LEARNERS}
    for make in GAUSSIAN_LEARNERS:
        for selection in ("ebic", "cv", "stars"):
            options = {"selection": selection, "n_lams": 6, "n_folds": 3, "n_subsamples": 3}
            learner = SelectedGraph(make(), **options)
            cases[f"SelectedGraph {make.name} {selection}"] = Case(learner, gaussian_frame(0))
    for selection in ("ebic", "held_out", "stars"):
        learner = GroupLassoMarkovNetwork(selection=selection, n_lams=4, n_subsamples=3)
        cases[f"GroupLassoMarkovNetwork {selection}"] = Case(learner, dependent_frame(0))
    of_mixed, of_states, of_numbers = mixed_frame(0), dependent_frame(0), gaussian_frame(0)
    em = {"missing": "em", "n_em_restarts": 1}
    series = frame_of_system()
    svarm = LinearSVARM(instantaneous=False)
    resamples = {"n_resamples": 4}
    return cases | {
        "HillClimbSearch best": Case(HillClimbSearch(strategy="best"), of_states),
        "HillClimbSearch exact": Case(HillClimbSearch(strategy="exact"), of_states),
        "HillClimbSearch restarts": Case(HillClimbSearch(n_restarts=5), of_states),
        "HillClimbSearch numbers": Case(HillClimbSearch(), of_numbers),
        "EM of mixed data": Case(HillClimbSearch(**em), _with_holes(of_mixed)),
        "EM of states": Case(HillClimbSearch(**em), _with_holes(of_states.astype(object))),
        "EM of numbers": Case(HillClimbSearch(**em), _with_holes(of_numbers)),
        "Nonparanormal SelectedGraph": Case(Nonparanormal(SelectedGraph(GraphicalLasso(), n_lams=6)), of_numbers),
        "SelectedGraph Nonparanormal": Case(SelectedGraph(Nonparanormal(GraphicalLasso()), n_lams=6), of_numbers),
        "SelectedGraph series ebic": Case(SelectedGraph(SparsityInducingLDS(), n_lams=5), series),
        "SelectedGraph series cv": Case(SelectedGraph(SparsityInducingLDS(), selection="cv", n_lams=5), series),
        "SelectedGraph series bic": Case(SelectedGraph(svarm, selection="bic", n_lams=5), series),
        "BootstrapStructure HillClimbSearch": Case(BootstrapStructure(HillClimbSearch(), **resamples), of_states),
        "BootstrapStructure ChowLiuForest": Case(BootstrapStructure(ChowLiuForest(), **resamples), of_states),
        "BootstrapStructure GraphicalLasso": Case(BootstrapStructure(GraphicalLasso(), **resamples), of_numbers),
        "BootstrapStructure SelectedGraph": Case(
            BootstrapStructure(SelectedGraph(GraphicalLasso(), n_lams=5), **resamples), of_numbers
        ),
        "BlockBootstrap SparsityInducingLDS": Case(BlockBootstrap(SparsityInducingLDS(), **resamples), series),
        "BlockBootstrap LinearSVARM": Case(BlockBootstrap(svarm, **resamples), series),
    }


def summarise(learner):
    """Return the sorted edges of the graph that a learner has learned."""
    return sorted(map(repr, learner.graph_.edges()))
