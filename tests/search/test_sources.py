"""Where the next edges come from: what each source activates, and what it leaves."""

from math import inf

import numpy as np
import pytest

from helpers.grafting_parts import PlayedLoss, chained_codes, exhaustive, inactive, loss_of
from pgmx.search.edges.grafting import Grafting, loss_state, restore_loss
from pgmx.search.edges.sources import BestEdge, BestFeature, StreamedEdges, WorkingSet
from pgmx.search.edges.stream import EdgeStream

CARDS = (2, 3, 2, 4, 2, 3)


def features_left(loss, lam):
    """Return the inactive features whose gradient exceeds the penalty; a feature that is not zero is active."""
    found = loss.potentials()
    used = {tuple(edge): table for edge, table in zip(found.edges.tolist(), found.tables(), strict=True)}
    pairs = np.stack(np.triu_indices(loss.n_variables, 1), axis=1)
    left = []
    for pair, gradient in zip(map(tuple, pairs.tolist()), loss.gradients(pairs), strict=True):
        zero = used[pair] == 0 if pair in used else np.ones(gradient.shape, dtype=bool)
        left += [(abs(gradient[cell]), pair, cell) for cell in zip(*np.nonzero(zero), strict=True)]
    return sorted(one for one in left if one[0] > lam)


# ---- one edge, and batches ----


def test_the_best_edge_is_the_one_that_scores_highest(rng):
    loss = loss_of(chained_codes(rng, CARDS), CARDS)
    source = BestEdge(exhaustive(loss), loss.lam, 1e-3)
    for n_before in range(20):
        left = inactive(loss)
        scores = loss.scores(left)
        added = source.next_round(loss, 10, inf)
        if scores.max() <= loss.lam:
            break
        assert added == 1
        assert len(loss.edges) == n_before + 1
        assert loss.edges[-1].tolist() == left[np.argmax(scores)].tolist()
        changed = source.optimise(loss, inf)
        assert set(loss.edges[-1].tolist()) <= set(changed.tolist())
    assert added == 0
    assert n_before >= 5
    assert source.n_tests >= 15
    assert not source.interrupted


def test_a_batch_shares_no_variable_and_keeps_the_limit(rng):
    codes = chained_codes(rng, CARDS)
    for limit, expected in ((10, 3), (2, 2)):
        loss = loss_of(codes, CARDS, lam=0.001)
        source = BestEdge(exhaustive(loss), loss.lam, 1e-3, alpha=0.0)
        best = inactive(loss)[np.argmax(loss.scores(inactive(loss)))]
        added = source.next_round(loss, limit, inf)
        assert 1 <= added <= expected
        assert added == len(loss.edges)
        assert len(np.unique(loss.edges)) == 2 * added
        assert loss.edges[0].tolist() == best.tolist()
    alone = loss_of(codes, CARDS, lam=0.001)
    assert BestEdge(exhaustive(alone), alone.lam, 1e-3, alpha=1.0).next_round(alone, 10, inf) == 1


def test_edges_of_a_snapshot_are_not_offered(rng):
    loss = loss_of(chained_codes(rng, CARDS), CARDS)
    source = BestEdge(exhaustive(loss), loss.lam, 1e-3)
    best = inactive(loss)[np.argmax(loss.scores(inactive(loss)))]
    loss.activate(best[None])
    source.restore(source.state(), loss)
    source.next_round(loss, 10, inf)
    assert len(loss.edges) == 2  # the edge once more would have been refused


# ---- features ----


def feature_run(codes, lam=0.01, sweeps=None, **options):
    loss = loss_of(codes, CARDS, lam=lam, feature_wise=True)
    source = BestFeature(exhaustive(loss, features=True), lam, 1e-3, sweeps)
    return loss, source, Grafting(loss, source, tol=1e-6, **options)


def test_the_best_feature_is_the_largest_derivative(rng):
    loss, source, _ = feature_run(chained_codes(rng, CARDS))
    for _ in range(6):
        *_, (largest, pair, cell) = features_left(loss, loss.lam)
        before = {(*edge, *ab) for _, edge, ab in features_left(loss, -1)}
        assert source.next_round(loss, 10, inf) == 1
        source.optimise(loss, inf)
        after = {(*edge, *ab) for _, edge, ab in features_left(loss, -1)}
        assert before - after == {(*pair, *cell)}
        assert largest > loss.lam


@pytest.mark.parametrize("sweeps", [None, 1])
def test_features_end_at_the_optimum(sweeps, rng):
    codes = chained_codes(rng, CARDS)
    loss, _, run = feature_run(codes, sweeps=sweeps)
    run.run()
    assert run.stopped_by == "converged"
    assert loss.kkt_residual() <= 1e-6
    assert not features_left(loss, loss.lam + 1e-6)
    everything = loss_of(codes, CARDS, feature_wise=True)
    pairs = inactive(everything)
    for i, j in pairs.tolist():
        cells = np.argwhere(np.ones((CARDS[i], CARDS[j])))
        everything.activate_features(np.full((len(cells), 2), (i, j)), cells)
    everything.optimise(tol=1e-6)
    assert loss.objective() == pytest.approx(everything.objective(), abs=1e-6)


def test_features_of_a_snapshot_are_not_activated_again(rng):
    codes = chained_codes(rng, CARDS)
    loss, _, run = feature_run(codes)
    run.run()
    again, source, second = feature_run(codes)
    restore_loss(again, loss_state(loss))
    source.restore({}, again)
    second.run()
    assert len(set(second.history["n_edges"])) == 1
    assert second.stopped_by == "converged"
    # and in the middle of a run
    loss, _, run = feature_run(codes, max_edges=5)
    run.run()
    again, source, _ = feature_run(codes)
    restore_loss(again, loss_state(loss))
    source.restore({}, again)
    *_, (_, pair, cell) = features_left(again, 0.01)
    source.next_round(again, 10, inf)
    source.optimise(again, inf)
    found = again.potentials()
    assert found.table(found.edges.tolist().index(list(pair)))[cell] != 0


