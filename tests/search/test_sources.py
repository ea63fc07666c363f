"""Where the next edges come from: what each selector activates, and what it leaves."""

import numpy as np
import pytest

from helpers.grafting_parts import chained_codes, exhaustive, inactive, loss_of, run_of
from pgmx.runs.checkpoint import Snapshot
from pgmx.search.edges.exhaustive import BestEdge, BestFeature, ExhaustiveEdges, WorkingSet
from pgmx.search.edges.grafting import Grafting
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
    selector = BestEdge(exhaustive(loss), 1e-3)
    for n_before in range(20):
        left = inactive(loss)
        scores = loss.scores(left)
        added = selector.activate_next(loss, 10, run_of())
        if scores.max() <= loss.lam:
            break
        assert added == 1
        assert len(loss.edges) == n_before + 1
        assert loss.edges[-1].tolist() == left[np.argmax(scores)].tolist()
        assert loss.norms()[-1] > 0  # it was optimised
    assert added == 0
    assert n_before >= 5
    assert selector.n_tests >= 15


def test_a_batch_shares_no_variable_and_keeps_the_limit(rng):
    codes = chained_codes(rng, CARDS)
    for limit, expected in ((10, 3), (2, 2)):
        loss = loss_of(codes, CARDS, lam=0.001)
        selector = BestEdge(exhaustive(loss), 1e-3, alpha=0.0)
        best = inactive(loss)[np.argmax(loss.scores(inactive(loss)))]
        added = selector.activate_next(loss, limit, run_of())
        assert 1 <= added <= expected
        assert added == len(loss.edges)
        assert len(np.unique(loss.edges)) == 2 * added
        assert loss.edges[0].tolist() == best.tolist()
    alone = loss_of(codes, CARDS, lam=0.001)
    assert BestEdge(exhaustive(alone), 1e-3, alpha=1.0).activate_next(alone, 10, run_of()) == 1


def test_edges_of_a_snapshot_are_not_offered(rng):
    loss = loss_of(chained_codes(rng, CARDS), CARDS)
    selector = BestEdge(exhaustive(loss), 1e-3)
    best = inactive(loss)[np.argmax(loss.scores(inactive(loss)))]
    loss.activate(best[None])
    selector.restore(Snapshot(selector.state()), loss)
    selector.activate_next(loss, 10, run_of())
    assert len(loss.edges) == 2  # the edge once more would have been refused


# ---- features ----


def feature_run(codes, lam=0.01, sweeps=None, **options):
    loss = loss_of(codes, CARDS, lam=lam, feature_wise=True)
    selector = BestFeature(exhaustive(loss, features=True), 1e-3, sweeps)
    return loss, selector, Grafting(loss, selector, run_of(), tol=1e-6, **options)


def test_the_best_feature_is_the_largest_derivative(rng):
    loss, selector, _ = feature_run(chained_codes(rng, CARDS))
    for _ in range(6):
        *_, (largest, pair, cell) = features_left(loss, loss.lam)
        before = {(*edge, *ab) for _, edge, ab in features_left(loss, -1)}
        assert selector.activate_next(loss, 10, run_of()) == 1
        after = {(*edge, *ab) for _, edge, ab in features_left(loss, -1)}
        assert before - after == {(*pair, *cell)}
        assert largest > loss.lam


@pytest.mark.parametrize("sweeps", [None, 1])
def test_features_end_at_the_optimum(sweeps, rng):
    codes = chained_codes(rng, CARDS)
    loss, _, run = feature_run(codes, sweeps=sweeps)
    assert run.graft() == "converged"
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
    run.graft()
    again, selector, second = feature_run(codes)
    again.restore(Snapshot(loss.state()))
    selector.restore(None, again)
    assert second.graft() == "converged"
    assert len(set(second.run.history["n_edges"])) == 1
    # and in the middle of a run
    loss, _, run = feature_run(codes, max_edges=5)
    run.graft()
    again, selector, _ = feature_run(codes)
    again.restore(Snapshot(loss.state()))
    selector.restore(None, again)
    *_, (_, pair, cell) = features_left(again, 0.01)
    selector.activate_next(again, 10, run_of())
    found = again.potentials()
    assert found.table(found.edges.tolist().index(list(pair)))[cell] != 0


def test_a_table_whose_features_are_all_active_is_left_alone(rng):
    codes = chained_codes(rng, (2, 2))
    loss = loss_of(codes, (2, 2), lam=0.0, feature_wise=True)
    selector = BestFeature(exhaustive(loss, features=True), 1e-3)
    for _ in range(4):
        assert selector.activate_next(loss, 10, run_of()) == 1
    assert selector.activate_next(loss, 10, run_of()) == 0
    assert (loss.potentials().table(0) != 0).all()


# ---- working sets ----


def test_a_working_set_grows_until_all_violators_are_in(rng):
    loss = loss_of(chained_codes(rng, CARDS), CARDS, lam=0.001)
    selector = WorkingSet(exhaustive(loss), 1e-5, first=2)
    pairs = inactive(loss)
    order = np.argsort(-loss.scores(pairs), kind="stable")
    assert selector.activate_next(loss, 100, run_of()) == 2
    assert loss.edges.tolist() == pairs[order[:2]].tolist()
    assert selector.activate_next(loss, 3, run_of()) == 3  # of four, by the limit
    assert selector.activate_next(loss, 100, run_of()) <= 8
    while selector.activate_next(loss, 100, run_of()):
        pass
    assert (loss.scores(inactive(loss)) <= loss.lam).all()


