"""Numeric columns that look like codes of states: one warning, the same of all learners that take them for numbers."""

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.preprocessing import KBinsDiscretizer

from pgmx.data import Discretizer, FewValuesWarning
from pgmx.data.few_values import list_few_values
from pgmx.data.frame import open_rows
from pgmx.estimators import (
    CLIME,
    BestFirstSearch,
    BootstrapStructure,
    ChowLiuForest,
    EdgeGrafting,
    GraphicalLasso,
    GreedyEquivalenceSearch,
    HillClimbSearch,
    LinearSVARM,
    NeighborhoodLasso,
    Nonparanormal,
    SelectedGraph,
    SimulatedAnnealing,
    SparsityInducingLDS,
)

ROWS = np.random.default_rng(0).normal(size=(120, 3))
CODES = KBinsDiscretizer(3, encode="ordinal", strategy="uniform").fit_transform(ROWS)

LEARNERS = [
    HillClimbSearch(),
    SimulatedAnnealing(n_draws=20),
    BestFirstSearch(patience=2),
    GreedyEquivalenceSearch(),
    ChowLiuForest(),
    BootstrapStructure(HillClimbSearch(), n_resamples=3),
    GraphicalLasso(),
    CLIME(),
    NeighborhoodLasso(),
    Nonparanormal(GraphicalLasso()),
    SelectedGraph(GraphicalLasso()),
    SparsityInducingLDS(),
    LinearSVARM(),
]


def told(learner, X):
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        learner.fit(X)
    return [str(w.message) for w in seen if issubclass(w.category, FewValuesWarning)]


@pytest.mark.parametrize("learner", LEARNERS, ids=lambda learner: type(learner).__name__)
def test_every_learner_says_once_what_it_assumes(learner, tmp_path):
    path = tmp_path / "rows.csv"
    pd.DataFrame(CODES, columns=list("abc")).to_csv(path, index=False)
    for X, names in ((CODES, "'x0', 'x1', 'x2'"), (path, "'a', 'b', 'c'")):
        (message,) = told(learner, X)
        assert message.startswith(f"column(s) {names} have at most")
        declares = any(name.endswith("discrete_columns") for name in learner.get_params())
        assert (f"declare them with discrete_columns=[{names}]" in message) == declares
        assert ("leave them out" in message) != declares
    assert not told(learner, ROWS)


@pytest.mark.parametrize(
    "learner", [learner for learner in LEARNERS if "discrete_columns" in learner.get_params()], ids=type
)
def test_the_remedy_of_the_warning_ends_it(learner):
    few = pd.DataFrame(CODES, columns=list("abc"))
    declared = clone(learner).set_params(discrete_columns=["a", "b", "c"])
    assert not told(declared, few)
    assert np.array_equal(declared.edges_, clone(learner).fit(few.astype(int)).edges_)


def test_other_ways_are_silent():
    codes = pd.DataFrame(CODES)
    for X in (codes.astype(int), codes.astype("category"), Discretizer(n_bins=3).fit_transform(ROWS)):
        assert not told(HillClimbSearch(), X)
    assert not told(GraphicalLasso(covariance="precomputed", n_samples=99), np.eye(30))


@pytest.mark.parametrize("learner", [HillClimbSearch(scoring_method="bic"), EdgeGrafting()])
def test_an_error_says_it_alone(learner):
    with warnings.catch_warnings(), pytest.raises(ValueError, match="whole numbers only"):
        warnings.simplefilter("error")
        learner.fit(CODES)


def test_special_columns_of_series_are_left_alone():
    table = pd.DataFrame(ROWS, columns=list("abc")).assign(holiday=np.arange(120) % 7 == 0).astype(float)
    assert told(SparsityInducingLDS(), table)
    assert not told(SparsityInducingLDS(exogenous_columns=["holiday"]), table)
    assert not told(SelectedGraph(SparsityInducingLDS(exogenous_columns=["holiday"]), selection="ebic"), table)


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (np.arange(100.0) % 10, True),
        (np.arange(100.0) % 11, False),
        (np.arange(100.0) % 3 / 2, True),
        (np.arange(100.0) % 4 / 2, False),
        (np.r_[np.arange(100.0) % 2, 0.5], True),
        (np.zeros(100), False),  # other errors say more
        (np.arange(19.0) % 2, False),
        (np.r_[np.arange(20.0) % 2, np.full(9, np.nan)], True),
        (np.r_[np.arange(100.0) % 2, np.inf], False),
        (np.r_[np.arange(70_000.0) % 2, np.arange(20.0)], False),
        (pd.array(np.arange(40) % 2, dtype="Float64"), True),
        (np.arange(40) % 2, False),
    ],
)
def test_which_columns(values, expected):
    assert list_few_values(open_rows(pd.DataFrame({"a": values}))) == ["a"] * expected
