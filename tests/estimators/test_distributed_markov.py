"""Markov networks of a distributed table at the workers of a real cluster: the network of the whole table."""

import numpy as np
import pandas as pd
import pytest

from helpers.distributed_tables import WorkerKiller, cut, draw_frame, with_empty_part
from helpers.markov_tables import ALL, planted_rows
from helpers.pseudolikelihoods import random_potentials
from pgmx.data import distribute, encode
from pgmx.estimators import (
    BestChoiceEdgeGrafting,
    EdgeGrafting,
    GroupLassoMarkovNetwork,
    OnlineEdgeGrafting,
)
from pgmx.models import PairwiseMarkovNetwork
from pgmx.runs.checkpoint import Snapshot
from pgmx.solvers import PseudolikelihoodLoss
from pgmx.solvers.markov.pseudolikelihood import DoublePseudolikelihoodLoss
from pgmx.statistics import PairTables

#: The tolerance from which on conditionals are doubles, so that sums differ by rounding alone.
FINE = {"tol": 1e-8, "show_progress": False}


@pytest.fixture(scope="module")
def frame():
    return planted_rows(900, 7)


#: What sums of logarithms differ by; all else of the same network may be the same to the bit.
LOGS = 1e-13


def assert_same_network(learner, table, whole, weights=None, *, rel=1e-9):
    """Compare the network of a distributed table with that of the whole.

    `rel` of 0 means to the bit, and of `LOGS` that parameters are the same to the bit.
    """
    far, near = learner.fit(table, sample_weight=weights), None
    found = far.edges_, far.objective_, far.lam_, far.converged_, far._potentials
    near = learner.fit(whole, sample_weight=weights)
    np.testing.assert_array_equal(found[0], near.edges_)
    assert len(near.edges_)
    assert found[1] == pytest.approx(near.objective_, rel=rel, abs=0)
    assert found[2] == pytest.approx(near.lam_, rel=rel, abs=0)
    assert found[3] == near.converged_
    exactness = {"rtol": 0, "atol": 0 if rel <= LOGS else 1e-5}
    np.testing.assert_allclose(found[4].node_values, near._potentials.node_values, **exactness)
    np.testing.assert_allclose(found[4].edge_values, near._potentials.edge_values, **exactness)


@pytest.mark.slow
def test_networks_from_parts_of_two_processes(client, frame):
    whole = encode(frame)
    table = distribute(with_empty_part(cut(frame, 4)), client)
    assert_same_network(OnlineEdgeGrafting(lam_ratio=0.2, loss="exact", show_progress=False), table, whole, rel=0)
    assert_same_network(EdgeGrafting(lam_ratio=0.2, loss="bethe", show_progress=False), table, whole, rel=0)
    learner = EdgeGrafting(lam_ratio=0.2, **FINE)
    assert_same_network(learner, table, whole)
    assert learner.score(table) == pytest.approx(learner.score(whole), rel=1e-12)


# ---- statistics ----


@pytest.mark.slow
@pytest.mark.parametrize("n_parts", [1, 2, 7, 32])
def test_pairs_of_any_number_of_parts(client, n_parts):
    frame = draw_frame(700)
    whole, table = encode(frame), distribute(with_empty_part(cut(frame, n_parts)), client)
    pairs = np.array([(i, j) for i in range(8) for j in range(8) if i != j])
    weights = np.random.default_rng(0).exponential(size=700)
    for all_at_once in (False, True):
        far, near = PairTables(table), PairTables(whole)
        if all_at_once:
            assert far.prepare()
        np.testing.assert_array_equal(far.flat(pairs)[0], near.flat(pairs)[0])
        np.testing.assert_array_equal(far.margins()[2], near.margins()[2])
        assert far.n_counted == (28 if all_at_once else near.n_counted)
        far, near = PairTables(table, weights=weights), PairTables(whole, weights=weights)
        if all_at_once:
            far.prepare()
        np.testing.assert_allclose(far.flat(pairs)[0], near.flat(pairs)[0], rtol=1e-12, atol=0)
        np.testing.assert_allclose(np.concatenate(far.margins()), np.concatenate(near.margins()), rtol=1e-12, atol=0)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:implausibly many states")
