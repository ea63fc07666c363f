"""Missing values of many rows by one junction tree: against enumeration, in any chunks, and as weighted rows."""

import numpy as np
import pytest
from hypothesis import given

from helpers.incomplete_tables import incomplete_cases, random_table
from oracles import missing_cells as oracle
from pgmx.inference import TreewidthError
from pgmx.inference.exact import row_posteriors
from pgmx.inference.exact.row_posteriors import RowCompleter, RowGroups, RowPosteriors, list_completions


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
    return cards, families, tables, codes


@given(incomplete_cases())
def test_rows_against_enumeration(case):
    posteriors = RowPosteriors(case.cards, case.families, case.codes)
    logs = oracle.log_likelihoods(case.cards, case.families, case.tables, case.codes)
    found, counts = posteriors.compute_expected_counts(case.tables, case.weights)
    np.testing.assert_allclose(posteriors.log_likelihoods(case.tables), logs, rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(found, logs, rtol=1e-10, atol=1e-10)
    same_counts(counts, oracle.expected_counts(*case))


@given(incomplete_cases())
def test_weighted_rows_have_the_exact_likelihood_and_counts(case):
    expected = oracle.expected_counts(*case)
    total = case.weights @ oracle.log_likelihoods(case.cards, case.families, case.tables, case.codes)
    for n_draws in (1, 6, 1000):
        completer = RowCompleter(case.cards, case.families, case.codes, case.weights, n_draws)
        likelihood, counts = completer.compute_expected_counts(case.tables)
        assert likelihood == pytest.approx(total, rel=1e-10, abs=1e-10)
        assert completer.log_likelihood(case.tables) == pytest.approx(total, rel=1e-10, abs=1e-10)
        same_counts(counts, expected)
        completions = completer.complete(case.tables, 3)
        sums = np.bincount(completions.rows, completions.weights, len(case.weights))
        np.testing.assert_allclose(sums, case.weights, rtol=1e-12)
        known = case.codes[:, completions.rows] != np.array(case.cards)[:, None]
        assert (completions.codes == case.codes[:, completions.rows])[known].all()
        assert (completions.codes < np.array(case.cards)[:, None]).all()
        if n_draws == 1000:  # no row has more completions: all of them, by their probabilities
            counted = [np.zeros(table.shape) for table in case.tables]
            for family, table in zip(case.families, counted, strict=True):
                np.add.at(table, tuple(completions.codes[list(family)]), completions.weights)
            same_counts(counted, expected)


@given(incomplete_cases())
def test_modes_are_the_largest_marginals(case):
    filled = RowPosteriors(case.cards, case.families, case.codes).modes(case.tables)
    for row, before in zip(filled.T, case.codes.T, strict=True):
        marginals = oracle.marginals(case.cards, case.families, case.tables, before)
        for v, (state, code) in enumerate(zip(row, before, strict=True)):
            if code < case.cards[v]:
                assert state == code
            else:
                assert marginals[v][state] >= marginals[v].max() - 1e-12


def test_chunks_change_nothing(monkeypatch):
    cards, families, tables, codes = draw_case(0)
    weights = np.linspace(0.5, 2, codes.shape[1])
    whole = RowPosteriors(cards, families, codes)
    monkeypatch.setattr(row_posteriors, "CHUNK_BYTES", 3000)
    parts = RowPosteriors(cards, families, codes)
    assert parts._chunk < 10
    same_counts(parts.compute_expected_counts(tables, weights)[1], whole.compute_expected_counts(tables, weights)[1])
    np.testing.assert_array_equal(parts.modes(tables), whole.modes(tables))


def test_draws_follow_the_distribution():
    cards, families, tables, codes = draw_case(1, n_rows=6, share=0.6)
    codes[:, 0] = cards  # nothing is known
    n_draws = 4000
    draws = RowPosteriors(cards, families, codes).draw(tables, n_draws, [5])
    for i in range(codes.shape[1]):
        weights = np.zeros(codes.shape[1])
        weights[i] = 1.0
        expected = oracle.expected_counts(cards, families, tables, codes, weights)
        for family, share in zip(families, expected, strict=True):
            found = np.zeros(share.shape)
            np.add.at(found, tuple(draws[list(family), i]), 1 / n_draws)
            assert np.abs(found - share).max() < 4 * np.sqrt(0.25 / n_draws)


def test_draws_of_one_cell_are_stratified():
    """Each state is drawn as often as its probability says, to one draw."""
    cards, families, tables, codes = draw_case(2, n_rows=30, share=0.0)
    codes[3] = cards[3]
    draws = RowPosteriors(cards, families, codes).draw(tables, 20, [0])
    for i in range(30):
        share = oracle.marginals(cards, families, tables, codes[:, i])[3]
        assert np.abs(np.bincount(draws[3, i], minlength=2) - 20 * share).max() <= 1 + 1e-9


def test_the_same_seed_draws_the_same_and_another_does_not():
    cards, families, tables, codes = draw_case(3)
    groups = RowGroups(cards, families, codes)
    np.testing.assert_array_equal(groups.draw(tables, 5, 1), groups.draw(tables, 5, 1))
    assert (groups.draw(tables, 5, 1) != groups.draw(tables, 5, 2)).any()


def test_an_impossible_row_has_no_probability_and_no_nan():
    tables = [np.array([1.0, 0.0]), np.array([[0.5, 0.5], [0.5, 0.5]])]
    codes = np.array([[1, 0, 2], [2, 2, 2]], dtype=np.uint8)
    logs, counts = RowPosteriors([2, 2], [(0,), (1, 0)], codes).compute_expected_counts(tables, np.ones(3))
    np.testing.assert_allclose(logs, [-np.inf, 0, 0], atol=1e-12)
    assert all(np.isfinite(table).all() for table in counts)


def test_all_completions_are_listed_once():
    filled, rows = list_completions(
        [2, 3, 2], np.array([[2, 0], [3, 1], [0, 2]]), np.array([[1, 0], [1, 0], [0, 1]]) > 0
    )
    assert rows.tolist() == [0] * 6 + [1] * 2
    assert len({tuple(column) for column in filled[:, :6].T.tolist()}) == 6
    assert (filled[2, :6] == 0).all()
    assert filled[:, 6:].T.tolist() == [[0, 1, 0], [0, 1, 1]]


def test_a_dense_network_is_refused_with_a_remedy(monkeypatch):
    monkeypatch.setattr(row_posteriors, "ROW_BYTES", 100)
    cards, families, _, codes = draw_case(0)
    codes[:, 3] = cards  # no other row shares its tree
    monkeypatch.setattr(row_posteriors, "MOST_CELLS", 1)
    with pytest.raises(TreewidthError, match="limit the parents with max_indegree, or learn with missing='pairwise'"):
        RowGroups(cards, families, codes)


def test_groups_of_narrow_trees_change_nothing(monkeypatch):
    cards, families, tables, codes = draw_case(4, n_rows=60)
    weights = np.linspace(0.5, 2, 60)
    whole = RowPosteriors(cards, families, codes)
    monkeypatch.setattr(row_posteriors, "MOST_CELLS", 300)
    groups = RowGroups(cards, families, codes)
    assert groups.n_groups > 3
    logs, counts = groups.compute_expected_counts(tables, weights)
    np.testing.assert_allclose(logs, whole.log_likelihoods(tables), rtol=1e-12)
    np.testing.assert_allclose(groups.log_likelihoods(tables), logs, rtol=1e-12)
    same_counts(counts, whole.compute_expected_counts(tables, weights)[1])
    np.testing.assert_array_equal(groups.modes(tables), whole.modes(tables))
    draws = groups.draw(tables, 3, 0)
    assert (draws == codes[:, :, None])[codes != np.array(cards)[:, None]].all()
    assert (draws < np.array(cards)[:, None, None]).all()


def test_a_clique_that_no_row_fits_into_is_parted(monkeypatch):
    """Eight causes of one effect: 3 ** 9 cells where all are missing, few where each row lacks two of them."""
    monkeypatch.setattr(row_posteriors, "MOST_CELLS", 2**14)
    monkeypatch.setattr(row_posteriors, "ROW_BYTES", 2**14)
    rng = np.random.default_rng(0)
    cards = [3] * 9
    families = [(v,) for v in range(8)] + [(8, *range(8))]
    tables = [random_table(rng, [3] * len(family)) for family in families]
    codes = rng.integers(0, 3, (9, 80)).astype(np.uint8)
    for row in range(80):
        codes[rng.choice(9, 2, replace=False), row] = 3
    logs, counts = RowGroups(cards, families, codes).compute_expected_counts(tables, np.ones(80))
    np.testing.assert_allclose(logs, oracle.log_likelihoods(cards, families, tables, codes), rtol=1e-10)
    same_counts(counts, oracle.expected_counts(cards, families, tables, codes, np.ones(80)))
