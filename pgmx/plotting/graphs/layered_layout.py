"""Layered layout of a graph with integer vertices.

The method of Sugiyama: orient every edge along one order of the vertices, assign the vertices to layers by longest
path, cut edges that span several layers by bend points, reduce crossings by barycentre sweeps and swaps of neighbours,
then choose the x coordinates of each layer by least squares under minimal distances. Connected components are laid out
one by one and packed in shelves; isolated vertices are in separate rows below. There is no randomness and no iteration
over sets, so the picture of a graph is always the same.

References
----------
K. Sugiyama, S. Tagawa, M. Toda (1981), Methods for visual understanding of hierarchical system structures.
E. Gansner, E. Koutsofios, S. North, K. Vo (1993), A technique for drawing directed graphs.
"""

from bisect import bisect_right, insort
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from random import Random

import numpy as np

from pgmx.plotting.graphs.packing import HEIGHT, LAYER_GAP, NODE_GAP, Edge, find_components, place_blocks, split_edges

MOST_IN_LAYERS = 300  # maximum vertices of a readable drawing
BEND_WIDTH = 4.0
WIDEST_GAP, FLATTEST = 140.0, 2.2  # a component with a higher ratio of width to height gets wider gaps, up to a limit
MAX_BENDS = 6000  # above this number long edges are drawn straight
_STRAIGHTNESS = (1.0, 2.0, 8.0)  # weight of an edge with 0, 1, 2 ends that are bends
_EFFORT = 250_000  # about the number of points and links visited by all sweeps together
_MOST_STARTS = 16  # orders that the sweeps begin with
_SWAP_LIMIT = 600  # points above which swapping neighbours is left out
Bends = dict[Edge, np.ndarray]


def compute_layout(
    widths: Sequence[float], directed: Iterable[Edge], undirected: Iterable[Edge] = ()
) -> tuple[np.ndarray, Bends]:
    """Place vertices with the given widths of their boxes in layers and route the edges between them.

    `directed` are arrows (tail, head), which point down unless there is a cycle; `undirected` are pairs. Return the
    centres, shape (n, 2), y upwards from the lower left corner (0, 0), and the inner points ``bends[u, v]``, shape
    (k, 2), of edges that span layers, in the given direction of each pair.
    """
    directed, undirected = list(directed), list(undirected)
    n = len(widths)
    centres = np.zeros((n, 2))
    bends: Bends = {}
    components = find_components(n, [*directed, *undirected])
    shares = zip(components, split_edges(components, directed), split_edges(components, undirected), strict=True)
    blocks = [_Block(members, arrows, pairs, widths) for members, arrows, pairs in shares if len(members) > 1]
    isolated = [members[0] for members in components if len(members) == 1]
    place_blocks(blocks, isolated, widths, centres)
    for block in blocks:
        block.write(centres, bends)
    return centres, bends


class _Block:
    """One connected component with its own coordinates and its position in the picture."""

    def __init__(self, members: list[int], arrows: list[Edge], pairs: list[Edge], widths: Sequence[float]) -> None:
        order = order_downwards(members, arrows, pairs)
        rank = {v: at for at, v in enumerate(order)}
        self.edges = [(u, v) if rank[u] < rank[v] else (v, u) for u, v in [*arrows, *pairs]]
        self.pairs = [*arrows, *pairs]
        layer = assign_layers(order, sorted(set(self.edges)))
        self.members = members
        self.chains, chain_layer = _cut_chains(self.edges, layer, first_bend=len(widths))
        self.layers: list[list[int]] = [[] for _ in range(1 + max(layer.values()))]
        for v, at in [*((v, layer[v]) for v in order), *chain_layer.items()]:
            self.layers[at].append(v)
        links = [link for chain in self.chains for link in pairwise(chain)]
        order_layers(self.layers, links)
        self.x = _compute_abscissae(self.layers, links, chain_layer, widths)
        half = {v: (BEND_WIDTH if v in chain_layer else widths[v]) / 2 for v in self.x}
        self.left = min(self.x[v] - half[v] for v in self.x)
        self.width = max(self.x[v] + half[v] for v in self.x) - self.left
        steps = len(self.layers) - 1
        gap = max(LAYER_GAP, min(WIDEST_GAP, (self.width / FLATTEST - HEIGHT) / steps - HEIGHT))
        self.height = steps * (HEIGHT + gap) + HEIGHT
        self.y = {v: -at * (HEIGHT + gap) - HEIGHT / 2 for at, row in enumerate(self.layers) for v in row}
        self.corner = (0.0, 0.0)

    def write(self, centres: np.ndarray, bends: Bends) -> None:
        """Add the positions of vertices and bend points to the picture."""
        dx, dy = self.corner[0] - self.left, self.corner[1]
        for v in self.members:
            centres[v] = self.x[v] + dx, self.y[v] + dy
        for edge, pair, chain in zip(self.edges, self.pairs, self.chains, strict=True):
            route = [(self.x[v] + dx, self.y[v] + dy) for v in chain[1:-1]]
            if route:
                bends[pair] = np.array(route if edge == pair else route[::-1])


