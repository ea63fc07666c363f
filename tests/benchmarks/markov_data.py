"""The problems for learners of Markov networks: rows sampled from random networks, and real tables."""

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path

import markov_objective
import numpy as np

ROWS = 20_000
HELD_OUT = 1_000
SCALE = (20_000, 4, 2_500)  # variables, states, rows; 500 more rows are held out

#: The real tables: file in the folder given with --real, penalty, and what it is.
REAL = {
    "jester": ("jester5_complete.parquet", "100 jokes rated in 5 levels by 7,200 users who rated all"),
    "yummly": ("yummly_min150_10k.parquet", "489 ingredients in 10,000 recipes, binary"),
    "plants": ("plants.parquet", "34,781 plants, present or not in 70 states and provinces, binary"),
}


@dataclass
class Problem:
    """Coded rows to learn from and rows held out; codes are (n_variables, rows), every state from 0 on is declared."""

    name: str
    cards: np.ndarray
    codes: np.ndarray
    held_out: np.ndarray
    true_edges: np.ndarray | None
    truth: markov_objective.Network | None
    facts: dict

    def table(self):
        """Return a new coded table for pgmx."""
        from pgmx.data import DiscreteTable

        names = [f"x{v}" for v in range(len(self.cards))]
        return DiscreteTable(names, [list(range(card)) for card in self.cards.tolist()], self.codes)


def make_synthetic(folder, n, n_states=5, rows=ROWS, held_out=HELD_OUT, **sampling):
    """Sample rows of a preferential-attachment network as in appendix C of the paper; store them, return the path.

    2n - 4 edges, node parameters of deviation 0.5, edge parameters of deviation 1, one Gibbs chain with 1,000 sweeps
    before the first row and 10 between rows. 1,000 rows drawn at random are held out.
    """
    path = Path(folder) / f"markov-{n}-{n_states}-{rows}.npz"
    if path.exists():
        return path
    from pgmx.datasets import preferential_attachment_network, sample_markov_network

    network = preferential_attachment_network(n, n_states, random_state=0)
    table = sample_markov_network(network, rows, random_state=1, **sampling)
    order = np.random.default_rng(0).permutation(rows)
    codes = np.asarray(table.codes)[:, order]
    truth = network.potentials
    facts = {"variables": n, "states": n_states, "rows": rows - held_out, "held_out": held_out, **sampling}
    path.parent.mkdir(parents=True, exist_ok=True)
    np.savez(
        path,
        codes=codes[:, held_out:],
        held_out=codes[:, :held_out],
        cards=truth.cardinalities,
        edges=truth.edges,
        node_values=truth.node_values,
        edge_values=truth.edge_values,
        facts=json.dumps(facts),
    )
    return path


def make_real(folder, name, source):
    """Store a real table with a tenth of its rows, drawn at random, held out; return the path."""
    file, text = REAL[name]
    path = Path(folder) / f"markov-{name}.npz"
    if path.exists():
        return path
    import pandas as pd

    raw = Path(source) / file
    codes = np.ascontiguousarray(pd.read_parquet(raw).to_numpy(dtype=np.uint8).T)
    codes = codes[:, np.random.default_rng(0).permutation(codes.shape[1])]
    cut = codes.shape[1] // 10
    cards = codes.max(axis=1).astype(np.int64) + 1
    facts = {"text": text, "sha256": hashlib.sha256(raw.read_bytes()).hexdigest(), "variables": len(cards)}
    facts |= {"states": int(cards.max()), "rows": codes.shape[1] - cut, "held_out": cut}
    path.parent.mkdir(parents=True, exist_ok=True)
    np.savez(path, codes=codes[:, cut:], held_out=codes[:, :cut], cards=cards, facts=json.dumps(facts))
    return path


def load(path):
    """Return a stored problem."""
    with np.load(path) as stored:
        arrays = {name: stored[name] for name in stored.files}
    cards, truth, edges = arrays["cards"], None, arrays.get("edges")
    if edges is not None:
        nodes = np.split(arrays["node_values"], np.cumsum(cards)[:-1])
        sizes = cards[edges[:, 0]] * cards[edges[:, 1]]
        flat = np.split(arrays["edge_values"], np.cumsum(sizes)[:-1])
        tables = [part.reshape(cards[i], cards[j]) for part, (i, j) in zip(flat, edges.tolist(), strict=True)]
        truth = markov_objective.Network(nodes, edges, tables)
    return Problem(
        name=Path(path).stem.removeprefix("markov-"),
        cards=cards,
        codes=np.ascontiguousarray(arrays["codes"]),
        held_out=np.ascontiguousarray(arrays["held_out"]),
        true_edges=edges,
        truth=truth,
        facts=json.loads(str(arrays["facts"])),
    )
