"""Discrete rows with missing values under one network: against enumeration, in any blocks, and as weighted rows."""

import numpy as np
import pytest
from hypothesis import given

from helpers.incomplete_tables import incomplete_cases, random_table
from oracles import missing_cells as oracle
from pgmx.data import DiscreteTable
from pgmx.inference import TreewidthError
from pgmx.models.bayesian import incomplete_discrete
from pgmx.models.bayesian.em import EMFit
from pgmx.models.bayesian.incomplete_discrete import IncompleteDiscreteRows, draw_strata, list_completions


def make_rows(case, n_draws=10, weights=None):
    """Return the rows of a case, and its network as a fit; `places` gives the distinct row of each row."""
    cards, families, tables, codes, case_weights = case
    names = tuple(range(len(cards)))
    states = tuple(tuple(range(card + 1)) for card in cards)
    table = DiscreteTable._from_parts(names, states, np.ascontiguousarray(codes), np.array(cards))
    rows = IncompleteDiscreteRows(table, case_weights if weights is None else weights, n_draws)
    assert rows.cards == list(cards)
    edges = np.array([(u, v) for v, *parents in families for u in parents], dtype=np.int64).reshape(-1, 2)
    assert rows.families(edges) == families
    return rows, EMFit(edges, families, None, list(tables), np.nan, None)


def same_counts(found, expected):
    for mine, theirs in zip(found, expected, strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=1e-10, atol=1e-10)


def draw_case(seed, n_rows=40, share=0.4):
    """Return a chain with a common parent of four states, and rows."""
    rng = np.random.default_rng(seed)
    cards = [4, 2, 3, 2, 3]
    families = [(0,), (1, 0), (2, 0, 1), (3, 2), (4, 0, 3)]
    tables = [random_table(rng, [cards[v] for v in family]) for family in families]
    codes = np.array([rng.integers(0, card, n_rows) for card in cards])
    codes = np.where(rng.random(codes.shape) < share, np.array(cards)[:, None], codes).astype(np.uint8)
    return cards, families, tables, codes, np.linspace(0.5, 2, n_rows)


def expect(rows, fit):
    return rows._expect(fit.families, fit.parameters, may_end=False)


@given(incomplete_cases())
def test_likelihood_and_counts_are_those_of_enumeration(case):
    rows, fit = make_rows(case)
    likelihood, counts = expect(rows, fit)
    total = case.weights @ oracle.log_likelihoods(case.cards, case.families, case.tables, case.codes)
    assert likelihood == pytest.approx(total, rel=1e-10, abs=1e-10)
    same_counts(counts, oracle.expected_counts(*case))


@given(incomplete_cases())
def test_completed_rows_have_the_weights_of_their_rows(case):
    for n_draws in (1, 6, 1000):
        rows, fit = make_rows(case, n_draws)
        table, weights = rows.complete(fit, 3)
        assert (table.codes < np.array(case.cards)[:, None]).all()
        assert weights.sum() == pytest.approx(case.weights.sum())
        # the values that are never missing have their counts
        for v in np.flatnonzero((case.codes < np.array(case.cards)[:, None]).all(axis=1)):
            found = np.bincount(table.codes[v], weights, case.cards[v])
            np.testing.assert_allclose(found, np.bincount(case.codes[v], case.weights, case.cards[v]))
        if n_draws == 1000:  # no row has more completions: all of them, by their probabilities
            completed = rows.count(fit.edges, (table, weights))
            same_counts(completed, oracle.expected_counts(*case))


@given(incomplete_cases())
def test_imputed_values_are_the_largest_marginals(case):
    rows, fit = make_rows(case)
    filled = rows.impute(fit).codes
    for row, before in zip(filled.T, case.codes.T, strict=True):
        marginals = oracle.marginals(case.cards, case.families, case.tables, before)
        for v, (state, code) in enumerate(zip(row, before, strict=True)):
            if code < case.cards[v]:
                assert state == code
            else:
                assert marginals[v][state] >= marginals[v].max() - 1e-12


def test_blocks_and_forgotten_plans_change_nothing(monkeypatch):
    rows, fit = make_rows(draw_case(0))
    whole, completed, imputed = expect(rows, fit), rows.complete(fit, 1), rows.impute(fit)
    monkeypatch.setattr(incomplete_discrete, "PASS_BYTES", 3000)
    monkeypatch.setattr(incomplete_discrete, "PLAN_BYTES", 0)
    rows, fit = make_rows(draw_case(0))
    first = expect(rows, fit)
    for _ in range(2):
        parts = expect(rows, fit)
        assert parts[0] == first[0]  # a resumed run starts with its first pass
        for mine, theirs in zip(parts[1], first[1], strict=True):
            np.testing.assert_array_equal(mine, theirs)
        assert parts[0] == pytest.approx(whole[0], rel=1e-12)
        same_counts(parts[1], whole[1])
    np.testing.assert_array_equal(rows.impute(fit).codes, imputed.codes)
    assert rows.complete(fit, 1).table.codes.shape == completed.table.codes.shape


