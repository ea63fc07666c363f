"""Paths of penalties that end early: the rule, and that the choice is that of the whole path."""

import numpy as np
import pytest

from helpers.gaussian_tables import chain_rows, random_rows
from pgmx.estimators import (
    CLIME,
    GraphicalLasso,
    NeighborhoodLasso,
    Nonparanormal,
    SelectedGraph,
    SparsityInducingLDS,
)
from pgmx.estimators.paths import is_past_best

pytestmark = pytest.mark.filterwarnings("ignore:the smallest of")
NOISE = np.random.default_rng(0).normal(size=(50, 40))


@pytest.mark.parametrize(
    ("criterion", "n_edges", "expected"),
    [
        ([1.0, 2.0, 3.0, 4.0], [2, 4, 8, 9], True),
        ([1.0, 2.0, 3.0, 4.0], [2, 4, 8, 8], False),  # four times the edges, not more
        ([1.0, 2.0, 3.0], [2, 4, 9], False),  # two rises
        ([1.0, 3.0, 2.0, 3.0, 4.0], [2, 4, 8, 9, 99], False),
        ([1.0, 3.0, 2.0, 3.0, 4.0, 5.0], [2, 4, 8, 9, 99, 99], True),
        ([1.0, 2.0, 2.0, 3.0], [2, 4, 8, 9], False),  # equal is not risen
        ([1.0, np.nan, np.nan, np.nan], [2, 4, 8, 9], True),  # NaN is never the smallest
        ([1.0, 2.0, np.nan, 0.5], [2, 4, 8, 9], False),  # the last is the best
        ([4.0, 1.0, 2.0, 3.0, 4.0], [0, 3, 4, 8, 12], False),
        ([4.0, 1.0, 2.0, 3.0, 4.0], [0, 3, 4, 8, 13], True),
        ([1.0, 2.0, 3.0, 4.0], [0, 0, 0, 0], False),
        ([1.0, 2.0, 3.0, 4.0], [0, 1, 1, 1], True),
    ],
)
def test_the_rule(criterion, n_edges, expected):
    assert is_past_best(np.array(criterion), n_edges) is expected


@pytest.mark.parametrize("make", [GraphicalLasso, CLIME, NeighborhoodLasso, lambda: Nonparanormal(GraphicalLasso())])
@pytest.mark.parametrize("rows", [NOISE, random_rows(25, 60, 1), chain_rows(30, 50)], ids=["noise", "random", "chain"])
def test_the_choice_is_that_of_the_whole_path(make, rows):
    whole = SelectedGraph(make(), early_stopping=False).fit(rows)
    early = SelectedGraph(make()).fit(rows)
    assert not whole.path_.stopped_early
    assert "stopped early" not in repr(whole.path_)
    assert early.lam_ == whole.lam_
    np.testing.assert_array_equal(early.edges_, whole.edges_)
    n = len(early.path_)
    np.testing.assert_array_equal(early.path_.lams, whole.path_.lams[:n])
    np.testing.assert_array_equal(early.path_.criterion, whole.path_.criterion[:n])
    edges = whole.path_.n_edges
    ends = [k for k in range(1, len(edges) + 1) if is_past_best(whole.path_.criterion[:k], edges[:k])]
    assert n == min([*ends, len(edges)])
    assert early.path_.stopped_early == (n < len(edges))
    assert repr(early.path_).endswith("stopped early)") == (n < len(edges))


def test_a_dense_tail_is_not_solved(monkeypatch):
    solved = []
    make = GraphicalLasso._make_estimate
    monkeypatch.setattr(
        GraphicalLasso, "_make_estimate", lambda self, solution, run: solved.append(1) or make(self, solution, run)
    )
    learner = SelectedGraph(GraphicalLasso()).fit(NOISE)
    assert len(solved) == len(learner.path_) < 10


@pytest.mark.parametrize("make", [GraphicalLasso, NeighborhoodLasso])
def test_stars_ends_at_the_first_unstable_penalty(make):
    options = {"selection": "stars", "n_subsamples": 6, "n_lams": 12}
    whole = SelectedGraph(make(), early_stopping=False, **options).fit(random_rows(12, 150, 2))
    early = SelectedGraph(make(), **options).fit(random_rows(12, 150, 2))
    assert early.lam_ == whole.lam_
    assert (early.path_.criterion[:-1] <= 0.05).all()
    assert early.path_.criterion[-1] > 0.05
    assert early.path_.selected == len(early.path_) - 2
    assert len(whole.path_) >= len(early.path_)
    np.testing.assert_array_equal(early.path_.criterion, whole.path_.criterion[: len(early.path_)])


def test_cross_validation_ends_above_its_minimum():
    options = {"selection": "cv", "n_folds": 3, "n_lams": 20, "lam_min_ratio": 0.01}
    whole = SelectedGraph(GraphicalLasso(refit=True), early_stopping=False, **options).fit(chain_rows(12, 80))
    early = SelectedGraph(GraphicalLasso(refit=True), **options).fit(chain_rows(12, 80))
    assert early.lam_ == whole.lam_
    assert early.path_.stopped_early
    values = early.path_.criterion
    assert len(values) - 1 - np.argmin(values) >= 4
    assert values[-1] > values[-2]
    assert not np.isnan(whole.path_.criterion).any()


@pytest.mark.parametrize("selection", ["ebic", "cv"])
def test_a_path_of_series(selection):
    rng = np.random.default_rng(3)
    series = np.zeros((200, 10))
    for t in range(1, 200):
        series[t] = 0.5 * np.roll(series[t - 1], 1) * (np.arange(10) < 3) + rng.normal(size=10)
    options = {"selection": selection, "lam_min_ratio": 0.02, "n_folds": 3}
    whole = SelectedGraph(SparsityInducingLDS(), early_stopping=False, **options).fit(series)
    early = SelectedGraph(SparsityInducingLDS(), **options).fit(series)
    assert early.lam_ == whole.lam_
    assert early.path_.stopped_early
    assert not whole.path_.stopped_early
    n = len(early.path_)
    assert n < len(whole.path_)
    np.testing.assert_array_equal(early.path_.criterion, whole.path_.criterion[:n])
    assert is_past_best(early.path_.criterion, early.path_.n_edges)
    assert not is_past_best(early.path_.criterion[:-1], early.path_.n_edges[:-1])