def test_pairs_in_blocks_and_with_little_memory(client, monkeypatch):
    from pgmx.statistics import pair_cells

    frame = draw_frame(500)
    frame["wide"] = np.arange(500) % 60  # more states than bit planes serve
    whole, table = encode(frame), distribute(frame, client)
    pairs = np.array([(i, j) for i in range(9) for j in range(i + 1, 9)])
    expected = PairTables(whole).flat(pairs)[0]
    monkeypatch.setattr(pair_cells, "_BLOCK_CELLS", 20)
    np.testing.assert_array_equal(PairTables(table).flat(pairs)[0], expected)
    far = PairTables(table)
    far.prepare()
    np.testing.assert_array_equal(far.flat(pairs)[0], expected)
    np.testing.assert_array_equal(PairTables(table, memory=4000).flat(pairs)[0], expected)


@pytest.mark.slow
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(
    ("kind", "rel", "error"), [(DoublePseudolikelihoodLoss, 1e-12, 1e-15), (PseudolikelihoodLoss, 0, 0)]
)
def test_sums_of_conditionals(client, frame, kind, rel, error, weighted):
    """In single precision to the bit, but for logarithms, and for the tables of pairs where rows have real weights."""
    if weighted:
        rel, error = 1e-12, 1e-15
    whole = encode(frame)
    weights = np.random.default_rng(1).exponential(size=900) if weighted else None
    table = distribute(with_empty_part(cut(frame, 5)), client)
    edges, others = np.array([(0, 1), (1, 2), (2, 6), (0, 5)]), np.array([(1, 3), (2, 5), (3, 4)])
    start = random_potentials(np.random.default_rng(2), [3] * 7, edges)
    losses = []
    for data in (table, whole):
        loss = kind(data, PairTables(data, weights=weights), lam=0.01, l2=0.001, weights=weights)
        loss.set_potentials(start)
        losses.append(loss)
    far, near = losses
    for _ in range(3):
        assert far.loss() == pytest.approx(near.loss(), rel=LOGS)
        assert far.kkt_residual() == pytest.approx(near.kkt_residual(), rel=rel, abs=error)
        for found, expected in zip(far.gradients(others), near.gradients(others), strict=True):
            np.testing.assert_allclose(found, expected, rtol=0, atol=rel * np.abs(expected).max() + error)
        np.testing.assert_allclose(far.drift, near.drift, rtol=rel)
        for loss in losses:
            loss.optimise(edges, tol=1e-3, max_sweeps=2)
        np.testing.assert_allclose(far.edge_values, near.edge_values, rtol=0, atol=rel)
    assert far.n_optimised == near.n_optimised > 0


# ---- learners ----


@pytest.mark.slow
@pytest.mark.parametrize("name", list(ALL))
def test_every_learner(client, frame, name):
    learner = ALL[name](lam_ratio=0.2, **FINE)
    assert_same_network(learner, distribute(cut(frame, 3), client), encode(frame))
    by_default = ALL[name](lam_ratio=0.2, show_progress=False)
    assert_same_network(by_default, distribute(cut(frame, 3), client), encode(frame), rel=LOGS)


@pytest.mark.slow
@pytest.mark.parametrize("n_parts", [1, 2, 7, 32])
def test_any_number_of_unequal_parts(client, n_parts):
    frame = planted_rows(5000, 8)
    table, whole = distribute(with_empty_part(cut(frame, n_parts)), client), encode(frame)
    weights = np.random.default_rng(3).exponential(size=5000)
    for learner, options in ((OnlineEdgeGrafting, {"lam_ratio": 0.15}), (GroupLassoMarkovNetwork, {"lam_ratio": 0.1})):
        by_default = learner(show_progress=False, **options)
        assert_same_network(by_default, table, whole, rel=LOGS)
        assert_same_network(by_default, table, whole, weights)
        assert_same_network(learner(**FINE, **options), table, whole)