def test_a_working_set_is_solved_well_only_when_it_is_whole(rng, monkeypatch):
    loss = loss_of(chained_codes(rng, CARDS), CARDS, lam=0.001)
    selector = WorkingSet(exhaustive(loss), 1e-5, first=1)
    tolerances, optimise = [], loss.optimise
    monkeypatch.setattr(loss, "optimise", lambda **given: (tolerances.append(given["tol"]), optimise(**given)))
    while selector.activate_next(loss, 100, run_of()):
        pass
    assert len(tolerances) > 1
    assert tolerances[-1] == 1e-5
    assert tolerances[0] == pytest.approx(1e-4)


def test_the_strong_rule_looks_ahead_once(rng):
    codes = chained_codes(rng, CARDS)
    loss = loss_of(codes, CARDS, lam=0.05)
    selector = WorkingSet(exhaustive(loss), 1e-6, first=100)
    Grafting(loss, selector, run_of(), tol=1e-6).graft()
    n_before = len(loss.edges)
    loss.lam = 0.03
    scores = loss.scores(inactive(loss))
    assert selector.activate_next(loss, 100, run_of()) == (scores > 2 * 0.03 - 0.05).sum()
    assert len(loss.edges) > n_before
    left = loss.scores(inactive(loss)) if len(inactive(loss)) else np.zeros(0)
    assert selector.activate_next(loss, 100, run_of()) == (left > 0.03).sum()
    Grafting(loss, selector, run_of(), tol=1e-6).graft()
    alone = loss_of(codes, CARDS, lam=0.03)
    Grafting(alone, WorkingSet(exhaustive(alone), 1e-6, first=100), run_of(), tol=1e-6).graft()
    assert loss.objective() == pytest.approx(alone.objective(), abs=1e-6)


# ---- streams ----


def stream_of(loss, **options):
    given = {"reservoir_size": 6, "max_tests": 2, "alpha": 0.0, "seed": 3, "tol": 1e-3, **options}
    return EdgeStream(loss.n_variables, **given)


@pytest.mark.parametrize(
    "options", [{}, {"mode": "all"}, {"reservoir_size": 1, "max_tests": 1}, {"alpha": 1.0}], ids=str
)
def test_streams_end_where_the_best_edges_do(options, rng):
    codes = chained_codes(rng, CARDS)
    best = loss_of(codes, CARDS)
    Grafting(best, BestEdge(exhaustive(best), 1e-3), run_of(), tol=1e-6).graft()
    loss = loss_of(codes, CARDS)
    selector = stream_of(loss, **options)
    assert Grafting(loss, selector, run_of(), tol=1e-6).graft() == "converged"
    assert loss.objective() == pytest.approx(best.objective(), abs=1e-5)
    assert (loss.scores(inactive(loss)) <= loss.lam).all()
    assert selector.n_tests >= 15


def test_a_stream_is_taken_up_where_it_was(rng):
    codes = chained_codes(rng, CARDS)
    loss = loss_of(codes, CARDS, lam=0.002)
    selector = stream_of(loss)
    for _ in range(2):
        selector.activate_next(loss, 1, run_of())
    state = {name: np.array(value) for name, value in selector.state().items()}
    again = loss_of(codes, CARDS, lam=0.002)
    again.restore(Snapshot(loss.state()))
    second = stream_of(again)
    second.restore(Snapshot(state), again)
    for one, model in ((selector, loss), (second, again)):
        one.activate_next(model, 1, run_of())
    assert again.edges[-1].tolist() == loss.edges[-1].tolist()
    assert second.n_tests == selector.n_tests


def test_a_stream_past_its_deadline_adds_nothing(rng):
    loss = loss_of(chained_codes(rng, CARDS), CARDS)
    selector = stream_of(loss)
    assert selector.activate_next(loss, 5, run_of(max_time=0)) == 0
    assert not len(loss.edges)
    assert selector.activate_next(loss, 5, run_of()) > 0


@pytest.mark.parametrize("weights", [None, lambda pairs: 1.0 + pairs[:, 0]])
def test_the_largest_penalty_is_that_of_all_pairs(weights, rng):
    loss = loss_of(chained_codes(rng, CARDS), CARDS, lam=0.0, edge_weights=weights)
    pairs = inactive(loss)
    expected = (loss.scores(pairs) / (1.0 if weights is None else weights(pairs))).max()
    assert BestEdge(ExhaustiveEdges(loss.cardinalities, weight=weights), 1e-3).find_largest_ratio(loss) == expected
    assert stream_of(loss, penalty_weight=weights).find_largest_ratio(loss) == pytest.approx(expected)
    without = stream_of(loss, penalty_weight=weights, allowed=lambda pairs: pairs[:, 0] > 0)
    assert without.find_largest_ratio(loss) == pytest.approx(
        (loss.scores(pairs) / (1.0 if weights is None else weights(pairs)))[pairs[:, 0] > 0].max()
    )
