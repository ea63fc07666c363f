"""A path of Markov networks that was killed continues from its checkpoint to the same choice, to the last bit."""

import signal

import numpy as np
import pytest
from sklearn.base import clone

from helpers.killed_runs import Killed, kill_at_snapshot
from helpers.markov_tables import planted_rows
from helpers.processes import run_in_child
from pgmx.estimators import GroupLassoMarkovNetwork
from tests.fuzz.array_fields import ArrayFields
from tests.fuzz.checkpoint_files import list_changes

ROWS = planted_rows(400, 10)
PATH = {"n_lams": 5, "n_subsamples": 3, "lam_ratio": 0.1}
pytestmark = pytest.mark.filterwarnings("ignore:selection=")


def fit_with_checkpoint(learner, path, **options):
    return clone(learner).set_params(checkpoint=path, checkpoint_every=0, **options).fit(ROWS)


def same(learner, expected):
    assert (learner.lam_, learner.objective_, learner.kkt_residual_, learner.relaxation_) == (
        expected.lam_,
        expected.objective_,
        expected.kkt_residual_,
        expected.relaxation_,
    )
    assert (learner.stopped_by_, learner.n_iter_, learner.n_activated_) == (
        expected.stopped_by_,
        expected.n_iter_,
        expected.n_activated_,
    )
    np.testing.assert_array_equal(learner.path_.criterion, expected.path_.criterion)
    for one, other in zip(learner.path_.potentials, expected.path_.potentials, strict=True):
        np.testing.assert_array_equal(one.edges, other.edges)
        np.testing.assert_array_equal(one.node_values, other.node_values)
        np.testing.assert_array_equal(one.edge_values, other.edge_values)
    np.testing.assert_array_equal(learner.history_["objective"], expected.history_["objective"])


@pytest.mark.parametrize(
    ("options", "shares"),
    [
        ({"selection": "ebic", "max_edges": 6}, (0.5,)),
        pytest.param({"selection": "ebic"}, (0.0, 0.5, 1.0), marks=pytest.mark.slow),
        pytest.param(
            {"selection": "held_out", "refit": True, "required_edges": [("x0", "x9")]},
            (0.3, 0.8),
            marks=pytest.mark.slow,
        ),
        pytest.param({"selection": "stars"}, (0.1, 0.6, 1.0), marks=pytest.mark.slow),
        pytest.param({"selection": "held_out", "tol": 1e-7}, (0.2, 0.5, 0.9), marks=pytest.mark.slow),
    ],
)
def test_a_killed_path_goes_on(options, shares, tmp_path, monkeypatch):
    path = tmp_path / "path.ckpt"
    learner = GroupLassoMarkovNetwork(**PATH, **options)
    with monkeypatch.context() as patch:
        snapshots = kill_at_snapshot(10**9, patch)
        whole = fit_with_checkpoint(learner, path)
        n_snapshots = len(snapshots)
    path.unlink(missing_ok=True)  # where something else than convergence has ended the path
    same(whole, clone(learner).fit(ROWS))  # snapshots change nothing
    for share in shares:
        number = max(1, round(share * n_snapshots))
        with monkeypatch.context() as patch, pytest.raises(Killed):
            kill_at_snapshot(number, patch)
            fit_with_checkpoint(learner, path)
        with monkeypatch.context() as patch:
            further = kill_at_snapshot(10**9, patch)
            resumed = fit_with_checkpoint(learner, path)
        assert len(further) == n_snapshots - number  # the rounds before were not made again
        same(resumed, whole)
        assert path.exists() is (whole.stopped_by_ != "converged")
        path.unlink(missing_ok=True)


def change_everything(learner, path, expected, every):
    """Learn from a checkpoint with one value changed after the other; return how many of these were tried."""
    signal.signal(signal.SIGALRM, signal.SIG_DFL)  # a hang, in a kernel too, ends the child
    signal.alarm(120)
    raw, n_refused = path.read_bytes(), 0
    changes = list_changes(raw, every)
    for field, other in changes:
        changed = ArrayFields(raw)
        changed.set_value(field, other)
        path.write_bytes(changed.to_bytes(sign=True, changed=field))
        try:
            fitted = fit_with_checkpoint(learner, path)
        except ValueError as error:
            assert f"checkpoint={str(path)!r}" in str(error), (field, other, error)
            n_refused += 1
        else:
            k = fitted.path_.selected
            close = abs(fitted.objective_ - expected.path_.objective[k]) <= 2e-4
            assert close, (field, other, fitted.objective_, expected.path_.objective[k])
    assert n_refused > len(changes) // 4


@pytest.mark.parametrize(
    ("selection", "share", "every"),
    [
        ("ebic", 0.5, 307),
        pytest.param("ebic", 0.6, 19, marks=pytest.mark.slow),
        pytest.param("stars", 0.7, 41, marks=pytest.mark.slow),
    ],
)
def test_changed_checkpoints_are_refused_or_lead_to_the_same_objective(selection, share, every, tmp_path, monkeypatch):
    path = tmp_path / "path.ckpt"
    learner = GroupLassoMarkovNetwork(selection=selection, **PATH)
    with monkeypatch.context() as patch:
        snapshots = kill_at_snapshot(10**9, patch)
        whole = fit_with_checkpoint(learner, path)
        number = max(1, round(share * len(snapshots)))
    with monkeypatch.context() as patch, pytest.raises(Killed):
        kill_at_snapshot(number, patch)
        fit_with_checkpoint(learner, path)
    run_in_child(lambda: change_everything(learner, path, whole, every))
