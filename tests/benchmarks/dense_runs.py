"""Runs of searches on Gaussian tables in processes of their own, with a limit, their graphs judged by `dense_data`."""

import json
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
from dense_data import Judge, draw

from pgmx.graphs.consensus import make_marks
from pgmx.graphs.equivalence import cpdag
from pgmx.graphs.extension import extend_to_dag

WORKER = Path(__file__).with_name("dense_worker.py")
RESULTS = Path(__file__).with_name("results")


def list_marks(marks):
    """Return the directed and the undirected edges of a matrix of marks."""
    directed = [tuple(edge) for edge in np.argwhere(marks == 1).tolist()]
    undirected = [(u, v) for u, v in np.argwhere(marks == 2).tolist() if u < v]
    return directed, undirected


def make_dag(marks):
    """Return a DAG of a graph with undirected edges as a matrix."""
    directed, undirected = list_marks(marks)
    graph = np.zeros(marks.shape, dtype=bool)
    arcs = extend_to_dag(len(marks), make_marks(directed, undirected)) if undirected else np.array(directed)
    graph[tuple(arcs.reshape(-1, 2).T)] = True
    return graph


def count_class_differences(found, truth):
    """Return the structural Hamming distance of the equivalence classes of two DAGs."""

    def mark(graph):
        directed, undirected = cpdag(len(graph), map(tuple, np.argwhere(graph).tolist()))
        return {frozenset(edge): edge for edge in directed} | {frozenset(edge): None for edge in undirected}

    found, truth = mark(found), mark(truth)
    return sum(found.get(pair, "") != truth.get(pair, "") for pair in found.keys() | truth.keys())


def measure(graph, truth):
    """Return precision and recall of the skeleton, the distance of the classes, and the number of edges."""
    pairs, true_pairs = (np.triu(edges | edges.T) for edges in (graph, truth))
    both = (pairs & true_pairs).sum()
    return {
        "precision": float(both / max(pairs.sum(), 1)),
        "recall": float(both / true_pairs.sum()),
        "shd": count_class_differences(graph, truth),
        "edges": int(pairs.sum()),
    }


def run(cell, seed, solver, options, *, python=sys.executable, limit=200.0, order=None, judge=(1.0, 0.0)):
    """Return the record of one search; `order` permutes the columns, `judge` has the penalty and gamma of the score."""
    rows, truth = draw(cell, seed)
    order = np.arange(cell.n) if order is None else np.random.default_rng([order, cell.n]).permutation(cell.n)
    record = {"cell": cell.name, "seed": seed, "solver": solver, "options": options, "limit": limit}
    with tempfile.TemporaryDirectory() as folder:
        table, answer = Path(folder) / "table.npz", Path(folder) / "answer.npz"
        np.savez(table, rows=rows[:, order])
        command = [python, WORKER, solver, table, answer, json.dumps({**options, "limit": limit})]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode < 0:
            return {**record, "seconds": None}  # ended by its limit of time
        if done.returncode:
            return {**record, "seconds": None, "error": done.stderr.strip().splitlines()[-1][:200]}
        with np.load(answer) as found:
            facts, marks = json.loads(str(found["facts"])), np.zeros_like(found["marks"])
            marks[np.ix_(order, order)] = found["marks"]
    scorer, graph = Judge(rows, *judge), make_dag(marks)
    record["score"], record["gain"] = scorer.score(graph), scorer.score(graph) - scorer.score(truth)
    return {**record, **measure(graph, truth), **facts}


def load_records(path):
    """Return the stored records, none if there is no file."""
    return json.loads(path.read_text()) if path.exists() else []


def save_records(path, records):
    """Store the records, one a line."""
    path.write_text("[\n" + ",\n".join(json.dumps(record) for record in records) + "\n]\n")


def find_record(records, cell, seed, solver, options, **more):
    """Return a stored record of the same search, None if there is none."""
    key = {"cell": cell.name, "seed": seed, "solver": solver, "options": options, **more}
    matches = [record for record in records if all(record.get(name) == value for name, value in key.items())]
    return matches[-1] if matches else None


def print_row(*cells):
    """Print one row of a table."""
    print("| " + " | ".join(str(cell) for cell in cells) + " |", flush=True)
