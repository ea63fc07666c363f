"""Searches killed with SIGKILL at any moment, again and again, end where an uninterrupted one does."""

import os
import random
import time

import numpy as np
import pandas as pd
import pytest

from helpers.markov_tables import planted_rows
from pgmx.estimators import (
    BestChoiceEdgeGrafting,
    BestFirstSearch,
    EdgeGrafting,
    HillClimbSearch,
    OnlineEdgeGrafting,
    SimulatedAnnealing,
)
from tests.helpers.processes import is_killed

N_KILLS = 20
LEARNERS = {
    "thorough": lambda: HillClimbSearch(strategy="thorough", n_restarts=20),
    "annealing": lambda: SimulatedAnnealing(n_draws=300_000, initial_temperature=20.0),
    "best first": lambda: BestFirstSearch(patience=100),
    "edges": lambda: EdgeGrafting(lam_ratio=0.1, tol=1e-6),
    "online": lambda: OnlineEdgeGrafting(lam_ratio=0.1, tol=1e-6),
    "best choice": lambda: BestChoiceEdgeGrafting(lam_ratio=0.1, tol=1e-6),
}


def dependent_table(n=100, n_rows=3000):
    rng = np.random.default_rng(0)
    columns = [rng.integers(0, 3, n_rows)]
    for v in range(1, n):
        causes = [columns[u] for u in rng.choice(v, size=min(v, 2), replace=False)]
        columns.append(np.where(rng.random(n_rows) < 0.6, sum(causes) % 3, rng.integers(0, 3, n_rows)))
    return pd.DataFrame({f"v{i}": columns[i] for i in rng.permutation(n)})


def describe(learner):
    """Return what a killed search has in the end: equal of a search by scores, to rounding of a Markov network."""
    if hasattr(learner, "objective_"):
        return learner.edges_.tolist(), pytest.approx(learner.objective_, abs=1e-5), learner.converged_
    history = [score.hex() for score in learner.history_["score"].tolist()]
    return learner.edges_.tolist(), history, learner.n_iter_, learner.converged_


def fit(make, rows, **options):
    return describe(make().set_params(show_progress=False, **options).fit(rows))


def fit_and_compare(make, rows, path, expected):
    assert fit(make, rows, checkpoint=path, checkpoint_every=0.01) == expected


def kill_again_and_again(make, rows, path, n_kills, draws):
    """Return how often a search went on from a snapshot."""
    began = time.perf_counter()
    expected = fit(make, rows)
    seconds = time.perf_counter() - began
    assert expected[-1]
    n_killed = n_resumed = 0
    while n_killed < n_kills:
        n_resumed += path.exists()
        n_killed += is_killed(draws.uniform(0.1, 0.8) * seconds, fit_and_compare, make, rows, path, expected)
    n_resumed += path.exists()
    fit_and_compare(make, rows, path, expected)
    # a process that is killed while it writes leaves its part behind: nobody else knows that name
    assert [name for name in os.listdir(path.parent) if not name.startswith(".pgmx-")] == []
    return n_resumed


@pytest.mark.parametrize("name", ["thorough", "online"])
def test_killed_once(tmp_path, name):
    rows = dependent_table(30, 500) if name == "thorough" else planted_rows(500, 12)
    kill_again_and_again(LEARNERS[name], rows, tmp_path / "search.ckpt", 1, random.Random(0))


@pytest.mark.slow
@pytest.mark.parametrize("name", LEARNERS)
def test_killed_at_any_moment(tmp_path, seed, name):
    rows = dependent_table() if name in ("thorough", "annealing", "best first") else planted_rows(1000, 30)
    assert kill_again_and_again(LEARNERS[name], rows, tmp_path / "search.ckpt", N_KILLS, random.Random(seed)) > 5
