"""Bars whose end is known or estimated: blocks of columns, of targets, penalties, rounds up to max_edges, restarts."""

import gc
import re

import numpy as np
import pandas as pd
import pytest

from helpers.learning_tables import dependent_frame
from pgmx.estimators import (
    CLIME,
    EdgeGrafting,
    GraphicalLasso,
    GroupLassoMarkovNetwork,
    HillClimbSearch,
    NeighborhoodLasso,
    ScalableLDS,
    SelectedGraph,
    SimulatedAnnealing,
    SparsityInducingLDS,
)
from pgmx.runs.progress import ProgressBar
from pgmx.search.dag.state import DagState

ROWS = np.random.default_rng(0).normal(size=(300, 300))
SERIES = ROWS[:, :20].cumsum(axis=0) * 0.1 + ROWS[:, 20:40]


@pytest.fixture(autouse=True)
def at_each_step(monkeypatch):
    monkeypatch.setattr(ProgressBar, "DELAY", 0.0)
    monkeypatch.setattr(ProgressBar, "INTERVAL", 0.0)


def read_bar(capfd):
    """Return steps and totals that were drawn."""
    return [(int(done), int(total)) for done, total in re.findall(r"(\d+)/(\d+) \[", capfd.readouterr().err)]


@pytest.mark.parametrize(
    ("learner", "rows", "n_steps"),
    [
        (CLIME(lam=0.5), ROWS, 3),  # blocks of 128 columns
        (NeighborhoodLasso(lam=0.5), ROWS, 3),
        (SelectedGraph(SparsityInducingLDS(show_progress=False), n_lams=7, lam_min_ratio=0.5), SERIES, None),
    ],
    ids=["CLIME", "neighbourhoods", "path"],
)
def test_steps_that_are_known(capfd, learner, rows, n_steps):
    learner.fit(rows)
    n_steps = len(learner.path_) if n_steps is None else n_steps
    shown = read_bar(capfd)
    assert shown[-1] == (n_steps, n_steps)
    assert {done for done, _ in shown} <= set(range(n_steps + 1))


@pytest.mark.parametrize("learner", [SparsityInducingLDS(), ScalableLDS(n_seeds=5, lam=0.1)], ids=repr)
def test_targets_that_are_left(capfd, learner):
    learner.fit(SERIES)
    done, total = read_bar(capfd)[-1]
    assert done == total


def test_rounds_until_max_edges(capfd):
    rng = np.random.default_rng(0)
    hidden = rng.integers(0, 2, (400, 1))
    table = pd.DataFrame(np.where(rng.random((400, 8)) < 0.8, hidden, rng.integers(0, 2, (400, 8))))
    learner = EdgeGrafting(lam=1e-3, max_edges=6).fit(table)
    assert learner.stopped_by_ == "max_edges"
    shown = read_bar(capfd)
    assert max(total for _, total in shown) <= 2 * shown[-1][0]
    EdgeGrafting(lam=1e-3).fit(table)
    assert not read_bar(capfd)


def test_restarts_that_are_left(capfd):
    learner = HillClimbSearch(n_restarts=30, n_restart_moves=5).fit(dependent_frame(0))
    shown = read_bar(capfd)
    assert shown
    assert all(done <= total for done, total in shown)
    assert shown[-1][1] <= 2 * learner.n_iter_


class FakeBar:
    """What tqdm is asked for: each picture of the bar is a row of (unit, done, total, postfix)."""

    rows: list = []

    disable = False

    def __init__(self, desc=None, unit="", total=None, initial=0, **options):
        self.unit, self.total, self.n, self.start_t, self._postfix = unit, total, initial, 0.0, {}

    def set_postfix(self, figures, refresh=True):
        self._postfix = dict(figures)

    def reset(self):
        self.n = 0

    def update(self, n):
        self.n += n
        FakeBar.rows.append((self.unit.strip(), self.n, self.total, self._postfix))

    def close(self):
        pass


@pytest.fixture
def pictures(monkeypatch):
    monkeypatch.setattr("tqdm.auto.tqdm", FakeBar)
    monkeypatch.setattr(FakeBar, "rows", [])
    return FakeBar.rows


def check_steps(pictures, unit, total):
    """Steps of a unit are counted up to a total that does not change; return how many were shown at all."""
    steps = [(done, of) for what, done, of, _ in pictures if what == unit]
    assert {of for _, of in steps} == {total}
    assert (np.diff([done for done, _ in steps]) >= 0).all()
    assert steps[-1] == (total, total)
    return len({done for done, _ in steps})


def test_draws_of_annealing(pictures):
    SimulatedAnnealing(n_draws=3000, random_state=0).fit(dependent_frame(0))
    assert check_steps(pictures, "draws", 3000) > 20


