"""A selection of a penalty that was killed continues from its checkpoint to the same result, to the last bit."""

import numpy as np
import pytest
from sklearn.base import clone

from helpers.gaussian_tables import random_rows
from helpers.killed_runs import Killed, kill_at_snapshot
from pgmx.estimators import CLIME, GraphicalLasso, NeighborhoodLasso, Nonparanormal, SelectedGraph
from pgmx.estimators.gaussian.criteria import pack_paths, read_paths
from pgmx.runs.checkpoint import Checkpoint, Snapshot

ROWS = random_rows(12, 80, seed=3)
OPTIONS = {"n_lams": 6, "n_folds": 3, "n_subsamples": 4, "show_progress": False}
pytestmark = pytest.mark.filterwarnings("ignore:the smallest of", "ignore::sklearn.exceptions.ConvergenceWarning")


def same(learner, expected):
    assert (learner.lam_, learner.objective_, learner.dual_gap_) == (
        expected.lam_,
        expected.objective_,
        expected.dual_gap_,
    )
    assert learner.edges_.tolist() == expected.edges_.tolist()
    np.testing.assert_array_equal(learner.path_.criterion, expected.path_.criterion)
    np.testing.assert_array_equal(learner.model_.precision.to_numpy(), expected.model_.precision.to_numpy())
    assert (learner.stopped_by_, learner.converged_) == (expected.stopped_by_, expected.converged_)


def kill_after(n_paths, monkeypatch):
    """Let fits die after a number of solved paths."""
    solved = []
    solve = GraphicalLasso._solve

    def solve_or_die(self, *arguments):
        if len(solved) == n_paths:
            raise Killed
        solved.append(1)
        return solve(self, *arguments)

    monkeypatch.setattr(GraphicalLasso, "_solve", solve_or_die)
    return solved


@pytest.mark.parametrize(
    ("selection", "n_paths"),
    [
        ("ebic", 1),
        ("cv", 3),
        pytest.param("cv", 1, marks=pytest.mark.slow),
        *(pytest.param("stars", k, marks=pytest.mark.slow) for k in (2, 3, 4)),
    ],
)
def test_a_killed_selection_goes_on(selection, n_paths, tmp_path, monkeypatch):
    path = tmp_path / "selection.ckpt"
    learner = SelectedGraph(GraphicalLasso(), selection=selection, **OPTIONS)
    whole = clone(learner).fit(ROWS)
    learner.set_params(checkpoint=path, checkpoint_every=0)
    with monkeypatch.context() as patch:
        kill_after(n_paths, patch)
        try:
            clone(learner).fit(ROWS)
        except Killed:
            assert path.exists()
    with monkeypatch.context() as patch:
        solved = kill_after(10**9, patch)
        resumed = clone(learner).fit(ROWS)
    with monkeypatch.context() as patch:
        anew = kill_after(10**9, patch)
        clone(learner).set_params(checkpoint=None).fit(ROWS)
    assert len(solved) <= max(len(anew) - n_paths + 1, len(anew) if selection == "ebic" else 0)  # 1: of all rows
    same(resumed, whole)
    assert not path.exists()


@pytest.mark.parametrize("number", [1, 4, pytest.param(6, marks=pytest.mark.slow)])
def test_a_selection_that_was_killed_within_a_path_goes_on_within_it(number, tmp_path, monkeypatch):
    path = tmp_path / "selection.ckpt"
    learner = SelectedGraph(GraphicalLasso(), **OPTIONS)
    whole = clone(learner).fit(ROWS)
    with monkeypatch.context() as patch, pytest.raises(Killed):
        saved = kill_at_snapshot(number, patch)
        clone(learner).set_params(checkpoint=path, checkpoint_every=0).fit(ROWS)
    assert "begun_key" in saved[-1] or number == OPTIONS["n_lams"]
    sweeps = []
    resumed = clone(learner).set_params(checkpoint=path, callback=lambda progress: sweeps.append(progress)).fit(ROWS)
    assert np.isfinite([progress.objective for progress in sweeps]).sum() == len(whole.path_) - number
    same(resumed, whole)
    np.testing.assert_array_equal(resumed.history_["objective"], whole.history_["objective"])
    assert not path.exists()


