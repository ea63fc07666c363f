"""A Gaussian fit or path that was killed continues from its checkpoint to the same result, to the last bit."""

import signal

import numpy as np
import pytest
from sklearn.base import clone

from helpers.gaussian_tables import random_rows
from helpers.killed_runs import Killed, kill_at_snapshot
from helpers.processes import run_in_child
from pgmx.estimators import CLIME, GraphicalLasso, NeighborhoodLasso, Nonparanormal, SelectedGraph
from tests.fuzz.array_fields import ArrayFields
from tests.fuzz.checkpoint_files import other_arrays, other_cells

ROWS = random_rows(24, 60, seed=3)
WIDE = random_rows(150, 60, seed=4)
LAMS = {"n_lams": 8, "lam_min_ratio": 0.05}
pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


def same_estimates(path, expected):
    assert len(path) == len(expected)
    for one, other in zip(path.estimates, expected.estimates, strict=True):
        assert (one.lam, one.objective, one.dual_gap, one.n_iter) == (
            other.lam,
            other.objective,
            other.dual_gap,
            other.n_iter,
        )
        assert one.edges.tolist() == other.edges.tolist()
        np.testing.assert_array_equal(one.raw.toarray(), other.raw.toarray())


@pytest.mark.parametrize(
    ("options", "number"),
    [
        ({}, 1),
        ({}, 6),
        ({"penalize_diagonal": True}, 4),
        ({"tol": 1e-9, "max_iter": 4}, 4),
    ],
)
def test_a_killed_path_goes_on(options, number, tmp_path, monkeypatch):
    path = tmp_path / "path.ckpt"
    whole = GraphicalLasso(**options).path(ROWS, **LAMS)
    learner = GraphicalLasso(checkpoint=path, checkpoint_every=0, **options)
    with monkeypatch.context() as patch, pytest.raises(Killed):
        kill_at_snapshot(number, patch)
        learner.path(ROWS, **LAMS)
    assert path.exists()
    solved = []
    again = clone(learner).set_params(callback=lambda progress: solved.append(progress.objective))
    same_estimates(again.path(ROWS, **LAMS), whole)
    assert np.isfinite(solved).sum() == len(whole) - number  # the others were in the checkpoint
    assert not path.exists()


def test_a_path_that_was_interrupted_within_a_penalty_goes_on(tmp_path):
    path = tmp_path / "path.ckpt"
    whole = GraphicalLasso().path(ROWS, **LAMS)
    sweeps = []

    def interrupt(progress):
        sweeps.append(progress)
        if len(sweeps) == 20:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        GraphicalLasso(checkpoint=path, callback=interrupt).path(ROWS, **LAMS)
    same_estimates(GraphicalLasso(checkpoint=path).path(ROWS, **LAMS), whole)


@pytest.mark.parametrize(
    "learner",
    [
        NeighborhoodLasso(),
        *(pytest.param(one, marks=pytest.mark.slow) for one in (Nonparanormal(NeighborhoodLasso()), CLIME())),
    ],
)
def test_a_killed_fit_goes_on_with_the_next_columns(learner, tmp_path, monkeypatch):
    path = tmp_path / "fit.ckpt"
    prefix = "estimator__" if isinstance(learner, Nonparanormal) else ""
    whole = clone(learner).fit(WIDE)
    learner.set_params(**{f"{prefix}checkpoint": path, f"{prefix}checkpoint_every": 0})
    with monkeypatch.context() as patch, pytest.raises(Killed):
        kill_at_snapshot(1, patch)
        clone(learner).fit(WIDE)
    blocks = []
    again = clone(learner).set_params(**{f"{prefix}callback": blocks.append, f"{prefix}n_jobs": 2}).fit(WIDE)
    assert len(blocks) == len(whole.history_["seconds"]) - 1
    assert (again.objective_, again.dual_gap_, again.lam_) == (whole.objective_, whole.dual_gap_, whole.lam_)
    assert again.edges_.tolist() == whole.edges_.tolist()
    np.testing.assert_array_equal(again._estimate.raw.toarray(), whole._estimate.raw.toarray())
    assert not path.exists()


def begin(learner, path, call, n_calls=12):
    """Leave the checkpoint of a run that is stopped by its callback."""
    calls = []
    learner.set_params(checkpoint=path, checkpoint_every=0)
    stopped = clone(learner).set_params(callback=lambda progress: calls.append(progress) or len(calls) == n_calls)
    call(stopped)
    assert path.exists()


def test_the_checkpoint_of_another_path_is_refused(tmp_path):
    path = tmp_path / "path.ckpt"
    learner = GraphicalLasso()
    begin(learner, path, lambda one: one.path(ROWS, **LAMS))
    for other in ({"tol": 1e-3}, {"penalize_diagonal": True}, {"max_iter": 3}):
        with pytest.raises(ValueError, match=r"path\.ckpt.*another search"):
            clone(learner).set_params(**other).path(ROWS, **LAMS)
    for data, options in ((ROWS[:-1], LAMS), (ROWS, {**LAMS, "n_lams": 9})):
        with pytest.raises(ValueError, match=r"path\.ckpt.*another search"):
            clone(learner).path(data, **options)
    assert len(SelectedGraph(clone(learner), n_lams=4).fit(ROWS).path_) >= 4  # its own checkpoint, if any, decides
    assert path.exists()


def change_everything(learner, rows, path, fields, every):
    """Learn from a checkpoint with one value changed after the other; return how many of these were refused."""
    signal.signal(signal.SIGALRM, signal.SIG_DFL)  # a hang, in a kernel too, ends the child
    signal.alarm(120)
    raw, n_refused = path.read_bytes(), 0
    expected = clone(learner).set_params(checkpoint=None).path(rows, **LAMS).estimates[-1]
    changes = []
    for field in (field for field in ArrayFields(raw).list_fields() if field.startswith(fields)):
        value = ArrayFields(raw).value(field)
        changes += [(field, other) for other in (other_cells(value) if "." in field else other_arrays(value))]
    for field, other in changes[::every]:
        changed = ArrayFields(raw)
        changed.set_value(field, other)
        path.write_bytes(changed.to_bytes(sign=True, changed=field))
        try:
            last = clone(learner).path(rows, **LAMS).estimates[-1]
        except ValueError as error:
            assert f"checkpoint={str(path)!r}" in str(error), (field, other, error)
            n_refused += 1
        else:  # what is solved from a forged start has a certificate of its own
            close = abs(last.objective - expected.objective) <= 1e-3 * abs(expected.objective)
            assert close or fields == "", (field, other, last.objective, expected.objective)
    assert n_refused > len(changes) // (4 * every)


@pytest.mark.parametrize(
    ("learner", "fields", "every"),
    [
        (GraphicalLasso(), "state_", 71),
        pytest.param(GraphicalLasso(), "state_", 4, marks=pytest.mark.slow),
        pytest.param(GraphicalLasso(), "", 17, marks=pytest.mark.slow),
        pytest.param(NeighborhoodLasso(), "", 7, marks=pytest.mark.slow),
    ],
)
def test_changed_checkpoints_are_refused_or_lead_to_a_certified_result(learner, fields, every, tmp_path):
    path = tmp_path / "run.ckpt"
    rows = random_rows(9, 40, seed=1) if isinstance(learner, GraphicalLasso) else random_rows(140, 40, seed=1)
    n_calls = 12 if isinstance(learner, GraphicalLasso) else 1
    begin(learner, path, lambda one: one.path(rows, **LAMS), n_calls)
    run_in_child(lambda: change_everything(learner, rows, path, fields, every))