@pytest.mark.slow
@pytest.mark.parametrize("loss", ["pseudolikelihood", "bethe", "exact"])
def test_weights(client, frame, loss):
    table, whole = distribute(cut(frame, 4), client), encode(frame)
    rng = np.random.default_rng(2)
    learner = EdgeGrafting(lam_ratio=0.2, loss=loss, batch=True, tol=1e-6, show_progress=False)
    real = rng.exponential(size=900)
    real[:300] = 0  # a partition without weight
    assert_same_network(learner, table, whole, real)
    assert_same_network(learner, table, whole, rng.integers(0, 4, 900), rel=1e-9 if loss == "pseudolikelihood" else 0)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:selection=:UserWarning")
def test_options(client, frame):
    table, whole = distribute(cut(frame, 4), client), encode(frame)
    names = list(frame)
    known = {"required_edges": [(names[0], names[6])], "forbidden_edges": [(names[0], names[1])]}
    for learner in (
        EdgeGrafting(lam_ratio=0.2, refit=True, penalize_nodes=True, **known, **FINE),
        GroupLassoMarkovNetwork(lam_ratio=0.1, selection="ebic", n_lams=4, refit=True, **FINE),
        GroupLassoMarkovNetwork(lam_ratio=0.1, selection="held_out", held_out=frame[:100], n_lams=4, **FINE),
        BestChoiceEdgeGrafting(lam=0.01, max_edges=3, true_graph=[(names[0], names[2])], held_out=frame[:50], **FINE),
    ):
        assert_same_network(learner, table, whole)
    start = EdgeGrafting(lam_ratio=0.3, **FINE).fit(whole).model_
    assert isinstance(start, PairwiseMarkovNetwork)
    assert_same_network(EdgeGrafting(lam_ratio=0.2, start=start, **FINE), table, whole)
    stopped = EdgeGrafting(lam_ratio=0.1, max_time=0.0, show_progress=False)
    with pytest.warns(UserWarning, match="max_time"):
        assert stopped.fit(table).stopped_by_ == "max_time"
    seen = []
    learner = EdgeGrafting(lam_ratio=0.1, callback=lambda at: seen.append(at) or len(seen) > 2, show_progress=False)
    assert learner.fit(table).stopped_by_ == "callback"
    assert len(seen) == 3


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::pgmx.data.IncompleteRowsWarning")
def test_late_states_and_missing_values(client):
    frame = draw_frame(700).drop(columns=["constant"])
    late = frame.assign(number=np.where(np.arange(700) < 690, 0, frame["number"] + 5), word=sorted(frame["word"]))
    learner = EdgeGrafting(lam_ratio=0.2, **FINE)
    assert_same_network(learner, distribute(cut(late, 5), client), encode(late))
    holes = frame.astype({"number": "Int64"})
    holes.loc[::9, "number"] = pd.NA
    for missing in ("drop", "category"):
        table = distribute(cut(holes, 4), client, missing=missing)
        assert_same_network(learner, table, encode(holes, missing=missing))


@pytest.mark.slow
def test_what_needs_the_rows_is_refused(client, frame):
    table = distribute(frame, client)
    with pytest.raises(TypeError, match=r"partial_fit needs single rows.*start=model_"):
        OnlineEdgeGrafting(show_progress=False).partial_fit(table)
    with pytest.raises(TypeError, match="give some rows in memory"):
        EdgeGrafting(held_out=table, show_progress=False).fit(frame)
    for selection in ("stars", "held_out"):
        with pytest.raises(TypeError, match=f"selection='{selection}' needs single rows"):
            GroupLassoMarkovNetwork(selection=selection, show_progress=False).fit(table)


