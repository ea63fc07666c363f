"""The choice among penalised, refitted and blended parameters on held-out rows."""

import numpy as np
import pytest

from helpers.markov_tables import planted_rows
from oracles import pseudolikelihood
from pgmx.estimators import GroupLassoMarkovNetwork

ROWS, FRESH = planted_rows(120, 6), planted_rows(900, 6).iloc[300:]
SHARES = (0.0, 0.5, 1.0)
pytestmark = pytest.mark.filterwarnings("ignore:selection=")


def parameters(learner):
    """Return all parameters as one vector, with a table for each pair of variables."""
    potentials = learner.model_.potentials
    cards = potentials.cardinalities.tolist()
    tables = {tuple(edge): table for edge, table in zip(potentials.edges.tolist(), potentials.tables(), strict=True)}
    pairs = [(i, j) for i in range(len(cards)) for j in range(i + 1, len(cards))]
    flat = [tables.get((i, j), np.zeros((cards[i], cards[j]))).ravel() for i, j in pairs]
    return cards, pairs, np.concatenate([potentials.node_values, *flat])


def loss_on(rows, cards, pairs, values, weights=None):
    """Return the negative log pseudolikelihood per row, by its formula."""
    codes = rows.to_numpy().T.astype(int)
    logs = pseudolikelihood.log_conditionals(cards, pairs, values, codes)
    return -np.average(
        sum(log[code, np.arange(len(rows))] for log, code in zip(logs, codes, strict=True)), weights=weights
    )


def blends(lam, rows, **options):
    """Return the parameters of the blends of two fits that know nothing of each other."""
    fits = [GroupLassoMarkovNetwork(lam=lam, refit=refit, **options).fit(rows) for refit in (False, True)]
    (cards, pairs, penalised), (_, _, refitted) = map(parameters, fits)
    return cards, pairs, [(1 - share) * penalised + share * refitted for share in SHARES]


def test_the_best_of_all_candidates_on_the_rows_held_out_is_returned():
    learner = GroupLassoMarkovNetwork(selection="held_out", held_out=FRESH, refit=True, n_lams=5, tol=1e-5).fit(ROWS)
    losses = []
    for lam in learner.path_.lams:
        cards, pairs, candidates = blends(lam, ROWS, tol=1e-5)
        losses.append([loss_on(FRESH, cards, pairs, values) for values in candidates])
    np.testing.assert_allclose(learner.path_.criterion, np.min(losses, axis=1), atol=1e-4)
    k, best = divmod(int(np.argmin(losses)), 3)
    assert (learner.lam_, learner.relaxation_) == (learner.path_.lams[k], SHARES[best])
    assert learner.path_.relaxation[k] == learner.relaxation_
    assert loss_on(FRESH, *parameters(learner)) == pytest.approx(np.min(losses), abs=1e-4)
    assert learner.path_.criterion.min() == pytest.approx(loss_on(FRESH, *parameters(learner)), abs=1e-9)


def test_what_was_chosen_on_parts_is_fitted_to_all_rows():
    learner = GroupLassoMarkovNetwork(selection="held_out", refit=True, n_lams=4, lam_ratio=0.2).fit(ROWS)
    assert learner.relaxation_ in SHARES
    _, _, candidates = blends(learner.lam_, ROWS)
    chosen = candidates[SHARES.index(learner.relaxation_)]
    np.testing.assert_allclose(parameters(learner)[2], chosen, atol=5e-3)


def test_few_rows_are_not_refitted_to_their_harm():
    """Where parameters without a penalty follow forty rows, penalised ones are in the comparison."""
    options = {"selection": "held_out", "held_out": FRESH, "n_lams": 4, "lam": 0.01, "l2": 1e-4}
    refitted, plain = (GroupLassoMarkovNetwork(refit=refit, **options).fit(ROWS.iloc[:40]) for refit in (True, False))
    assert loss_on(FRESH, *parameters(refitted)) <= loss_on(FRESH, *parameters(plain)) + 1e-12


@pytest.mark.parametrize(
    ("options", "share"),
    [({}, 0.0), ({"refit": True}, 1.0), ({"selection": "ebic", "refit": True, "n_lams": 3}, 1.0)],
)
def test_without_held_out_rows_nothing_is_blended(options, share):
    learner = GroupLassoMarkovNetwork(lam_ratio=0.3, **options).fit(ROWS)
    assert learner.relaxation_ == share


def test_without_refit_only_penalised_networks_are_compared():
    learner = GroupLassoMarkovNetwork(selection="held_out", n_lams=3, lam_ratio=0.3).fit(ROWS)
    assert learner.relaxation_ == 0.0
    assert learner.path_.relaxation is None


def test_a_run_that_was_ended_compares_penalised_networks_alone():
    options = {"selection": "held_out", "held_out": FRESH, "refit": True, "n_lams": 3}
    learner = GroupLassoMarkovNetwork(callback=lambda progress: progress.n_iter == 1, **options).fit(ROWS)
    assert learner.stopped_by_ == "callback"
    assert learner.relaxation_ == 0.0
