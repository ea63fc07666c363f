"""Bars whose end is known or estimated: blocks of columns, of targets, penalties, rounds up to max_edges, restarts."""

import re

import numpy as np
import pandas as pd
import pytest

from helpers.learning_tables import dependent_frame
from pgmx.estimators import (
    CLIME,
    EdgeGrafting,
    GraphicalLasso,
    HillClimbSearch,
    NeighborhoodLasso,
    ScalableLDS,
    SelectedGraph,
    SparsityInducingLDS,
)
from pgmx.runs.run import ProgressBar

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


def test_sweeps_have_no_known_end(capfd):
    GraphicalLasso(lam=0.1).fit(ROWS[:, :20])
    assert not read_bar(capfd)
