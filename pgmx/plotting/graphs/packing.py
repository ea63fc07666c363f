"""Placement of separately laid out connected components side by side, with isolated vertices in rows below."""

from collections.abc import Iterable, Sequence
from typing import Protocol

import numpy as np

HEIGHT = 18.0  # of a node, in the unit of the widths
LAYER_GAP = 38.0  # between the boxes of two layers, at least
NODE_GAP = 16.0  # between the boxes of one layer

Edge = tuple[int, int]


class Block(Protocol):
    """A connected component with its own coordinates; `corner` is the position of its upper left corner."""

    width: float
    height: float
    corner: tuple[float, float]


def find_components(n: int, edges: Sequence[Edge]) -> list[list[int]]:
    """Return the vertices of each connected component, sorted, the components by their smallest vertex."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    ends = np.array(edges, dtype=np.int64).reshape(-1, 2).T
    graph = coo_array((np.ones(len(edges)), (ends[0], ends[1])), shape=(n, n))
    members: dict[int, list[int]] = {}
    for v, label in enumerate(connected_components(graph, directed=False)[1].tolist()):
        members.setdefault(label, []).append(v)
    return list(members.values())


def split_edges(components: Sequence[Sequence[int]], edges: Iterable[Edge]) -> list[list[Edge]]:
    """Return the edges of each component, in their order."""
    component_of = {v: at for at, members in enumerate(components) for v in members}
    shares: list[list[Edge]] = [[] for _ in components]
    for edge in edges:
        shares[component_of[edge[0]]].append(edge)
    return shares


def place_blocks(
    blocks: Sequence[Block], isolated: Sequence[int], widths: Sequence[float], centres: np.ndarray
) -> None:
    """Set the corner of each block, and write the centres of isolated vertices."""
    # A row is as wide as the widest block at least; otherwise the picture is about 1.6 times wider than high.
    row_width = max([(1.6 * sum(b.width * b.height for b in blocks)) ** 0.5, 400.0, *(b.width for b in blocks)])
    floor = _place_isolated(isolated, widths, row_width, centres)
    _fill_shelves(blocks, row_width, floor + LAYER_GAP if isolated else 0.0)


def _place_isolated(isolated: Iterable[int], widths: Sequence[float], row_width: float, centres: np.ndarray) -> float:
    """Place isolated vertices in rows, the last one at the bottom of the picture; return the height of the rows."""
    rows: list[list[int]] = []
    x = 0.0
    for v in isolated:
        if not rows or x + widths[v] > row_width:
            rows.append([])
            x = 0.0
        centres[v, 0] = x + widths[v] / 2
        rows[-1].append(v)
        x += widths[v] + NODE_GAP
    for at, row in enumerate(reversed(rows)):
        centres[row, 1] = HEIGHT / 2 + at * (HEIGHT + NODE_GAP)
    return len(rows) * (HEIGHT + NODE_GAP) - NODE_GAP


def _fill_shelves(blocks: Iterable[Block], row_width: float, floor: float) -> None:
    """Set the upper left corner of each block, the tallest first, on shelves filled from the left."""
    shelves: list[list[tuple[Block, float]]] = []
    x = 0.0
    for block in sorted(blocks, key=lambda b: -b.height):
        if not shelves or x + block.width > row_width:
            shelves.append([])
            x = 0.0
        shelves[-1].append((block, x))
        x += block.width + 3 * NODE_GAP
    for shelf in reversed(shelves):
        floor += shelf[0][0].height
        for block, x in shelf:
            block.corner = (x, floor)
        floor += LAYER_GAP
