"""Force-directed layout by stress majorization: distances in the drawing follow distances in the graph.

The stress is Σ_{i<j} d_ij^-2 (|x_i - x_j| - d_ij)^2 with d_ij the length of the shortest path; the length of an edge
depends on its two labels. Each step minimises a quadratic majorant of the stress. The start is the classical scaling of
the distances, so that nothing is random. At the end, overlapping boxes are pushed apart.

References
----------
E. Gansner, Y. Koren, S. North (2004), Graph drawing by stress majorization, Graph Drawing, equations 1-9.
"""

from collections.abc import Iterable, Sequence

import numpy as np

from pgmx.plotting.graphs.packing import HEIGHT, Edge, find_components, place_blocks, split_edges

_SHORTEST, _SHORTEST_OF_LARGE = 84.0, 44.0  # length of an edge, in the unit of the widths
_N_STEPS, _TOLERANCE = 150, 1e-4
_N_PUSHES = 120
_LARGE = 300  # above this number of vertices fewer steps are made
_MOST_COVERED = 0.22  # maximum share of the drawing that boxes cover
_GAP = 9.0  # between two boxes
_APART = 2.2  # factor of the length of an edge between two communities
_SMALLEST = 5  # members of a community


def compute_spring_layout(
    widths: Sequence[float], edges: Iterable[Edge], labels: np.ndarray | None = None
) -> np.ndarray:
    """Place vertices with the given widths of their boxes; return the centres, shape (n, 2), from (0, 0) upwards.

    `labels`: communities of the vertices; edges between communities are longer.
    O(n^3) once and O(n^2) per step for the largest component; several arrays of 8 n^2 bytes.
    """
    edges, n = list(edges), len(widths)
    centres = np.zeros((n, 2))
    components = find_components(n, edges)
    blocks = [
        _Block(members, share, widths, np.zeros(n) if labels is None else labels)
        for members, share in zip(components, split_edges(components, edges), strict=True)
        if len(members) > 1
    ]
    place_blocks(blocks, [members[0] for members in components if len(members) == 1], widths, centres)
    for block in blocks:
        centres[block.members] = block.places + block.corner
    return centres


def count_readable(n: int) -> int:
    """Return the maximum number of edges over n vertices in a readable drawing."""
    return 2 * n + 20


def compute_circular_layout(widths: Sequence[float]) -> np.ndarray:
    """Place vertices on a circle, from the top, clockwise, in their order."""
    n, sizes = len(widths), np.asarray(widths, dtype=float)
    radius = max(120.0, n * (HEIGHT + 22.0) / np.pi, 1.2 * (sizes.sum() + 14.0 * n) / (2 * np.pi))
    angles = np.pi / 2 - 2 * np.pi * np.arange(n) / n
    places = push_apart(radius * np.column_stack([1.3 * np.cos(angles), np.sin(angles)]), sizes)
    return places - (places - np.column_stack([sizes / 2, np.full(n, HEIGHT / 2)])).min(axis=0)


def find_communities(n: int, edges: Iterable[Edge], smallest: int = _SMALLEST) -> np.ndarray:
    """Return the community of each vertex, the largest is 0; -1 for vertices of small ones.

    Louvain's method (Blondel et al. 2008), by networkx with a fixed seed.
    """
    import networkx as nx

    graph = nx.empty_graph(n)
    graph.add_edges_from(edges)
    groups = sorted(
        (sorted(group) for group in nx.community.louvain_communities(graph, seed=0)), key=lambda g: (-len(g), g)
    )
    labels = np.full(n, -1)
    for label, group in enumerate(groups):
        if len(group) >= smallest:
            labels[group] = label
    return labels


class _Block:
    """One connected component; `places` are relative to its upper left corner."""

    def __init__(
        self, members: Sequence[int], edges: Sequence[Edge], widths: Sequence[float], labels: np.ndarray
    ) -> None:
        self.members = np.array(members)
        at = {v: k for k, v in enumerate(members)}
        ends = np.array([(at[u], at[v]) for u, v in edges])
        sizes = np.array([widths[v] for v in members])
        places = reduce_stress(*_measure_distances(labels[self.members], ends, sizes))
        places = push_apart(_scale_up(rotate_flat(places), sizes), sizes)
        half = np.column_stack([sizes / 2, np.full(len(sizes), HEIGHT / 2)])
        left, low = (places - half).min(axis=0)
        right, high = (places + half).max(axis=0)
        self.width, self.height = float(right - left), float(high - low)
        self.places = places - (left, high)
        self.corner = (0.0, 0.0)