# ---- faults and checkpoints ----


@pytest.mark.slow
@pytest.mark.parametrize("tol", [1e-4, 1e-8])
def test_worker_killed_in_the_middle(client, frame, tmp_path, tol):
    paths = [tmp_path / f"{k}.parquet" for k in range(6)]
    for path, part in zip(paths, cut(frame, 6), strict=True):
        part.to_parquet(path)
    table = distribute(paths, client)
    killer = WorkerKiller(client, after=3)
    learner = EdgeGrafting(lam_ratio=0.1, tol=tol, callback=killer, show_progress=False)
    assert_same_network(learner, table, encode(frame), rel=1e-9 if tol < 1e-5 else LOGS)
    assert killer.killed
    client.wait_for_workers(2)


@pytest.mark.slow
@pytest.mark.parametrize("tol", [1e-4, 1e-8])
@pytest.mark.parametrize("name", list(ALL))
def test_checkpoint_goes_on_with_other_parts(client, frame, tmp_path, name, tol):
    """To the network of a run without a break: to the bit in single precision."""
    path, learner = tmp_path / "graft.ckpt", ALL[name]
    options = {"lam_ratio": 0.1, "tol": tol, "show_progress": False}
    far = {"checkpoint": path, "checkpoint_every": 0.0, **options}
    begun = learner(callback=lambda at: at.n_iter >= 1, **far).fit(distribute(cut(frame, 3), client))
    assert path.exists() and begun.stopped_by_ == "callback"
    if name == "edge":
        with pytest.raises(ValueError, match="of another search"):
            learner(**far).fit(distribute(frame[:800], client))
    again = learner(**far).fit(distribute(frame, client, n_parts=2))
    whole = learner(**options).fit(frame)
    assert again.converged_ and again.n_iter_ == whole.n_iter_
    np.testing.assert_array_equal(again.edges_, whole.edges_)
    assert again.objective_ == pytest.approx(whole.objective_, rel=1e-9 if tol < 1e-5 else LOGS)
    if tol > 1e-5:
        np.testing.assert_array_equal(again._potentials.node_values, whole._potentials.node_values)
        np.testing.assert_array_equal(again._potentials.edge_values, whole._potentials.edge_values)


@pytest.mark.slow
def test_changed_checkpoints_are_refused(client, frame):
    table = distribute(cut(frame, 3), client)
    edges = np.array([(0, 1), (1, 2), (2, 6), (0, 5)])
    loss = PseudolikelihoodLoss(table, PairTables(table), lam=0.01, l2=0.0)
    loss.activate(edges)
    loss.optimise(tol=1e-3)
    state = loss.state()
    heads, steps, first = state["heads"], state["steps"], int(np.flatnonzero(state["heads"][:, 1] >= 0)[0])

    def resume(**changes):
        again = PseudolikelihoodLoss(table, PairTables(table), lam=0.01, l2=0.0)
        again.restore(Snapshot(state | changes))
        return again

    assert resume().loss() == loss.loss()
    for changes, words in (
        ({"heads": heads[1:]}, "steps"),
        ({"heads": heads[1:], "steps": steps[3:]}, "impossible order"),
        ({"heads": heads - 1}, "outside -1 to 6"),
        (
            {"heads": np.where(np.arange(len(heads))[:, None] == first, heads[:, [1, 1]], heads)},
            "on an unknown variable",
        ),
        ({"heads": heads[heads[:, 0] != 0], "steps": steps[3 + 9 * (sum(heads[:, 0] == 0) - 1) :]}, "with edges"),
        ({"steps": steps + np.where(np.arange(len(steps)) == 3, 1e-3, 0)}, "that do not lead to its parameters"),
        ({"steps": np.where(np.arange(len(steps)) == 0, -1.0, steps)}, "that do not lead to its parameters"),
        ({"drift": state["drift"] - 1}, "drift"),
    ):
        with pytest.raises(ValueError, match=words):
            resume(**changes)
