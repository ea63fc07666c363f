"""Missing values of rows under conditional linear Gaussian networks: expectations, guesses and draws by enumeration."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pgmx.inference.mixed.families import (
    DiscreteFamily,
    GaussianFamily,
    MixedFamilies,
    MixedRows,
    make_zeros,
    shape_families,
    sum_known,
)
from pgmx.inference.mixed.missing_values import (
    MissingValues,
    RandomNumbers,
    describe_block,
    find_blocks,
    plan_block,
)
from tests.helpers.mixed_networks import draw_rows, evidence_of, mixed_networks, to_families
from tests.oracles import missing_mixed as oracle

N_ROWS = 6


def solve(network, missing):
    """Return the missing values of a network, and the shapes of its families."""
    families = [(v, *sorted(parents)) for v, parents in enumerate(network.parents)]
    shapes = shape_families(network.cards, families)
    plans = [(piece, plan_block(network, piece)) for piece in find_blocks(families, missing)]
    programs = [(block, describe_block(shapes, block, question)) for block, question in plans]
    return MissingValues(network.cards, shapes, programs), shapes


@settings(max_examples=60, deadline=None)
@given(mixed_networks(), st.integers(0, 99), st.sampled_from([0.2, 0.5, 1.0]))
def test_expectations_and_guesses_are_those_of_enumeration(families, seed, share):
    network = to_families(families)
    n = len(families)
    rng = np.random.default_rng(seed)
    rows, missing = draw_rows(network, N_ROWS, seed), rng.random((n, N_ROWS)) < share
    weights = rng.choice([0.0, 0.5, 2.0], N_ROWS)
    cells, shapes = solve(network, missing)
    log_density, totals = cells.expect(network, rows, weights)
    for v, shape in enumerate(shapes):
        known = ~missing[[v, *network.parents[v]]].any(axis=0)
        log_density += float(weights[known] @ network.log_density(v, rows)[known])
        totals[v] = totals[v].reshape(make_zeros(network.cards, shape).shape)
        totals[v] += sum_known(network.cards, shape, rows.take(known), weights[known])
    dictionaries = [evidence_of(network, rows, r, ~missing[:, r]) for r in range(N_ROWS)]
    expected, oracles = oracle.expect(families, dictionaries, weights)
    assert log_density == pytest.approx(expected, rel=1e-7, abs=1e-7)
    for mine, theirs in zip(totals, oracles, strict=True):
        np.testing.assert_allclose(mine, theirs.reshape(mine.shape), rtol=1e-6, atol=1e-7 * (1 + np.abs(theirs).max()))
    filled = MixedRows(rows.codes.copy(), rows.numbers.copy())
    cells.impute(network, rows, filled)
    for r in range(N_ROWS):
        for v, value in oracle.impute(families, dictionaries[r]).items():
            if network.cards[v]:
                assert filled.codes[v, r] == value
            else:
                assert filled.numbers[v, r] == pytest.approx(value, rel=1e-6, abs=1e-7)


def test_draws_are_joint():
    """States in three cliques, and continuous variables, one of which depends on a state of each end."""
    rng = np.random.default_rng(0)
    families = [
        DiscreteFamily((), np.array([0.3, 0.7])),
        DiscreteFamily((0,), rng.dirichlet(np.ones(3), 2).T),
        DiscreteFamily((1,), rng.dirichlet(np.ones(2), 3).T),
        DiscreteFamily((2,), rng.dirichlet(np.ones(3), 2).T),
        GaussianFamily((0,), (), np.array([[0.0], [5.0]]), np.array([1.0, 0.5])),
        GaussianFamily((), (4,), np.array([1.0, 2.0]), np.array(0.25)),
    ]
    network = MixedFamilies((2, 3, 2, 3, 0, 0), tuple(families))
    missing = np.array([[False, True], *[[True, True]] * 5])
    rows = draw_rows(network, 2)
    cells, shapes = solve(network, missing)
    n_draws = 40_000
    drawn = MixedRows(*(np.repeat(part, n_draws, axis=1) for part in rows))
    ranks = np.array([[0, 0], [1, 1], [2, 2], [3, 3], [0, 0], [1, 1]])
    random = RandomNumbers(np.arange(2), rng.random((4, 2, n_draws)), rng.standard_normal((2, n_draws)), ranks)
    cells.draw(network, rows, random, drawn)
    _, totals = cells.expect(network, rows, np.ones(2))
    for shape, expected in zip(shapes, totals, strict=True):
        found = sum_known(network.cards, shape, drawn, np.full(2 * n_draws, 1 / n_draws))
        if shape.child:  # the first is known in one of the rows
            np.testing.assert_allclose(found, expected.reshape(found.shape), atol=0.02 * max(1.0, expected.max()))
    free = drawn.codes[:, n_draws:]
    ends = np.bincount(free[0] * 3 + free[3], minlength=6).reshape(2, 3) / n_draws
    chain = families[3].table @ families[2].table @ families[1].table * families[0].table
    np.testing.assert_allclose(ends, chain.T, atol=0.02)


def test_rows_without_a_distribution_weigh_nothing():
    """A known state that is impossible: the row of weight 0 adds nothing, and still has guesses and draws."""
    families = (
        DiscreteFamily((), np.array([0.5, 0.5])),
        DiscreteFamily((0,), np.array([[1.0, 1.0], [0.0, 0.0]])),
        GaussianFamily((0,), (), np.array([[0.0], [5.0]]), np.array([1.0, 0.5])),
    )
    network = MixedFamilies((2, 2, 0), families)
    rows = MixedRows(np.array([[0, 0], [1, 0], [0, 0]]), np.zeros((3, 2)))
    missing = np.array([[True, True], [False, False], [True, True]])
    cells, _ = solve(network, missing)
    log_density, totals = cells.expect(network, rows, np.array([0.0, 1.0]))
    assert log_density == pytest.approx(0.0)
    assert [total.sum() for total in totals[:2]] == pytest.approx([1.0, 1.0])
    assert cells.expect(network, rows, np.ones(2))[0] == -np.inf
    filled = MixedRows(rows.codes.copy(), np.full((3, 2), np.nan))
    cells.impute(network, rows, filled)
    assert np.isfinite(filled.numbers[2]).all()
    random = RandomNumbers(np.arange(2), np.full((1, 2, 3), 0.9), np.zeros((1, 3)), np.zeros((3, 2), dtype=np.int64))
    drawn = MixedRows(np.full((3, 6), -1), np.full((3, 6), np.nan))
    cells.draw(network, rows, random, drawn)
    assert set(drawn.codes[0].tolist()) <= {0, 1}
    assert np.isfinite(drawn.numbers[2]).all()