# ---- layers ----


def order_downwards(members: Sequence[int], arrows: Iterable[Edge], pairs: Iterable[Edge]) -> list[int]:
    """Order the vertices so that arrows point forward; neighbours of placed vertices come first, cycles are cut."""
    children: dict[int, list[int]] = {v: [] for v in members}
    neighbours: dict[int, list[int]] = {v: [] for v in members}
    waiting = dict.fromkeys(members, 0)
    for u, v in arrows:
        children[u].append(v)
        waiting[v] += 1
    for u, v in pairs:
        neighbours[u].append(v)
        neighbours[v].append(u)
    unplaced = dict.fromkeys(members)
    touched = dict.fromkeys(members, 0)
    order = []
    while unplaced:
        # Fewest unplaced parents (0 unless only cycles are left), then most placed neighbours, then the given order.
        v = min(unplaced, key=lambda v: (waiting[v], -touched[v]))
        del unplaced[v]
        order.append(v)
        for child in children[v]:
            waiting[child] -= 1
        for neighbour in neighbours[v]:
            touched[neighbour] += 1
    return order


def assign_layers(order: Sequence[int], edges: Sequence[Edge]) -> dict[int, int]:
    """Return the layers that minimise the total length of the edges; in `order` tails come before heads.

    A linear programme with a totally unimodular matrix; the longest paths if the solver fails.
    """
    from scipy.optimize import linprog
    from scipy.sparse import coo_array

    at = {v: i for i, v in enumerate(order)}
    tail = np.array([at[u] for u, _ in edges])
    head = np.array([at[v] for _, v in edges])
    longest = np.zeros(len(order))
    for u, v in sorted(zip(tail.tolist(), head.tolist(), strict=True)):
        longest[v] = max(longest[v], longest[u] + 1)
    row = np.arange(len(edges))
    steps = coo_array(
        (np.repeat([1.0, -1.0], len(edges)), (np.tile(row, 2), np.concatenate([tail, head]))),
        shape=(len(edges), len(order)),
    )
    cost = np.bincount(head, minlength=len(order)) - np.bincount(tail, minlength=len(order))
    # The small constant breaks ties towards the top.
    solution = linprog(
        cost + 1e-4, A_ub=steps.tocsr(), b_ub=-np.ones(len(edges)), bounds=(0, longest.max()), method="highs-ds"
    )
    layer = np.rint(solution.x).astype(int) if solution.success else longest.astype(int)
    return {v: int(layer[i]) for v, i in at.items()}


def _cut_chains(
    edges: Sequence[Edge], layer: Mapping[int, int], first_bend: int
) -> tuple[list[list[int]], dict[int, int]]:
    """Cut every edge into steps of one layer; bend points are numbered from `first_bend`."""
    if sum(layer[v] - layer[u] - 1 for u, v in edges) > MAX_BENDS:
        return [[u, v] for u, v in edges], {}
    chains: list[list[int]] = []
    chain_layer: dict[int, int] = {}
    for u, v in edges:
        inner = range(first_bend + len(chain_layer), first_bend + len(chain_layer) + layer[v] - layer[u] - 1)
        for at, bend in enumerate(inner, start=layer[u] + 1):
            chain_layer[bend] = at
        chains.append([u, *inner, v])
    return chains, chain_layer


