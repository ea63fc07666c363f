"""The cells of quality.py: samples of bundled networks, also of fewer rows, and real tables; how far graphs are off."""

import json
from pathlib import Path

import networkx as nx
import numpy as np
from intervention_distance import intervention_distance

import data

ROWS = 10_000
#: Real tables, as files of one column a variable of codes from 0: (file, column that is no variable).
TABLES = {
    "mushrooms": ("density_mushrooms.parquet", "split"),
    "jester": ("jester5_complete.parquet", None),
    "plants": ("plants.parquet", None),
}
#: Most variables for which the structural intervention distance is computed.
MOST_FOR_INTERVENTIONS = 60


def make(folder, cell, tables):
    """Store the table of a cell once and return the path; None for a real table that does not lie in `tables`.

    A cell is a network, ``"munin1"``, the same with thousands of rows, ``"munin1-1k"``, or a name of `TABLES`.
    """
    if cell not in TABLES:
        network, _, thousands = cell.partition("-")
        return data.make(folder, network, int(thousands.rstrip("k")) * 1_000 if thousands else ROWS)
    file, other = TABLES[cell]
    if tables is None or not (Path(tables) / file).exists():
        return None
    import pandas as pd

    path = Path(folder) / f"{cell}.npz"
    if not path.exists():
        frame = pd.read_parquet(Path(tables) / file).drop(columns=other or [])
        codes = frame.to_numpy(dtype=np.uint8).T
        names = [str(name) for name in frame.columns]
        states = [[str(state) for state in range(int(column.max()) + 1)] for column in codes]
        path.parent.mkdir(parents=True, exist_ok=True)
        np.savez(path, codes=codes, description=json.dumps({"names": names, "states": states, "edges": []}))
    return path


def has_truth(cell):
    """Return whether the table was sampled from a network."""
    return cell not in TABLES


def distances(n, true_edges, edges):
    """Return the distance of the equivalence classes and, of few variables, the structural intervention distance."""
    from pgmx.metrics import cpdag_shd

    graphs = []
    for arcs in (true_edges, edges):
        graph = nx.DiGraph()
        graph.add_nodes_from(range(n))
        graph.add_edges_from(arcs)
        graphs.append(graph)
    far = {"shd": cpdag_shd(*graphs)}
    if n <= MOST_FOR_INTERVENTIONS:
        far["sid"] = intervention_distance(n, true_edges, edges)
    return far