def test_a_table_whose_features_are_all_active_is_left_alone(rng):
    codes = chained_codes(rng, (2, 2))
    loss = loss_of(codes, (2, 2), lam=0.0, feature_wise=True)
    source = BestFeature(exhaustive(loss, features=True), 0.0, 1e-3)
    for _ in range(4):
        assert source.next_round(loss, 10, inf) == 1
        source.optimise(loss, inf)
    assert source.next_round(loss, 10, inf) == 0
    assert (loss.potentials().table(0) != 0).all()


# ---- working sets ----


def test_a_working_set_grows_until_all_violators_are_in(rng):
    loss = loss_of(chained_codes(rng, CARDS), CARDS, lam=0.001)
    source = WorkingSet(exhaustive(loss), loss.lam, 1e-5, first=2)
    pairs = inactive(loss)
    order = np.argsort(-loss.scores(pairs), kind="stable")
    assert source.next_round(loss, 100, inf) == 2
    assert loss.edges.tolist() == pairs[order[:2]].tolist()
    source.optimise(loss, inf)
    assert source.next_round(loss, 3, inf) == 3  # of four, by the limit
    sizes = [source.next_round(loss, 100, inf) for _ in range(3)]
    assert sizes[0] <= 8
    assert sizes[-1] == 0


def test_a_working_set_is_solved_well_only_when_it_is_whole(rng):
    played = PlayedLoss()
    loss = loss_of(chained_codes(rng, CARDS), CARDS, lam=0.001)
    source = WorkingSet(exhaustive(loss), loss.lam, 1e-5, first=1)
    source.next_round(loss, 100, inf)
    source.optimise(played, inf)
    while source.next_round(loss, 100, inf):
        loss.optimise(tol=1e-5)
    source.optimise(played, inf)
    assert played.optimisations == [(None, pytest.approx(1e-4), None), (None, 1e-5, None)]


def test_the_strong_rule_looks_ahead_once(rng):
    codes = chained_codes(rng, CARDS)
    loss = loss_of(codes, CARDS, lam=0.05)
    source = WorkingSet(exhaustive(loss), 0.05, 1e-6, first=100)
    Grafting(loss, source, tol=1e-6).run()
    n_before = len(loss.edges)
    loss.lam = 0.03
    source.set_lam(0.03)
    scores = loss.scores(inactive(loss))
    assert source.next_round(loss, 100, inf) == (scores > 2 * 0.03 - 0.05).sum()
    assert len(loss.edges) > n_before
    loss.optimise(tol=1e-6)
    left = loss.scores(inactive(loss)) if len(inactive(loss)) else np.zeros(0)
    assert source.next_round(loss, 100, inf) == (left > 0.03).sum()
    Grafting(loss, source, tol=1e-6).run()
    fresh = loss_of(codes, CARDS, lam=0.03)
    Grafting(fresh, WorkingSet(exhaustive(fresh), 0.03, 1e-6, first=100), tol=1e-6).run()
    assert loss.objective() == pytest.approx(fresh.objective(), abs=1e-6)


# ---- streams ----


def stream_of(loss, **options):
    given = {"reservoir_size": 6, "max_tests": 2, "alpha": 0.0, "lam": loss.lam, "seed": 3, **options}
    return StreamedEdges(EdgeStream(loss.n_variables, **given), 1e-3)


@pytest.mark.parametrize(
    "options", [{}, {"mode": "all"}, {"reservoir_size": 1, "max_tests": 1}, {"alpha": 1.0}], ids=str
)
def test_streams_end_where_the_best_edges_do(options, rng):
    codes = chained_codes(rng, CARDS)
    best = loss_of(codes, CARDS)
    Grafting(best, BestEdge(exhaustive(best), best.lam, 1e-3), tol=1e-6).run()
    loss = loss_of(codes, CARDS)
    source = stream_of(loss, **options)
    run = Grafting(loss, source, tol=1e-6)
    run.run()
    assert run.stopped_by == "converged"
    assert loss.objective() == pytest.approx(best.objective(), abs=1e-5)
    assert (loss.scores(inactive(loss)) <= loss.lam).all()
    assert source.stream.n_scores >= source.n_tests == source.stream.n_tests >= 15


def test_a_stream_is_taken_up_where_it_was(rng):
    codes = chained_codes(rng, CARDS)
    loss = loss_of(codes, CARDS, lam=0.002)
    source = stream_of(loss)
    for _ in range(2):
        source.next_round(loss, 1, inf)
        source.changed(source.optimise(loss, inf))
    state = {name: np.array(value) for name, value in source.state().items()}
    again = loss_of(codes, CARDS, lam=0.002)
    restore_loss(again, loss_state(loss))
    second = stream_of(again)
    second.restore(state, again)
    for one, model in ((source, loss), (second, again)):
        one.next_round(model, 1, inf)
    assert again.edges[-1].tolist() == loss.edges[-1].tolist()
    assert second.n_tests == source.n_tests


def test_a_stream_past_its_deadline_is_interrupted(rng):
    loss = loss_of(chained_codes(rng, CARDS), CARDS)
    source = stream_of(loss)
    assert source.next_round(loss, 5, deadline=0.0) == 0
    assert source.interrupted
    assert not len(loss.edges)
    assert source.next_round(loss, 5, inf) > 0
    assert not source.interrupted
