"""The public learners, as the tests that hold for all of them make them. A new learner is entered here."""

from inspect import signature
from typing import NamedTuple

import pytest

from helpers.learning_tables import dependent_frame, gaussian_frame, mixed_frame
from helpers.series_learners import SERIES_LEARNERS
from pgmx.estimators import (
    CLIME,
    FCI,
    MMHC,
    PC,
    RFCI,
    BestChoiceEdgeGrafting,
    BestFirstSearch,
    BlockBootstrap,
    BootstrapStructure,
    ChowLiuForest,
    DynamicBayesianNetworkSearch,
    EdgeGrafting,
    FeatureGrafting,
    FirstHitEdgeGrafting,
    GraftingLight,
    GraphicalLasso,
    GreedyEquivalenceSearch,
    GroupLassoMarkovNetwork,
    HillClimbSearch,
    HybridSearch,
    MarkovBlanket,
    NeighborhoodLasso,
    Nonparanormal,
    OnlineEdgeGrafting,
    SelectedGraph,
    SimulatedAnnealing,
    StructurePosterior,
)


class Learner(NamedTuple):
    """One public learner, called as its class with the options below, and what the tests need to know of it."""

    cls: type
    tables: tuple = (dependent_frame, gaussian_frame)  # makers of frames that it learns from, taking a seed
    options: dict = {}
    grid: tuple = ("max_indegree", [0, 1, 2])  # an option and its values, for a grid search
    score_option: str = "scoring_method"
    figure: str = "score_"  # the attribute for the quality of the result
    expected_failures: dict = {}  # scikit-learn's checks that cannot hold, each with its reason
    inner: type | None = None  # the class of the learner that it wraps

    def __call__(self, *data, **options):
        first = data if self.inner is None else (self.inner(*data),)
        return self.cls(*first, **{**self.options, **options})

    @property
    def name(self):
        return " ".join([self.cls.__name__, *(str(value) for value in self.options.values())])

    @property
    def is_gaussian(self):
        """Whether it learns Gaussian graphical models: of numbers alone, without scores and draws."""
        return self.score_option == ""

    @property
    def draws(self):
        """Whether it has a `random_state`."""
        return "random_state" in signature(self.cls).parameters

    @property
    def has_model(self):
        """Whether it learns a network with parameters, and not only a graph."""
        return hasattr(self.cls, "model_")

    @property
    def is_markov(self):
        return self.figure == "objective_" and not self.is_gaussian

    @property
    def takes_score_instances(self):
        return self.score_option == "scoring_method"


_FLOATS = "the check hands floats, which a learner of discrete variables refuses"


def markov(cls, **options):
    return Learner(
        cls,
        (dependent_frame,),
        options,
        grid=("lam_ratio", [0.05, 0.2]),
        score_option="loss",
        figure="objective_",
        expected_failures={
            "check_estimators_dtypes": _FLOATS,
            "check_sample_weights_not_overwritten": _FLOATS,
            "check_sample_weight_equivalence_on_dense_data": f"{_FLOATS}; test_markov_rows.py says the same of states",
            "check_fit_score_takes_y": "calls partial_fit after fit, which keeps no rows to add new ones to",
        },
    )


def gaussian(cls, grid=("lam_ratio", [0.1, 0.5]), inner=None, **options):
    return Learner(cls, (gaussian_frame,), options, grid=grid, score_option="", figure="objective_", inner=inner)


MARKOV_LEARNERS = [
    markov(EdgeGrafting),
    markov(EdgeGrafting, batch=True),
    markov(FeatureGrafting),
    markov(GraftingLight),
    markov(BestChoiceEdgeGrafting),
    markov(OnlineEdgeGrafting),
    markov(FirstHitEdgeGrafting),
    markov(GroupLassoMarkovNetwork),
]
GAUSSIAN_LEARNERS = [gaussian(GraphicalLasso), gaussian(CLIME), gaussian(NeighborhoodLasso)]
WRAPPERS = [
    gaussian(Nonparanormal, ("estimator__lam_ratio", [0.1, 0.5]), inner=GraphicalLasso),
    gaussian(SelectedGraph, ("gamma", [0.0, 0.5]), inner=GraphicalLasso, n_lams=6),
]
LEARNERS = [
    Learner(HillClimbSearch, (dependent_frame, gaussian_frame, mixed_frame)),
    Learner(HillClimbSearch, options={"strategy": "thorough"}),
    Learner(SimulatedAnnealing, options={"n_draws": 300}),
    Learner(BestFirstSearch, options={"patience": 20}),
    Learner(GreedyEquivalenceSearch),
    Learner(StructurePosterior, grid=("structure_prior", ["fair", "uniform"]), figure="best_score_"),
    Learner(ChowLiuForest, grid=("weight", ["mutual_info", "bic"]), score_option="weight"),
    *(
        Learner(cls, grid=("significance_level", [0.01, 0.05]), score_option="ci_test", figure="n_tests_")
        for cls in (PC, FCI, RFCI)
    ),
    Learner(MMHC),
    *MARKOV_LEARNERS,
    *GAUSSIAN_LEARNERS,
    *WRAPPERS,
]
ELSEWHERE = {
    BootstrapStructure: "learns by another learner: estimators/test_bootstrap_contract.py",
    HybridSearch: "learns by another learner: estimators/constraint_based/test_hybrid.py",
    MarkovBlanket: "has no network: estimators/constraint_based/test_markov_blanket.py",
    DynamicBayesianNetworkSearch: "learns from series: estimators/time_series/test_dynamic_contract.py",
    BlockBootstrap: "learns by another learner: estimators/time_series/test_block_bootstrap.py",
    **dict.fromkeys(SERIES_LEARNERS, "learns from series: estimators/time_series/test_contract.py"),
}

PLAIN_LEARNERS = [make for make in LEARNERS if make.inner is None]  # that hold their own data


def over_learners(learners):
    return pytest.mark.parametrize("make", learners, ids=lambda make: make.name)


def over_tables(learners):
    """Parametrize by learner and table; conditional Gaussian scores, of mixed tables, are pgmpy's and slow."""
    pairs = [(make, table) for make in learners for table in make.tables]
    return pytest.mark.parametrize(
        ("make", "table"),
        [pytest.param(*pair, marks=[pytest.mark.slow] if pair[1] is mixed_frame else []) for pair in pairs],
        ids=lambda value: value.name if isinstance(value, Learner) else value.__name__,
    )


every_learner = over_learners(LEARNERS)
every_plain_learner = over_learners(PLAIN_LEARNERS)
every_class = over_learners([make for make in PLAIN_LEARNERS if not make.options.keys() & {"strategy", "batch"}])
every_table = over_tables(LEARNERS)
every_plain_table = over_tables(PLAIN_LEARNERS)


def edges_of(learner):
    return sorted(map(repr, learner.graph_.edges()))
