"""The store of active edges: order, borders, growth, refusals."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from helpers.loss_tables import all_pairs
from pgmx.solvers.markov.penalised_loss import ActiveEdges


@given(
    cards=st.lists(st.integers(1, 9), min_size=2, max_size=12),
    seed=st.integers(0, 2**32),
    feature_wise=st.booleans(),
    piece=st.integers(1, 40),
)
def test_what_is_added_is_found_again(cards, seed, feature_wise, piece):
    rng = np.random.default_rng(seed)
    cards = np.array(cards)
    active = ActiveEdges(cards, feature_wise)
    pairs = rng.permutation(all_pairs(len(cards)))
    expected, observed = [], []
    for first in range(0, len(pairs), piece):
        part = pairs[first : first + piece]
        sizes = cards[part[:, 0]] * cards[part[:, 1]]
        tables = rng.random(sizes.sum())
        positions = active.add(part, tables, sizes + 0.5)
        assert positions.tolist() == list(range(first, first + len(part)))
        assert not active.norms()[positions].any()
        for e, (i, j) in zip(positions.tolist(), part.tolist(), strict=True):
            assert active.table(e).shape == (cards[i], cards[j])
            active.table(e)[:] = rng.normal(size=(cards[i], cards[j]))
            expected.append(active.table(e).copy())
            if feature_wise:
                active.masks[active.where[e]] = 1
        observed.append(tables)
    assert np.array_equal(active.pairs, pairs)
    assert np.array_equal(active.tables, np.concatenate(observed))
    assert np.array_equal(active.weights, cards[pairs[:, 0]] * cards[pairs[:, 1]] + 0.5)
    assert np.array_equal(active.values, np.concatenate([table.ravel() for table in expected]))
    np.testing.assert_allclose(active.norms(), [np.linalg.norm(table) for table in expected])
    assert len(active) == len(pairs)
    for e, (i, j) in enumerate(pairs.tolist()):
        assert active.position(i, j) == e
    for i in range(len(cards)):
        assert active.edges_of(i) == np.flatnonzero((pairs == i).any(axis=1)).tolist()
    if feature_wise:
        assert np.flatnonzero(active.masks).tolist() == active.where[:-1].tolist()
    else:
        assert len(active.masks) == 0


def test_an_empty_store():
    active = ActiveEdges(np.array([2, 3]))
    assert len(active) == 0
    assert active.norms().shape == (0,)
    assert active.where.tolist() == [0]
    assert active.position(0, 1) is None
    assert active.edges_of(1) == []


@pytest.mark.parametrize("pairs", [[[1, 2], [0, 1]], [[0, 2], [0, 2]]], ids=["added before", "twice at once"])
def test_a_refused_list_leaves_nothing_behind(pairs):
    active = ActiveEdges(np.array([2, 2, 2]))
    active.add(np.array([[0, 1]]), np.zeros(4), np.ones(1))
    with pytest.raises(ValueError, match="is already active"):
        active.add(np.array(pairs), np.zeros(8), np.ones(2))
    assert active.pairs.tolist() == [[0, 1]]
    assert active.position(1, 2) is None
    assert active.position(0, 2) is None
    assert active.edges_of(2) == []
    assert active.add(np.array([[1, 2], [0, 2]]), np.zeros(8), np.ones(2)).tolist() == [1, 2]
