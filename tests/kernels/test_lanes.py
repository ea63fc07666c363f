"""The kernel that answers eight rows at a time against sums over all configurations, called directly."""

import numpy as np
import pytest

from helpers.component_kernels import Network, condition, marginal
from pgmx._ext._lanes import Lanes

NETWORKS = [
    Network([3], [[]]),  # one variable
    Network([1, 2, 1, 3], [[], [0], [1], [1, 2]]),  # variables of one state
    Network([2, 3, 2, 2, 3], [[], [0], [0], [1, 2], [3]], zeros=0.4),
    Network([2, 300, 2], [[], [0], [1]], zeros=0.3),
    Network([2, 2, 3, 2, 2, 3], [[], [], [0, 1], [2], [], [4]]),
]


def build(network):
    """Return lanes through every connected component."""
    store = network.components()
    numbers = store.find_whole()
    for number in numbers:
        store.plan(number, 1e6)
    return [Lanes(store, number) for number in numbers]


def answer(lanes, network, rows, columns=None):
    logs, probabilities = np.zeros(len(rows)), np.zeros((len(rows), sum(network.cards)))
    for one in lanes:
        one.answer(rows, logs, probabilities, network.columns if columns is None else columns)
    return logs, probabilities


@pytest.mark.parametrize("network", NETWORKS, ids=lambda network: str(network.cards))
def test_rows_equal_enumeration(network, rng):
    """Any number of rows; impossible ones among them."""
    lanes = build(network)
    for n_rows, hidden in [(0, 0.5), (1, 1.0), (3, 0.5), (8, 0.0), (9, 0.8), (21, 0.6)]:
        rows = network.draw_rows(rng, n_rows, hidden)
        logs, probabilities = answer(lanes, network, rows)
        for row, log, line in zip(rows, logs, probabilities, strict=True):
            kept = condition(network.joint, row)
            if kept.sum() == 0.0:
                assert log == -np.inf
                continue
            assert log == pytest.approx(np.log(kept.sum()), abs=1e-12)
            for v, card in enumerate(network.cards):
                found = line[network.columns[v] : network.columns[v] + card]
                np.testing.assert_allclose(found, marginal(kept / kept.sum(), [v]), atol=1e-13)
        for r in range(n_rows):  # a row alone has the same bits
            alone = answer(lanes, network, rows[r : r + 1])
            assert alone[0] == logs[r] and (alone[1] == probabilities[r]).all()


def test_columns_that_are_not_wanted_stay():
    network = NETWORKS[2]
    rows = np.full((3, 5), -1, dtype=np.int32)
    _, probabilities = answer(build(network), network, rows, np.full(5, -1, dtype=np.int64))
    assert (probabilities == 0.0).all()


def test_likelihood_alone():
    network = NETWORKS[4]
    rows = np.full((9, 6), -1, dtype=np.int32)
    logs = np.zeros(9)
    for lanes in build(network):
        lanes.answer(rows, logs)
    np.testing.assert_allclose(logs, 0.0, atol=1e-12)


def test_messages_of_many_children_do_not_underflow():
    """Lanes beside the one in question are ordinary: their bits do not change."""
    n = 901
    tables = [np.array([0.5, 0.5])] + [np.array([[0.3, 0.2], [0.7, 0.8]])] * (n - 1)
    network = Network.__new__(Network)
    network.fill([2] * n, [(0,), *((v, 0) for v in range(1, n))], tables)
    lanes = build(network)
    rows = np.full((8, n), -1, dtype=np.int32)
    alone = answer(lanes, network, rows)
    rows[3, 1:900] = 0
    logs, probabilities = answer(lanes, network, rows)
    assert logs[3] == pytest.approx(np.log(0.5) + 899 * np.log(0.3), rel=1e-13)
    np.testing.assert_allclose(probabilities[3, [0, 1, 2, 3, 1800, 1801]], [1, 0, 1, 0, 0.3, 0.7], atol=1e-12)
    others = np.arange(8) != 3
    assert (logs[others] == alone[0][others]).all() and (probabilities[others] == alone[1][others]).all()


def test_wrong_numbers_are_refused():
    store = NETWORKS[2].components()
    with pytest.raises(IndexError, match="no component 0"):
        Lanes(store, 0)
    (number,) = store.find_whole()
    with pytest.raises(ValueError, match="component 0 has no plan"):
        Lanes(store, number)
