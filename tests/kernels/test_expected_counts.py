"""The kernel of expected counts against sums over all configurations, called directly."""

import numpy as np
import pytest

from helpers.component_kernels import Network, condition, marginal
from pgmx._ext._expected_counts import Questions

NETWORKS = [
    Network([3], [[]]),  # one variable
    Network([1, 2, 1, 3], [[], [0], [1], [1, 2]]),  # variables of one state
    Network([2, 3, 2, 2, 3], [[], [0], [0], [1, 2], [3]], zeros=0.4),
    Network([300, 2, 3], [[], [0], [0, 1]]),
    Network([2, 2, 3, 2, 2, 3], [[], [], [0, 1], [2], [], [4]]),
]


@pytest.fixture(params=range(len(NETWORKS)))
def network(request):
    return NETWORKS[request.param]


def gather(network, rows, weights):
    """Return a kernel with planned questions, their positions, and the counts of what is observed."""
    kernel, observed = Questions(*network.arrays, 2**28), np.zeros(len(network.values))
    kernel.add(rows, weights, observed)
    numbers, starts = kernel.sort()
    assert len(starts) == len(numbers) + 1
    for number in numbers:
        assert kernel.plan(number, 1e6) > 0
    assert kernel.has_all_plans()
    return kernel, starts, observed


def count(network, rows, weights):
    """Return the log-likelihood of rows and the counts of all cells."""
    kernel, starts, counts = gather(network, rows, weights)
    seen = counts > 0
    with np.errstate(divide="ignore"):
        total = counts[seen] @ np.log(network.values[seen])
    return total + kernel.count(0, starts[-1], counts), counts


def test_counts_are_those_of_enumeration(network, rng):
    for hidden in (0.0, 0.3, 0.7, 1.0):
        rows, weights = network.draw_rows(rng, 12, hidden), rng.random(12)
        kept = [condition(network.joint, row) for row in rows]
        possible = np.array([table.sum() > 0 for table in kept])
        if not possible.all():
            assert count(network, rows, weights)[0] == -np.inf
        weights[~possible] = 0.0  # rows without weight take no part
        weights[0] *= possible[0]
        total, counts = count(network, rows, weights)
        logs = [np.log(table.sum()) if table.sum() > 0 else 0.0 for table in kept]
        assert total == pytest.approx(weights @ logs, rel=1e-12, abs=1e-12)
        expected = sum(w * table / table.sum() for w, table in zip(weights, kept, strict=True) if w)
        expected = expected + np.zeros_like(network.joint)
        for v in range(len(network.cards)):
            found = network.table_of(counts, v)
            np.testing.assert_allclose(found, marginal(expected, [v, *network.parents[v]]), atol=1e-11)


def test_equal_questions_are_asked_once(network, rng):
    """Repeated rows add no question, and count as their sum of weights."""
    rows, weights = network.draw_rows(rng, 9, 0.5), rng.random(9)
    rows = rows[[condition(network.joint, row).sum() > 0.0 for row in rows]]
    weights = weights[: len(rows)]
    once = gather(network, rows, weights)[1]
    twice = gather(network, np.repeat(rows, 3, axis=0), np.repeat(weights / 3, 3))[1]
    np.testing.assert_array_equal(once, twice)
    results = count(network, rows, weights), count(network, np.repeat(rows, 3, axis=0), np.repeat(weights / 3, 3))
    for mine, theirs in zip(*results, strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=1e-12, atol=1e-14)


def test_thousands_of_questions_are_found_again(rng):
    """More questions than the first hash table holds."""
    n = 14
    network = Network.__new__(Network)
    tables = [rng.dirichlet(np.ones(2), 2 ** min(v, 10)).T.reshape([2] * (1 + min(v, 10))) for v in range(n)]
    network.fill([2] * n, [(v, *range(max(0, v - 10), v)) for v in range(n)], tables)
    rows = rng.integers(0, 2, (4000, n)).astype(np.int32)
    rows[np.arange(4000), rng.integers(0, n, 4000)] = -1
    rows = np.concatenate([rows, rows])
    kernel, starts, observed = gather(network, rows, np.ones(8000))
    again, more = Questions(*network.arrays, 2**28), np.zeros(len(network.values))
    again.add(rows[:4000], np.full(4000, 2.0), more)
    np.testing.assert_array_equal(starts, again.sort()[1])
    assert 2000 < starts[-1] <= 4000
    np.testing.assert_array_equal(observed, more)
    # every row lacks one value: its family and those of its children have an expected count of 1 in all
    kernel.count(0, starts[-1], observed)
    for v in range(n):
        assert observed[network.first[v] : network.first[v + 1]].sum() == pytest.approx(8000.0)


def test_forgotten_questions_and_dropped_plans(network, rng):
    rows, weights = network.draw_rows(rng, 10, 0.5), np.ones(10)
    kernel, starts, _ = gather(network, rows, weights)
    kernel.drop_plans()
    assert kernel.plan_bytes == 0
    if starts[-1]:
        assert not kernel.has_all_plans()
        with pytest.raises(ValueError, match="has no plan"):
            kernel.count(0, starts[-1], np.zeros(len(network.values)))
    kernel.forget_questions()
    assert kernel.sort()[0] == []
    assert kernel.has_all_plans()
    with pytest.raises(ValueError, match="questions 0 to 1 of 0 sorted ones"):
        kernel.count(0, 1, np.zeros(len(network.values)))
    again = np.zeros(len(network.values))
    kernel.add(rows, weights, again)
    np.testing.assert_array_equal(kernel.sort()[1], starts)
