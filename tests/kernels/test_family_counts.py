"""Counts of families in partitions, which add up to the counts of the table; without a cluster."""

import numpy as np
import pytest

from helpers.coded_tables import random_codes
from helpers.far_tables import Elsewhere, cut, far_scorer
from pgmx._ext import _pair_weights
from pgmx.data import DiscreteTable, DistributedTable
from pgmx.data.distributed.remote_partitions import RemotePartitions
from pgmx.data.table import Partition
from pgmx.scores import ScoreTerms, family_scorer
from pgmx.search.forest_weights import make_pair_kernel
from pgmx.statistics import pair_counts
from pgmx.statistics.counts import arrange_planes
from pgmx.statistics.families import add_families, count_families

CARDS = [3, 2, 4, 300, 2, 5]


def make_table(rng, n_rows):
    return DiscreteTable("abcdef", [range(card) for card in CARDS], random_codes(rng, CARDS, n_rows))


def count_slowly(table, child, parents, wanted):
    """Return the cells of a family and the tables of candidates, by arithmetic on the codes."""
    number = np.zeros(table.n_rows, dtype=np.int64)
    for v in (*parents, child):
        number = number * CARDS[v] + table.codes[v]
    keys, cell, counts = np.unique(number, return_inverse=True, return_counts=True)
    tables = [
        np.bincount(cell[table.codes[u] == state], minlength=len(keys)) for u in wanted for state in range(CARDS[u] - 1)
    ]
    return keys, counts, np.array(tables).reshape(-1, len(keys))


@pytest.mark.parametrize(
    ("child", "parents", "wanted"),
    [(0, [1], [2, 4, 5]), (4, [0, 2, 5], [1]), (3, [1, 2], [0, 4, 5]), (1, [3], [0, 2]), (5, [0, 1, 2, 4], [])],
)
@pytest.mark.parametrize("n_rows", [60, 3000])
def test_parts_add_up_to_the_whole(rng, n_rows, child, parents, wanted):
    table = make_table(rng, n_rows)
    request = child, np.array(parents, dtype=np.int32), np.array(wanted, dtype=np.int32)
    parts = cut(table, [1, n_rows // 3, n_rows // 2])
    first = 2, np.array([0], dtype=np.int32), np.array([], dtype=np.int32)
    added = add_families([count_families(part, [first, request]) for part in parts])[1]
    for counted in (count_families(Partition(table), [request])[0], added):
        for found, expected in zip(counted, count_slowly(table, child, parents, wanted), strict=True):
            assert np.array_equal(found, expected)
    assert added.counts.dtype.itemsize <= 2


def test_tables_that_follow_from_earlier_ones(rng):
    table = make_table(rng, 2000)
    part = Partition(table)
    part.cache["pair_counts"] = pair_counts(table)
    for parents in ([1], [1, 2], [1, 2, 5], [2, 5], [2], [2, 3], [3]):
        wanted = [u for u in (1, 2, 4, 5) if u not in parents]
        request = np.array(parents, dtype=np.int32), np.array(wanted, dtype=np.int32)
        for found, expected in zip(
            count_families(part, [(0, *request)])[0], count_slowly(table, 0, parents, wanted), strict=True
        ):
            assert np.array_equal(found, expected), parents


@pytest.mark.parametrize("terms", [ScoreTerms(penalty=2.0), ScoreTerms(dirichlet=True, per_cell=True, prior=5.0)])
def test_scorer_that_asks_for_counts(rng, terms):
    table = make_table(rng, 900)
    near = family_scorer(table, terms, max_indegree=3)
    ask = Elsewhere(cut(table, [200, 201]))
    far = far_scorer(table, terms, ask, max_indegree=3)
    gains = [np.zeros((6, 6)), np.zeros((6, 6))]
    scores = [np.zeros(6), np.zeros(6)]
    near.start(gains[0], scores[0])
    far.start(gains[1], scores[1])
    assert np.array_equal(*gains) and np.array_equal(*scores)
    asked = len(ask.messages)
    for parents in ([1], [1, 2], [1, 2, 5], [2, 5], [5], [3, 5], []):
        family = np.array(parents, dtype=np.int32)
        assert near.rescore(0, family, gains[0]) == far.rescore(0, family, gains[1])
        assert np.array_equal(*gains)
    assert len(ask.messages) - asked <= 12  # about one message a row; the column without bit planes is asked for alone


def test_too_many_pairs_for_messages():
    table = DistributedTable._from_partitions(range(200), [tuple(range(255))] * 200, None, RemotePartitions([10, 10]))
    with pytest.raises(ValueError, match="need 10 GiB, more than the limit"):
        pair_counts(table)


def test_blocks_of_pairs_add_up(rng):
    codes = random_codes(rng, [3, 2, 4, 2], 700)
    table = DiscreteTable("abcd", [range(card) for card in (3, 2, 4, 2)], codes)
    terms, variables = ScoreTerms(penalty=1.5), np.arange(4)
    block, others = np.array([2, 0]), np.array([1, 3, 0])
    for class_node in (None, 1):
        chosen = variables if class_node is None else np.array([0, 2, 3])
        at = block if class_node is None else np.array([1, 0]), others if class_node is None else np.array([2, 0])
        whole = make_pair_kernel(*arrange_planes(table, chosen, class_node), terms)
        expected = np.empty((2, len(at[1])))
        places = np.arange(2), np.arange(len(at[1]))
        whole.write(*at, expected, *places)
        arranged = [arrange_planes(part.table, chosen, class_node) for part in cut(table, [100, 130])]
        counts = sum(make_pair_kernel(*part, terms).count_block(*at).astype(int) for part in arranged)
        marginals = np.ascontiguousarray(sum(part[3].astype(int) for part in arranged), dtype=np.uint32)
        no_rows = np.empty((marginals.shape[1], 0), dtype=np.uint64)
        kernel = make_pair_kernel(no_rows, arranged[0][1], np.zeros_like(arranged[0][2]), marginals, terms)
        assert isinstance(kernel, _pair_weights.PairWeights)
        weights = np.empty_like(expected)
        kernel.weigh_block(*at, np.ascontiguousarray(counts, dtype=np.uint32), weights, *places)
        assert np.array_equal(weights, expected)
