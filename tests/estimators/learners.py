"""The public learners, as the tests that hold for all of them make them. A new learner is entered here."""

from typing import NamedTuple

import pytest

from estimators.learning_tables import dependent_frame, gaussian_frame, mixed_frame
from pgmx.estimators import (
    BestFirstSearch,
    BootstrapStructure,
    ChowLiuForest,
    HillClimbSearch,
    SimulatedAnnealing,
)


class Learner(NamedTuple):
    """One public learner, called as its class with the options below, and what the tests need to know of it."""

    cls: type
    tables: tuple = (dependent_frame, gaussian_frame)  # makers of frames that it learns from, taking a seed
    options: dict = {}
    grid: tuple = ("max_indegree", [0, 1, 2])  # an option and its values, for a grid search
    score_option: str = "scoring_method"
    expected_failures: dict = {}  # scikit-learn's checks that cannot hold, each with its reason

    def __call__(self, *data, **options):
        return self.cls(*data, **{**self.options, **options})

    @property
    def name(self):
        return " ".join([self.cls.__name__, *(str(value) for value in self.options.values())])

    @property
    def takes_score_instances(self):
        return self.score_option == "scoring_method"


LEARNERS = [
    Learner(HillClimbSearch, (dependent_frame, gaussian_frame, mixed_frame)),
    Learner(HillClimbSearch, options={"strategy": "thorough"}),
    Learner(SimulatedAnnealing, options={"n_draws": 300}),
    Learner(BestFirstSearch, options={"patience": 20}),
    Learner(ChowLiuForest, grid=("weight", ["mutual_info", "bic"]), score_option="weight"),
]
ELSEWHERE = {BootstrapStructure: "learns by another learner: estimators/test_bootstrap_contract.py"}

every_learner = pytest.mark.parametrize("make", LEARNERS, ids=lambda make: make.name)
every_class = pytest.mark.parametrize(
    "make", [make for make in LEARNERS if not make.options.get("strategy")], ids=lambda make: make.name
)
every_table = pytest.mark.parametrize(
    ("make", "table"),
    [(make, table) for make in LEARNERS for table in make.tables],
    ids=lambda given: given.name if isinstance(given, Learner) else given.__name__,
)


def edges_of(learner):
    return sorted(map(repr, learner.graph_.edges()))