# ---- crossings ----


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
        order, crossings = _improve_order(_make_start(layers, start), up, down, max(4, min(30, _EFFORT // (1 + size))))
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


def _improve_order(layers, up, down, n_sweeps):
    """Return the best of `n_sweeps` orders and its number of crossings."""
    position = {v: at for row in layers for at, v in enumerate(row)}
    between = [[(v, w) for v in row for w in down[v]] for row in layers]
    swaps = len(up) <= _SWAP_LIMIT
    best, fewest = [row[:] for row in layers], _count_all_crossings(between, position)
    for sweep in range(n_sweeps):
        near = (up, down)[sweep % 2]
        for row in layers if sweep % 2 == 0 else layers[::-1]:
            _sort_by_barycentre(row, near, position)
        if swaps:
            for row in layers:
                _swap_neighbours(row, up, down, position)
        crossings = _count_all_crossings(between, position)
        if crossings < fewest:
            best, fewest = [row[:] for row in layers], crossings
        if fewest == 0:
            break
    return best, fewest


def _count_all_crossings(between, position):
    return sum(count_crossings(links, position) for links in between)


def _sort_by_barycentre(row, near, position):
    mean = {v: sum(position[u] for u in near[v]) / len(near[v]) if near[v] else position[v] for v in row}
    row.sort(key=mean.get)
    for at, v in enumerate(row):
        position[v] = at


def _swap_neighbours(row, up, down, position):
    for _ in range(10):  # each swap removes crossings, so that this ends; the limit bounds the time
        improved = False
        for at in range(len(row) - 1):
            a, b = row[at], row[at + 1]
            if _compute_gain(up[a], up[b], position) + _compute_gain(down[a], down[b], position) > 0:
                row[at], row[at + 1] = b, a
                position[a], position[b] = at + 1, at
                improved = True
        if not improved:
            return


def _compute_gain(near_a, near_b, position):
    """Return the crossings of the links of a and b if a is left of b, minus the crossings if a is right of b."""
    places = [position[v] for v in near_b]
    return sum((position[u] > p) - (position[u] < p) for u in near_a for p in places)


# ---- x coordinates ----


def _compute_abscissae(
    layers: list[list[int]], links: Iterable[Edge], is_bend: Mapping[int, int], widths: Sequence[float]
) -> dict[int, float]:
    """Return the x of every point by sweeps of weighted least squares towards neighbours, with minimal distances."""
    size = {v: BEND_WIDTH if v in is_bend else widths[v] for row in layers for v in row}
    up: dict[int, list[tuple[int, float]]] = {v: [] for v in size}
    down: dict[int, list[tuple[int, float]]] = {v: [] for v in size}
    for u, v in links:
        weight = _STRAIGHTNESS[(u in is_bend) + (v in is_bend)]
        up[v].append((u, weight))
        down[u].append((v, weight))
    x: dict[int, float] = {}
    for row in layers:
        x.update(zip(row, _place_row(np.zeros(len(row)), np.ones(len(row)), [size[v] for v in row]), strict=True))
    both = {v: up[v] + down[v] for v in size}
    for sweep in range(24):
        # Down and up in turn move whole layers; the last sweeps balance the neighbours on both sides.
        near = both if sweep >= 16 else (up, down)[sweep % 2]
        for row in layers if sweep % 2 == 0 else layers[::-1]:
            weights = [sum(w for _, w in near[v]) for v in row]
            pulls = [sum(w * x[u] for u, w in near[v]) for v in row]
            target = np.array([p / w if w else x[v] for v, p, w in zip(row, pulls, weights, strict=True)])
            placed = _place_row(target, np.maximum(weights, 0.1), [size[v] for v in row])
            x.update(zip(row, placed, strict=True))
    return x


def _place_row(target: np.ndarray, weight: np.ndarray, size: Sequence[float]) -> np.ndarray:
    """Minimise sum weight*(x - target)^2 with ordered boxes at distance NODE_GAP (pool adjacent violators)."""
    half = np.asarray(size) / 2
    offset = np.concatenate([[0.0], np.cumsum(half[1:] + half[:-1] + NODE_GAP)])
    pools: list[tuple[float, float, int]] = []
    for value, w in zip(target - offset, weight, strict=True):
        pools.append((value, w, 1))
        while len(pools) > 1 and pools[-2][0] > pools[-1][0]:
            (a, wa, ka), (b, wb, kb) = pools[-2:]
            pools[-2:] = [((a * wa + b * wb) / (wa + wb), wa + wb, ka + kb)]
    return np.repeat([p[0] for p in pools], [p[2] for p in pools]) + offset
