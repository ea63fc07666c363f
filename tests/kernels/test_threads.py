"""Kernels that release the GIL, run in many threads at once."""

import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from helpers.coded_tables import SCORES, make_scorer, make_weighted, random_codes, rescore, start
from pgmx._ext._counts import count_pairs, count_planes, pack_planes
from pgmx._ext._dag_moves import DagMoves
from pgmx._ext._gaussian import GaussianScorer
from pgmx.data import DiscreteTable
from pgmx.scores.discrete.formulas import CountedFamilies

N_THREADS = 8


def in_threads(task, inputs):
    with ThreadPoolExecutor(N_THREADS) as pool:
        return list(pool.map(task, inputs))


def test_packing_and_counting(rng):
    cards = rng.integers(2, 6, 30)
    codes = random_codes(rng, cards, 3000)
    alone, _ = pack_planes(codes, cards)
    for planes, _ in in_threads(lambda _: pack_planes(codes, cards), range(16)):
        np.testing.assert_array_equal(planes, alone)
    for counts in in_threads(count_planes, [alone] * 16):
        np.testing.assert_array_equal(counts, count_planes(alone))


def test_blocks_of_one_pair_table(rng):
    cards = rng.integers(2, 5, 60)
    planes, _ = pack_planes(random_codes(rng, cards, 2000), cards)
    m = len(planes)
    alone, shared = np.zeros((m, m), dtype=np.uint32), np.zeros((m, m), dtype=np.uint32)
    count_pairs(planes, np.arange(m), 0, m, alone)
    blocks = [(first, min(first + 7, m)) for first in range(0, m, 7)]
    in_threads(lambda block: count_pairs(planes, np.arange(m), *block, shared), blocks)
    np.testing.assert_array_equal(np.triu(shared), np.triu(alone))


@pytest.mark.parametrize("score", SCORES)
def test_a_scorer_for_each_thread(score, rng):
    cards = [2, 3, 300, 2, 4, 3]
    codes = random_codes(rng, cards, 1500)

    def walk(child):
        scorer = make_scorer(codes, cards, score)
        found = [*start(scorer)]
        for step in range(2, 6):
            parents = [u for u in range(step) if u != child]
            found += [np.array(x) for x in rescore(scorer, child, parents)]
        return np.concatenate([np.ravel(array) for array in found])

    children = [0, 1, 2, 3, 4, 5] * 3
    for child, found in zip(children, in_threads(walk, children), strict=True):
        np.testing.assert_array_equal(found, walk(child))


@pytest.mark.parametrize("kind", ["weighted", "gaussian"])
def test_other_scorers_for_each_thread(kind, rng):
    cards = [2, 3, 300, 2, 4, 3]
    codes = random_codes(rng, cards, 1500)
    weights, correlation = rng.random(1500), np.corrcoef(codes.astype(float))

    def walk(child):
        if kind == "weighted":
            scorer = make_weighted(codes, cards, weights, "bdeu")
        else:
            scorer = GaussianScorer(correlation, np.ones(6), 1500.0, 1.0)
        found = [*start(scorer)]
        for step in range(2, 6):
            found += [np.array(x) for x in rescore(scorer, child, [u for u in range(step) if u != child])]
        return np.concatenate([np.ravel(array) for array in found])

    children = [0, 1, 2, 3, 4, 5] * 3
    for child, found in zip(children, in_threads(walk, children), strict=True):
        np.testing.assert_array_equal(found, walk(child))


def test_a_move_queue_for_each_thread(rng):
    gains = rng.integers(-2, 9, (40, 40)).astype(float)
    np.fill_diagonal(gains, -np.inf)
    gains.setflags(write=False)

    def climb(seed):
        moves = DagMoves(gains.copy(), np.random.default_rng(seed).permutation(40), max_indegree=3, tabu_length=4)
        moves.refresh_all()
        made = []
        for _ in range(60):
            made.append(moves.best())
            moves.apply(*made[-1][:3])
        return made

    assert in_threads(climb, range(16)) == [climb(seed) for seed in range(16)]


class WeighedCells:
    """A formula whose value changes with every cell."""

    def score(self, child, parents, cells, counts):
        return float(counts @ (cells @ np.arange(1.0, cells.shape[1] + 1)))


def test_threads_that_share_a_formula(rng):
    """Families with enough cells that numpy lets other threads run while it copies them."""
    table = DiscreteTable(range(8), [range(6)] * 8, rng.integers(0, 6, (8, 10_000)))
    shared, alone = (CountedFamilies(table, WeighedCells()) for _ in range(2))
    orders = [rng.permutation(8) for _ in range(40)]
    families = [(int(order[0]), np.sort(order[1 : 4 + k % 2]).astype(np.int32)) for k, order in enumerate(orders)]
    expected = [alone.family_score(*family) for family in families]
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        found = in_threads(lambda family: shared.family_score(*family), families * 10)
    finally:
        sys.setswitchinterval(interval)
    assert found == expected * 10