def _measure_distances(labels: np.ndarray, ends: np.ndarray, sizes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the target distances of all pairs, from shortest paths, and their weights.

    An edge is longer if its ends have many neighbours that they do not share, which spreads dense regions.
    """
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import shortest_path

    n = len(labels)
    joined = np.zeros((n, n), dtype=bool)
    joined[ends[:, 0], ends[:, 1]] = joined[ends[:, 1], ends[:, 0]] = True
    np.fill_diagonal(joined, False)
    degree = joined.sum(axis=1)
    common = joined[ends[:, 0]] & joined[ends[:, 1]]
    apart = degree[ends[:, 0]] + degree[ends[:, 1]] - 2 * common.sum(axis=1)
    spans = (sizes[ends[:, 0]] + sizes[ends[:, 1]]) / 2
    shortest = _SHORTEST if n <= _LARGE else _SHORTEST_OF_LARGE
    length = np.maximum(shortest, 0.8 * spans) * np.maximum(1.0, np.sqrt(apart / 6.0))
    length = np.where(labels[ends[:, 0]] == labels[ends[:, 1]], length, _APART * length)
    graph = coo_array((length, (ends[:, 0], ends[:, 1])), shape=(n, n)).tocsr()
    distance = shortest_path(graph, directed=False)
    weight = np.zeros_like(distance)
    np.divide(1.0, distance**2, out=weight, where=distance > 0)
    return distance, weight


def reduce_stress(distance: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """Return positions that minimise the stress; the start is classical scaling."""
    from scipy.linalg import cho_factor, cho_solve

    n = len(distance)
    places = _scale_classically(distance)
    if n < 3:
        return places
    laplacian = -weight
    np.fill_diagonal(laplacian, weight.sum(axis=1))
    factor = cho_factor(laplacian[1:, 1:])  # the first vertex does not move
    stress = np.inf
    for _ in range(_N_STEPS if n <= _LARGE else _N_STEPS // 4):
        spans = np.hypot(*(places[:, None] - places[None]).transpose(2, 0, 1))
        last, stress = stress, float((weight * (spans - distance) ** 2).sum())
        if last - stress <= _TOLERANCE * stress:
            break
        pull = np.divide(weight * distance, spans, out=np.zeros_like(spans), where=spans > 1e-9)
        right = -pull
        np.fill_diagonal(right, pull.sum(axis=1))
        places = np.vstack([np.zeros(2), cho_solve(factor, (right @ places)[1:])])
    return places


def _scale_classically(distance: np.ndarray) -> np.ndarray:
    """Return the first two principal coordinates of the distances, with fixed signs."""
    squares = -0.5 * distance**2
    centred = squares - squares.mean(axis=0) - squares.mean(axis=1)[:, None] + squares.mean()
    values, vectors = np.linalg.eigh(centred)
    places = (vectors[:, -2:] * np.sqrt(np.maximum(values[-2:], 0.0)))[:, ::-1]
    # An eigenvector has no sign of its own: its largest entry is positive, on every machine.
    places *= np.where(places[np.abs(places).argmax(axis=0), np.arange(places.shape[1])] < 0, -1.0, 1.0)
    # vertices with equal distances must not lie on one point: small steps in directions by the golden angle
    angles = 2.399963 * np.arange(len(distance))
    return places + 0.05 * _SHORTEST * np.column_stack([np.cos(angles), np.sin(angles)])


def rotate_flat(places: np.ndarray) -> np.ndarray:
    """Rotate the drawing so that its longest extent is horizontal."""
    centred = places - places.mean(axis=0)
    _, axes = np.linalg.eigh(centred.T @ centred)
    turned = centred @ axes[:, ::-1]
    return turned * np.where(turned[np.abs(turned).argmax(axis=0), [0, 1]] < 0, -1.0, 1.0)


def _scale_up(places: np.ndarray, sizes: np.ndarray) -> np.ndarray:
    """Scale the drawing up until the boxes cover at most a fixed share of it."""
    extent = np.ptp(places, axis=0)
    area = np.prod(np.maximum(extent, max(HEIGHT, extent.max() / 2)))  # the height of a path is near 0 at any scale
    covered = ((sizes + _GAP) * (HEIGHT + _GAP)).sum() / area
    return places * max(1.0, np.sqrt(covered / _MOST_COVERED))


def push_apart(
    places: np.ndarray,
    sizes: np.ndarray,
    heights: np.ndarray | float = HEIGHT,
    gap: float = _GAP,
    n_steps: int | None = None,
) -> np.ndarray:
    """Move overlapping boxes apart along the axis of the smaller overlap, each box by half of the overlap."""
    places = places.copy()
    tall = np.broadcast_to(heights, len(sizes))
    width = (sizes[:, None] + sizes[None]) / 2 + gap
    height = (tall[:, None] + tall[None]) / 2 + gap
    least = gap / 18  # so that a step is not too small to end
    for _ in range(n_steps or (_N_PUSHES if len(sizes) <= _LARGE else _N_PUSHES // 4)):
        dx, dy = (places[:, None, k] - places[None, :, k] for k in (0, 1))
        over_x, over_y = width - np.abs(dx), height - np.abs(dy)
        overlaps = (over_x > 1e-6) & (over_y > 1e-6)
        np.fill_diagonal(overlaps, False)
        if not overlaps.any():
            break
        # boxes with the same centre are moved apart in their order
        order = np.sign(np.arange(len(sizes))[:, None] - np.arange(len(sizes))[None])
        along_x = overlaps & (over_x < over_y)
        for k, (chosen, over, difference) in enumerate(((along_x, over_x, dx), (overlaps & ~along_x, over_y, dy))):
            side = np.where(difference == 0, order, np.sign(difference))
            # 0.6: a box between two others gets both moves at once
            places[:, k] += np.where(chosen, side * (over / 2 + least), 0.0).sum(axis=1) * 0.6
    return places
