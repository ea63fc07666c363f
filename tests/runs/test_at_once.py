"""Sixteen processes at once: fits that share a checkpoint or a folder of them, and writers of one file."""

import random
import time

import numpy as np
import pandas as pd
import pytest

from helpers.learning_tables import dependent_frame
from pgmx.atomic import replace_file
from pgmx.data import encode, open_table, write_table
from pgmx.estimators import (
    BestFirstSearch,
    BootstrapStructure,
    EdgeGrafting,
    GreedyEquivalenceSearch,
    GroupLassoMarkovNetwork,
    HillClimbSearch,
    OnlineEdgeGrafting,
    SimulatedAnnealing,
)
from pgmx.runs.checkpoint import Checkpoint
from tests.helpers.processes import start_child, wait_for_child

ROWS = dependent_frame(0)
MAKERS = {
    "restarts": lambda seed: HillClimbSearch(n_restarts=3, random_state=seed),
    "online": lambda seed: OnlineEdgeGrafting(lam=0.01, random_state=seed),
    "thorough": lambda seed: HillClimbSearch(strategy="thorough", random_state=seed),
    "annealing": lambda seed: SimulatedAnnealing(n_draws=2000, random_state=seed),
    "best first": lambda seed: BestFirstSearch(patience=20, random_state=seed),
    "classes": lambda seed: GreedyEquivalenceSearch(random_state=seed),
    "edges": lambda seed: EdgeGrafting(lam=0.01, random_state=seed),
    "bootstrap": lambda seed: BootstrapStructure(HillClimbSearch(), n_resamples=10, random_state=seed),
    "group lasso": lambda seed: GroupLassoMarkovNetwork(lam=0.01, random_state=seed),
}


def searches(default, slow):
    """Parametrize by the names of searches, some of them in the slow run only."""
    return pytest.mark.parametrize("search", [*default, *(pytest.param(name, marks=pytest.mark.slow) for name in slow)])


def run_at_once(function, n=16):
    children = [start_child(function, k) for k in range(n)]
    for child in children:
        wait_for_child(child)


def fit(search, seed, **options):
    """Return the edges and the score or objective: this of a Markov network to rounding, where it was resumed."""
    learner = MAKERS[search](seed).set_params(show_progress=False, **options).fit(ROWS)
    if isinstance(learner, BootstrapStructure):
        return learner.strengths_.to_csv(), learner.n_resamples_
    if hasattr(learner, "score_"):
        return learner.edges_.tolist(), learner.score_, learner.n_iter_
    return learner.edges_.tolist(), pytest.approx(learner.objective_, abs=1e-6)


@pytest.mark.slow
@searches(["restarts"], ["online", "thorough", "annealing", "best first", "edges", "group lasso", "bootstrap"])
def test_one_checkpoint(tmp_path, search):
    """Each begins where another is, or again: the result is the same."""
    path, expected = tmp_path / "run.npz", fit(search, 1)

    def fit_again_and_again(k):
        time.sleep(0.001 * k)
        for _ in range(2):
            assert fit(search, 1, checkpoint=path, checkpoint_every=0) == expected

    run_at_once(fit_again_and_again)
    assert list(tmp_path.iterdir()) == []


@searches([], ["restarts", "online", "annealing"])
def test_one_checkpoint_of_different_searches(tmp_path, search):
    """A search that meets the snapshot of another one says so; what it returns is right."""
    path, expected = tmp_path / "run.npz", [fit(search, seed) for seed in range(2)]

    def fit_again_and_again(k):
        for _ in range(2):
            try:
                assert fit(search, k % 2, checkpoint=path, checkpoint_every=0) == expected[k % 2]
            except ValueError as error:
                assert "run.npz' is of another search (other data or options): delete" in str(error)

    run_at_once(fit_again_and_again)
    assert list(tmp_path.iterdir()) == []


@searches([], ["restarts", "online", "annealing"])
def test_one_folder(tmp_path, search):
    expected = [fit(search, seed) for seed in range(2)]
    run_at_once(lambda k: fit_and_compare(search, k % 2, tmp_path / f"run{k}.npz", expected[k % 2]))
    assert list(tmp_path.iterdir()) == []


def fit_and_compare(search, seed, path, expected):
    assert fit(search, seed, checkpoint=path, checkpoint_every=0) == expected


@pytest.mark.slow
def test_one_plane_file(tmp_path):
    """Each gets the table that it wrote, whoever wrote last."""
    path = tmp_path / "t.pgmx"
    frames = [pd.DataFrame(np.random.default_rng(k).integers(0, 3, (2000, 4)), columns=list("abcd")) for k in range(16)]

    def write(k):
        expected = encode(frames[k])
        for source in (frames[k], (frames[k][i : i + 700] for i in range(0, 2000, 700)), frames[k]):
            table = write_table(source, path)
            assert table == expected
            assert np.array_equal(table.planes, expected.planes)
            assert table.path == path

    run_at_once(write)
    assert open_table(path, verify=True) in [encode(frame) for frame in frames]
    assert [file.name for file in tmp_path.iterdir()] == ["t.pgmx"]


@pytest.mark.slow
def test_a_file_that_others_delete(tmp_path):
    """What is there may be gone a moment later: neither is it called read-only, nor is it written in place."""
    path = tmp_path / "run.npz"

    def write_and_delete(k):
        checkpoint = Checkpoint(path, 0, "the same")
        draws = random.Random(k)
        for _ in range(15):
            checkpoint.save({"numbers": np.full(1000, k)})
            snapshot = checkpoint.load()
            if snapshot is not None:
                assert len(np.unique(snapshot.value("numbers"))) == 1
            if draws.random() < 0.7:
                checkpoint.remove()
            with replace_file(tmp_path / "other") as part:
                assert part.parent == tmp_path and part.name != "other"
            if draws.random() < 0.7:
                (tmp_path / "other").unlink(missing_ok=True)
        checkpoint.remove()
        (tmp_path / "other").unlink(missing_ok=True)

    run_at_once(write_and_delete)
    assert list(tmp_path.iterdir()) == []
