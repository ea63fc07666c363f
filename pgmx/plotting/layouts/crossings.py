"""Crossing reduction between the layers of a layered drawing."""

from bisect import bisect_right, insort
from collections.abc import Iterable, Mapping, Sequence
from random import Random

_EFFORT = 250_000  # about the number of points and links visited by all sweeps together
_MOST_STARTS = 16  # orders that the sweeps begin with
_SWAP_LIMIT = 600  # points above which swapping neighbours is left out


def count_crossings(links: Iterable[tuple[int, int]], position: Mapping[int, int]) -> int:
    """Return the number of crossings of links (upper, lower) between two layers, given the positions in the layers."""
    seen: list[int] = []
    crossings = 0
    for _, lower in sorted((position[u], position[v]) for u, v in links):
        crossings += len(seen) - bisect_right(seen, lower)
        insort(seen, lower)
    return crossings


def order_layers(layers: list[list[int]], links: Sequence[tuple[int, int]]) -> None:
    """Reorder each layer in place so that few links cross, by barycentre sweeps and swaps of neighbours.

    Sweeps begin with the given order, its reverse and random orders with a fixed seed; the best order is used. Longer
    links count as if their layers were neighbours.
    """
    up: dict[int, list[int]] = {v: [] for row in layers for v in row}
    down: dict[int, list[int]] = {v: [] for v in up}
    for u, v in links:
        up[v].append(u)
        down[u].append(v)
    size = len(up) + len(links)
    best, fewest = [row[:] for row in layers], -1
    for start in range(max(1, min(_MOST_STARTS, _EFFORT // (1 + 20 * size)))):
        order, crossings = _improve(_make_start(layers, start), up, down, max(4, min(30, _EFFORT // (1 + size))))
        if fewest < 0 or crossings < fewest:
            best, fewest = order, crossings
        if fewest == 0:
            break
    for row, order in zip(layers, best, strict=True):
        row[:] = order


def _make_start(layers, start):
    """Return the given order, its reverse, or a random order with a fixed seed."""
    if start < 2:
        return [row[:: 1 if start == 0 else -1] for row in layers]
    draw = Random(start)
    return [draw.sample(row, len(row)) for row in layers]


def _improve(layers, up, down, n_sweeps):
    """Return the best of `n_sweeps` orders and its number of crossings."""
    position = {v: at for row in layers for at, v in enumerate(row)}
    between = [[(v, w) for v in row for w in down[v]] for row in layers]
    swaps = len(up) <= _SWAP_LIMIT
    best, fewest = [row[:] for row in layers], _total(between, position)
    for sweep in range(n_sweeps):
        near = (up, down)[sweep % 2]
        for row in layers if sweep % 2 == 0 else layers[::-1]:
            _sort_by_barycentre(row, near, position)
        if swaps:
            for row in layers:
                _swap_neighbours(row, up, down, position)
        crossings = _total(between, position)
        if crossings < fewest:
            best, fewest = [row[:] for row in layers], crossings
        if fewest == 0:
            break
    return best, fewest


def _total(between, position):
    return sum(count_crossings(links, position) for links in between)


def _sort_by_barycentre(row, near, position):
    mean = {v: sum(position[u] for u in near[v]) / len(near[v]) if near[v] else position[v] for v in row}
    row.sort(key=mean.get)
    for at, v in enumerate(row):
        position[v] = at


def _swap_neighbours(row, up, down, position):
    for _ in range(10):
        improved = False
        for at in range(len(row) - 1):
            a, b = row[at], row[at + 1]
            if _gain(up[a], up[b], position) + _gain(down[a], down[b], position) > 0:
                row[at], row[at + 1] = b, a
                position[a], position[b] = at + 1, at
                improved = True
        if not improved:
            return


def _gain(near_a, near_b, position):
    """Return the crossings of the links of a and b if a is left of b, minus the crossings if a is right of b."""
    places = [position[v] for v in near_b]
    return sum((position[u] > p) - (position[u] < p) for u in near_a for p in places)