@pytest.mark.parametrize(
    ("name", "change", "words"),
    [
        ("begun_lams", lambda lams: lams * 2, "other penalties for 'path'"),
        ("begun_state_n_solved", lambda n: n + 7, "expected 1 to"),
        ("begun_more", lambda _: np.zeros(3), "unknown array"),
        ("begun_state_more", lambda _: np.zeros(3), "unknown array"),
    ],
)
def test_a_changed_state_of_a_path_is_refused(name, change, words, tmp_path, monkeypatch):
    path = tmp_path / "selection.ckpt"
    learner = SelectedGraph(GraphicalLasso(), checkpoint=path, checkpoint_every=0, **OPTIONS)
    stop = {"callback": lambda progress: progress.n_edges > 3}
    clone(learner).set_params(**stop).fit(ROWS)
    load = Checkpoint.load

    def load_other(self):
        snapshot = load(self)
        arrays = {key: snapshot.value(key) for key in snapshot.names}
        return Snapshot({**arrays, name: change(arrays.get(name))}, self.path)

    monkeypatch.setattr(Checkpoint, "load", load_other)
    with pytest.raises(ValueError, match=words):
        learner.fit(ROWS)


@pytest.mark.parametrize(
    "estimator",
    [NeighborhoodLasso(), pytest.param(CLIME(), marks=pytest.mark.slow), Nonparanormal(GraphicalLasso())],
)
def test_an_interrupted_selection_goes_on(estimator, tmp_path):
    def interrupt(progress):
        if progress.n_iter == 1:
            raise KeyboardInterrupt

    path = tmp_path / "selection.ckpt"
    learner = SelectedGraph(estimator, selection="cv", **OPTIONS)
    whole = clone(learner).fit(ROWS)
    with pytest.raises(KeyboardInterrupt):
        clone(learner).set_params(checkpoint=path, callback=interrupt).fit(ROWS)
    same(clone(learner).set_params(checkpoint=path).fit(ROWS), whole)


def test_the_checkpoint_of_another_selection_is_refused(tmp_path, monkeypatch):
    path = tmp_path / "selection.ckpt"
    learner = SelectedGraph(GraphicalLasso(), selection="cv", checkpoint=path, checkpoint_every=0, **OPTIONS)
    with monkeypatch.context() as patch, pytest.raises(Killed):
        kill_after(2, patch)
        learner.fit(ROWS)
    for other in (
        {"selection": "stars"},
        {"n_folds": 4},
        {"estimator__tol": 1e-3},
        {"random_state": 5},
        {"estimator": CLIME()},
    ):
        with pytest.raises(ValueError, match=r"selection\.ckpt.*another search"):
            clone(learner).set_params(**other).fit(ROWS)
    with pytest.raises(ValueError, match=r"selection\.ckpt.*another search"):
        clone(learner).fit(ROWS[::-1])  # other folds
    assert clone(learner).set_params(n_jobs=2, estimator__n_jobs=2).fit(ROWS).lam_ > 0


@pytest.mark.parametrize(
    ("name", "change", "words"),
    [
        ("0_edges", lambda edges: edges[:, ::-1], "another order"),
        ("1_edges", lambda edges: edges + 50, "outside"),
        ("1_precision_indices", lambda values: values + 50, "outside"),
        ("1_precision_data", lambda values: values * np.nan, "not finite"),
        ("1_precision_data", lambda values: -values, "not positive"),
        ("1_precision_indptr", lambda values: values[::-1], "do not ascend"),
        ("1_raw_format", lambda _: "coo", "unknown format"),
        ("figures", lambda values: values * np.nan, "none"),
        ("ends", lambda values: values + 9, "outside"),
        ("keys", lambda values: np.append(values, values), "shape"),
        ("lengths", lambda values: values + 1, "shape"),
    ],
)
def test_changed_paths_are_refused(name, change, words):
    packed = pack_paths({"path": GraphicalLasso().path(ROWS, n_lams=3).estimates})
    read = read_paths(Snapshot(packed), 12)["path"]
    assert [one.lam for one in read] == packed["figures"][:, 0].tolist()
    if name == "0_edges":
        name = "2_edges"
    with pytest.raises(ValueError, match=words):
        read_paths(Snapshot({**packed, name: change(packed[name])}), 12)