def test_lists_and_subsets_of_the_exact_search(pictures):
    rng = np.random.default_rng(0)
    hidden = rng.integers(0, 2, (300, 1))
    rows = np.where(rng.random((300, 17)) < 0.7, hidden, rng.integers(0, 2, (300, 17)))
    learner = HillClimbSearch(strategy="exact", max_indegree=2).fit(rows)
    assert learner.proven_
    assert check_steps(pictures, "lists of parents", 17) > 10
    assert check_steps(pictures, "blocks of subsets", 8) == 8  # 2 ** 17 subsets, 2 ** 14 at a time


@pytest.mark.parametrize("strategy", ["thorough", "best"])
def test_stages_of_a_search(pictures, strategy):
    HillClimbSearch(strategy=strategy).fit(dependent_frame(0))
    stages = [tuple(map(int, figures["stage"].split(" of "))) for _, _, _, figures in pictures]
    assert len({total for _, total in stages}) == 1
    assert (np.diff([stage for stage, _ in stages]) >= 0).all()
    assert 1 <= stages[0][0] < stages[-1][0] <= stages[-1][1]
    assert {total for _, _, total, _ in pictures} == {None}  # stages take unlike times


def test_starts_of_expectation_maximisation(pictures):
    frame = dependent_frame(0)
    holes = frame.astype(object).mask(np.random.default_rng(0).random(frame.shape) < 0.1)
    HillClimbSearch(missing="em", n_em_restarts=3).fit(holes)
    assert check_steps(pictures, "starts", 4) == 5  # 0 to 4
    pictures.clear()
    HillClimbSearch(missing="em").fit(holes)
    assert {total for _, _, total, _ in pictures} == {None}


@pytest.mark.filterwarnings("ignore:the smallest of")
@pytest.mark.parametrize(("selection", "n_paths"), [("ebic", 1), ("cv", 4), ("stars", 4)])
def test_penalties_of_a_selection(pictures, selection, n_paths):
    options = {"selection": selection, "n_lams": 6, "n_folds": 3, "n_subsamples": 3, "lam_min_ratio": 0.3}
    learner = SelectedGraph(GraphicalLasso(show_progress=False), **options).fit(ROWS[:, :20])
    steps = [(done, total) for unit, done, total, _ in pictures if unit == "penalties"]
    assert steps[0][1] == 6 * n_paths
    assert len(learner.path_) <= steps[-1][0] == steps[-1][1]  # what need not be solved does not count
    assert (np.diff([done for done, _ in steps]) >= 0).all()
    assert len({done for done, _ in steps}) >= 4


def test_penalties_of_a_path(pictures):
    path = GraphicalLasso().path(ROWS[:, :20], n_lams=7)
    assert check_steps(pictures, "penalties", len(path)) == 8  # 0 to 7


@pytest.mark.filterwarnings("ignore:selection=.* chose the smallest of")
@pytest.mark.parametrize(("selection", "n_paths"), [("ebic", 1), ("held_out", 2), ("stars", 4)])
def test_penalties_of_a_markov_network(pictures, selection, n_paths):
    rng = np.random.default_rng(0)
    hidden = rng.integers(0, 2, (300, 1))
    table = pd.DataFrame(np.where(rng.random((300, 6)) < 0.7, hidden, rng.integers(0, 2, (300, 6))))
    learner = GroupLassoMarkovNetwork(selection=selection, n_lams=5, lam_ratio=0.2, n_subsamples=3).fit(table)
    assert len(learner.path_) == 5
    assert check_steps(pictures, "penalties", 5 * n_paths) >= 5 * n_paths - 1


@pytest.mark.filterwarnings("ignore:the smallest of", "ignore:GraphicalLasso ended before its tolerance")
def test_a_path_that_is_resumed_counts_from_there(pictures, tmp_path):
    options = {"selection": "cv", "n_lams": 6, "n_folds": 3, "lam_min_ratio": 0.3}
    file = tmp_path / "path.npz"
    calls = []
    learner = SelectedGraph(GraphicalLasso(show_progress=False), checkpoint=file, **options)
    learner.set_params(checkpoint_every=0, callback=lambda progress: calls.append(progress) or len(calls) > 25)
    learner.fit(ROWS[:, :20])  # after the folds have the first four penalties
    before = max(done for unit, done, _, _ in pictures if unit == "penalties")
    assert 16 <= before < 24
    pictures.clear()
    learner.set_params(callback=None).fit(ROWS[:, :20])
    assert next(done for unit, done, _, _ in pictures if unit == "penalties") >= before - 1


@pytest.mark.slow
def test_a_search_is_gone_when_it_ends():
    gc.collect()
    gc.disable()
    try:
        n_states = sum(isinstance(one, DagState) for one in gc.get_objects())
        for options in ({}, {"show_progress": False}, {"n_restarts": 2}, {"strategy": "exact"}):
            HillClimbSearch(**options).fit(dependent_frame(0))
        assert sum(isinstance(one, DagState) for one in gc.get_objects()) == n_states
    finally:
        gc.enable()


def test_sweeps_have_no_known_end(capfd):
    GraphicalLasso(lam=0.1).fit(ROWS[:, :20])
    assert not read_bar(capfd)
