"""Graphs of finished resamples as arrays of a checkpoint."""

from typing import Any

import numpy as np

from pgmx.graphs.consensus import Marks
from pgmx.graphs.cycles import find_cycle
from pgmx.runs.checkpoint import Snapshot

#: Types of graphs, and whether their edges may be directed or undirected.
_KINDS = {"dag": (True, False), "pdag": (True, True), "graph": (False, True)}

Graph = tuple[str, Marks]


def pack_graphs(graphs: dict[int, Graph]) -> dict[str, Any]:
    """Return the graphs of some resamples, by index, as integers, strings and arrays."""
    marks = [of_one for _, of_one in graphs.values()]
    return {
        "numbers": np.array(list(graphs), dtype=np.int64),
        "kind": next((kind for kind, _ in graphs.values()), ""),
        "sizes": np.array([[len(part) for part in of_one] for of_one in marks], dtype=np.int64).reshape(-1, 2),
        "edges": np.concatenate([np.empty((0, 2), dtype=np.int32), *(part for of_one in marks for part in of_one)]),
    }


def read_graphs(snapshot: Snapshot, n: int) -> dict[int, Graph]:
    """Return the graphs over `n` variables that `pack_graphs` stored in a snapshot."""
    snapshot.check_names(("numbers", "kind", "sizes", "edges"))
    numbers = snapshot.array("numbers", np.int64, (None,), least=0, distinct=True).tolist()
    kind = str(snapshot.value("kind"))
    snapshot.check(kind in _KINDS, f"graphs of an unknown kind ({kind[:20]!r})")
    edges = snapshot.array("edges", np.int32, (None, 2), least=0, most=n - 1)
    sizes = snapshot.array("sizes", np.int64, (len(numbers), 2), least=0, most=len(edges))
    snapshot.check(sizes.sum() == len(edges), "numbers of edges that do not match its edges")
    has_edges = sizes.sum(axis=0) > 0
    snapshot.check((np.array(_KINDS[kind]) | ~has_edges).all(), f"edges that a {kind} cannot have")
    parts = np.split(edges, np.cumsum(sizes.ravel())[:-1])
    graphs = {number: (kind, Marks(*parts[2 * k : 2 * k + 2])) for k, number in enumerate(numbers)}
    for _, marks in graphs.values():
        pairs = np.sort(np.concatenate(marks), axis=1)
        snapshot.check((pairs[:, 0] != pairs[:, 1]).all(), "an edge from a variable to itself")
        snapshot.check(len(np.unique(pairs, axis=0)) == len(pairs), "a pair that is joined twice")
        snapshot.check(find_cycle(n, marks.directed.tolist()) is None, "a cycle")
    return graphs