def test_draws_follow_the_distribution():
    n_draws = 4000
    cards, families, tables, codes, _ = draw_case(1, n_rows=6, share=0.6)
    codes[:, 0] = cards  # nothing is known
    for i in range(codes.shape[1]):
        case = cards, families, tables, codes[:, [i]], np.ones(1)
        rows, _ = make_rows(case)
        drawn = rows._draw(rows._load(families, tables), np.zeros(1, dtype=int), n_draws, 5)
        for family, share in zip(families, oracle.expected_counts(*case), strict=True):
            found = np.zeros(share.shape)
            np.add.at(found, tuple(drawn[list(family)]), 1 / n_draws)
            assert np.abs(found - share).max() < 4 * np.sqrt(0.25 / n_draws)


def test_draws_of_one_value_are_stratified():
    """Each state is drawn as often as its probability says, to one draw."""
    cards, families, tables, codes, weights = draw_case(2, n_rows=30, share=0.0)
    codes[3] = cards[3]
    rows, _ = make_rows((cards, families, tables, codes, weights))
    n = len(rows.weights)
    drawn = rows._draw(rows._load(families, tables), np.arange(n), 20, 0).reshape(len(cards), n, 20)
    for i in range(n):
        share = oracle.marginals(cards, families, tables, rows.codes[:, i])[3]
        assert np.abs(np.bincount(drawn[3, i], minlength=2) - 20 * share).max() <= 1 + 1e-9


def test_strata_hold_one_number_each_below_one():
    strata = draw_strata(np.random.default_rng(0), 50, 7)
    np.testing.assert_array_equal(np.sort((strata * 7).astype(int), axis=1), np.tile(np.arange(7), (50, 1)))
    assert strata.max() < 1.0


def test_the_same_seed_draws_the_same_and_another_does_not():
    rows, fit = make_rows(draw_case(3), n_draws=2)
    np.testing.assert_array_equal(rows.complete(fit, 1).table.codes, rows.complete(fit, 1).table.codes)
    assert (rows.complete(fit, 1).table.codes != rows.complete(fit, 2).table.codes).any()


def test_an_impossible_row_has_no_probability_and_no_nan():
    tables = [np.array([1.0, 0.0]), np.array([[0.5, 0.5], [0.5, 0.5]])]
    codes = np.array([[1, 0, 2], [2, 2, 2]], dtype=np.uint8)
    case = [2, 2], [(0,), (1, 0)], tables, codes
    rows, fit = make_rows((*case, np.ones(3)), n_draws=1)
    likelihood, counts = expect(rows, fit)
    assert likelihood == -np.inf
    assert all(np.isfinite(table).all() for table in counts)
    assert (rows.complete(fit, 0).table.codes < 2).all()
    # an impossible row of weight 0 is as if it were not there
    rows, fit = make_rows((*case, np.array([0.0, 1.0, 1.0])))
    assert expect(rows, fit)[0] == pytest.approx(0.0, abs=1e-12)


def test_all_completions_are_listed_once():
    filled, rows = list_completions(
        [2, 3, 2], np.array([[2, 0], [3, 1], [0, 2]]), np.array([[1, 0], [1, 0], [0, 1]]) > 0
    )
    assert rows.tolist() == [0] * 6 + [1] * 2
    assert len({tuple(column) for column in filled[:, :6].T.tolist()}) == 6
    assert (filled[2, :6] == 0).all()
    assert filled[:, 6:].T.tolist() == [[0, 1, 0], [0, 1, 1]]


def test_a_dense_network_is_refused_with_a_remedy(monkeypatch):
    monkeypatch.setattr(incomplete_discrete, "ROW_BYTES", 100)
    cards, families, tables, codes, weights = draw_case(0)
    codes[:, 3] = cards
    rows, fit = make_rows((cards, families, tables, codes, weights))
    with pytest.raises(TreewidthError, match="limit the parents with max_indegree, or learn with missing='pairwise'"):
        expect(rows, fit)


def test_a_clique_that_no_row_hides_is_not_needed(monkeypatch):
    """Eight causes of one effect: 3 ** 9 cells where all are missing, few where each row lacks two of them."""
    monkeypatch.setattr(incomplete_discrete, "ROW_BYTES", 2**10)
    rng = np.random.default_rng(0)
    cards = [3] * 9
    families = [(v,) for v in range(8)] + [(8, *range(8))]
    tables = [random_table(rng, [3] * len(family)) for family in families]
    codes = rng.integers(0, 3, (9, 80)).astype(np.uint8)
    for row in range(80):
        codes[rng.choice(9, 2, replace=False), row] = 3
    case = cards, families, tables, codes, np.ones(80)
    likelihood, counts = expect(*make_rows(case))
    assert likelihood == pytest.approx(oracle.log_likelihoods(*case[:4]).sum(), rel=1e-10)
    same_counts(counts, oracle.expected_counts(*case))
