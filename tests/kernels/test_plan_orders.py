"""Orders of plans against the cells of orders counted with sets, and against the best of all orders."""

from itertools import permutations

import numpy as np
import pytest

from helpers.component_kernels import QUERY, SUM, Network


def make_network(rng, n, n_edges, most_states=4):
    """Return a network of pairs: a path, so that it is connected, and random edges."""
    cards = rng.integers(2, most_states + 1, n).tolist()
    pairs = {tuple(sorted(rng.choice(n, 2, replace=False).tolist())) for _ in range(n_edges)}
    scopes = sorted(pairs | {(v, v + 1) for v in range(n - 1)})
    network = Network.__new__(Network)
    network.fill(cards, scopes, [np.ones([cards[v] for v in scope]) for scope in scopes])
    return network, cards, scopes


def count_cells(cards, scopes, order):
    """Return the cells of all tables of an order."""
    near = [set() for _ in cards]
    for u, v in scopes:
        near[u].add(v)
        near[v].add(u)
    total = 0
    for v in order:
        total += cards[v] * int(np.prod([cards[u] for u in near[v]], dtype=np.int64))
        for u in near[v]:
            near[u] |= near[v]
            near[u] -= {u, v}
    return total


@pytest.mark.parametrize("n", [5, 70])
def test_a_given_order_has_the_cells_of_its_tables(rng, n):
    network, cards, scopes = make_network(rng, n, n // 3)
    row = np.full(n, -1, dtype=np.int32)
    kernel = network.components()
    (number,) = kernel.find(row[None], SUM)
    for _ in range(5):
        order = rng.permutation(n).astype(np.int32)
        cells = count_cells(cards, scopes, order)
        found = kernel.plan(number, 1e6, order)
        assert found == cells or (found == np.inf and cells > 2**31)  # a table that cannot be numbered


def test_orders_are_close_to_the_best(rng):
    ratios = []
    for _ in range(12):
        network, cards, scopes = make_network(rng, 6, 6)
        row, everything = np.full(6, -1, dtype=np.int32), range(6)
        kernel = network.components()
        (number,) = kernel.find(row[None], SUM)
        best = min(count_cells(cards, scopes, order) for order in permutations(everything))
        ratios.append(kernel.plan(number, 1e6) / best)
        ((number, _),) = kernel.find_query(row, np.array([2, 4], dtype=np.int32), QUERY, False)[0]
        best = min(count_cells(cards, scopes, order) for order in permutations([0, 1, 3, 5]))
        ratios.append(kernel.plan(number, 1e6) / (best + cards[2] * cards[4]))
    assert min(ratios) >= 1.0
    assert np.mean(ratios) < 1.1 and max(ratios) < 1.6


def test_large_networks_get_the_best_of_several_orders(rng):
    """Grids, whose best order known eliminates them line by line."""
    height, width = 7, 12
    place = np.arange(height * width).reshape(width, height)
    scopes = [(int(u), int(v)) for u, v in zip(place[:, :-1].ravel(), place[:, 1:].ravel(), strict=True)]
    scopes += [(int(u), int(v)) for u, v in zip(place[:-1].ravel(), place[1:].ravel(), strict=True)]
    names = rng.permutation(place.size)
    scopes = [tuple(sorted((int(names[u]), int(names[v])))) for u, v in scopes]
    network = Network.__new__(Network)
    network.fill([2] * place.size, scopes, [np.ones((2, 2))] * len(scopes))
    kernel = network.components()
    (number,) = kernel.find(np.full((1, place.size), -1, dtype=np.int32), SUM)
    assert kernel.plan(number, 1e9) < 1.2 * count_cells([2] * place.size, scopes, names)
