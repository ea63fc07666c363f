"""Runs under Bethe's loss that were killed continue from their checkpoints to the same result, to the last bit."""

import warnings

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from helpers.killed_runs import Killed, kill_at_snapshot
from helpers.markov_tables import planted_rows
from pgmx.estimators import EdgeGrafting, FeatureGrafting, GraftingLight, GroupLassoMarkovNetwork, OnlineEdgeGrafting
from tests.estimators.test_markov_unsettled import latent_rows
from tests.fuzz.array_fields import ArrayFields

pytestmark = pytest.mark.slow

STRONG, WEAK = {"lam": 0.01, "l2": 0.01}, {"lam": 0.005, "l2": 0.001}
BATCH = EdgeGrafting(loss="bethe", batch=True, **STRONG)
ONLINE = OnlineEdgeGrafting(loss="bethe", **STRONG)
GROUP = GroupLassoMarkovNetwork(loss="bethe", **STRONG)
PATH = GroupLassoMarkovNetwork(loss="bethe", selection="held_out", n_lams=5, lam_ratio=0.15, l2=0.05)
COUNTS = {"n_tests", "n_tables", "seconds", "cpu_seconds"}  # checkpoints have no scores: pairs may count twice


@pytest.fixture
def path(tmp_path):
    return tmp_path / "run.ckpt"


def fit(learner, rows, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        warnings.filterwarnings("ignore", "selection=")
        return clone(learner).set_params(show_progress=False, **options).fit(rows)


def kill(learner, rows, path, number, monkeypatch):
    with monkeypatch.context() as patch, pytest.raises(Killed):
        kill_at_snapshot(number, patch)
        fit(learner, rows, checkpoint=path, checkpoint_every=0)


def describe(learner):
    potentials, history = learner.model_.potentials, learner.history_
    figures = {name: history[name].tolist() for name in history if name not in COUNTS}
    numbers = (learner.objective_, learner.kkt_residual_, learner.n_iter_, learner.n_activated_, learner.stopped_by_)
    return learner.edges_.tolist(), potentials.node_values.tolist(), potentials.edge_values.tolist(), numbers, figures


@pytest.mark.parametrize(
    ("learner", "is_settled"),
    [
        (BATCH, True),
        (ONLINE, True),
        (GROUP, True),
        (PATH, True),
        (clone(BATCH).set_params(**WEAK), False),
        pytest.param(clone(ONLINE).set_params(**WEAK), False, marks=pytest.mark.slow),
        (clone(GROUP).set_params(**WEAK), False),
        (GraftingLight(loss="bethe", max_edges=20, **WEAK), False),
        pytest.param(GraftingLight(loss="bethe", **STRONG), True, marks=pytest.mark.slow),
        pytest.param(FeatureGrafting(loss="bethe", max_edges=40, **WEAK), False, marks=pytest.mark.slow),
    ],
)
def test_a_killed_run_ends_as_one_that_was_not(learner, is_settled, path, monkeypatch):
    rows = planted_rows(400, 10) if is_settled else latent_rows()
    whole = fit(learner, rows)
    assert whole.converged_ is is_settled
    with monkeypatch.context() as patch:
        snapshots = kill_at_snapshot(10**9, patch)
        assert describe(fit(learner, rows, checkpoint=path, checkpoint_every=0)) == describe(whole)
    path.unlink(missing_ok=True)
    for number in sorted({1, len(snapshots) // 3, 2 * len(snapshots) // 3, len(snapshots)} - {0}):
        kill(learner, rows, path, number, monkeypatch)
        assert describe(fit(learner, rows, checkpoint=path)) == describe(whole)
        path.unlink(missing_ok=True)


@pytest.mark.parametrize(
    ("field", "change", "words"),
    [
        ("loss_messages", lambda values: values * 2, "values in 'loss_messages' outside"),
        ("loss_messages", lambda values: values * 0, "values in 'loss_messages' outside"),
        ("loss_messages", lambda values: values[1:], "of shape"),
        ("loss_messages", lambda values: values**8, "objective="),
        ("loss_stale", lambda values: -1 - values, "outside"),
        ("loss_stale", lambda values: values * np.nan, "not finite"),
        ("loss_is_queued", lambda values: values.astype(int), "expected bool"),
        ("loss_mode", lambda _: 3, "loss_mode=3, expected 0 to 2"),
        ("loss_caution", lambda _: -1, "loss_caution=-1, expected 0 to 2"),
        ("loss_flags", lambda values: values[:1], "of shape"),
        ("loss_bp_failures", lambda _: -1, "loss_bp_failures=-1"),
        ("loss_beliefs_returned", lambda values: values / 2, "marginals in 'beliefs_returned' that do not sum to 1"),
        ("loss_beliefs_then", lambda values: values + 1, "outside"),
        ("loss_drift", lambda values: values + 1e9, "outside"),
        ("iterates_stride", lambda _: 0, "iterates_stride=0"),
        ("iterates_n_offered", lambda n: n + 1, "of shape"),
        ("iterates_n_cells", lambda values: values[::-1], "iterates over other edges"),
        ("iterates_n_cells", lambda values: values + 1, "iterates over other edges"),
        ("iterates_values", lambda values: values + 1e6, "outside"),
        ("iterates_values", lambda values: values[1:], "of shape"),
        ("iterates_least", lambda value: value + 1, "iterates_least="),
        ("iterates_more", lambda _: np.zeros(2), "an unknown array 'iterates_more'"),
    ],
)
def test_a_signed_change_is_refused_by_name(field, change, words, path, monkeypatch):
    kill(ONLINE, planted_rows(400, 10), path, 9, monkeypatch)
    fields = ArrayFields(path.read_bytes())
    fields.set_value(field, change(fields.arrays.get(field)))
    path.write_bytes(fields.to_bytes(sign=True))
    with pytest.raises(ValueError, match=rf"run\.ckpt.*{words}.*delete the file to begin again"):
        fit(ONLINE, planted_rows(400, 10), checkpoint=path)
