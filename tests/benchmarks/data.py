"""The problems: rows sampled from the networks bundled with pgmpy, in a column order that a seed decides."""

import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np

NETWORKS = ("alarm", "hailfinder", "win95pts", "andes", "pigs", "link")
ROWS = (1_000, 10_000, 100_000)
ALARM_ROWS = (*ROWS, 1_000_000)
SAMPLE_SEED = 0  # the rows of a (network, n_rows) are always the same; only the column order changes


@dataclass
class Problem:
    """A table in permuted column order, and the edges of the network it was sampled from."""

    names: list
    states: dict  # every declared state, also those that no row has
    codes: np.ndarray  # (n_variables, n_rows): codes[v, i] indexes states[names[v]]
    true_edges: list  # (tail, head) ids
    permutation: list  # names[v] is the network's variable number permutation[v]

    @property
    def cards(self):
        return np.array([len(self.states[name]) for name in self.names])

    def frame(self, n_rows=None, n_columns=None):
        """Return a new pandas frame of category columns which declare all states."""
        import pandas as pd

        return pd.DataFrame(
            {
                name: pd.Categorical.from_codes(self.codes[v, :n_rows], categories=self.states[name])
                for v, name in enumerate(self.names[:n_columns])
            }
        )


def make(folder, network, n_rows):
    """Sample the table once and store it under ``folder``; return the path."""
    path = Path(folder) / f"{network}-{n_rows}-{SAMPLE_SEED}.npz"
    if path.exists():
        return path
    from pgmx.datasets import load_network, sample

    model = load_network(network)
    table = sample(model, n_rows, random_state=SAMPLE_SEED)
    description = {
        "names": list(table.columns),
        "states": [[str(state) for state in table[name].cat.categories] for name in table.columns],
        "edges": sorted((str(tail), str(head)) for tail, head in model.edges()),
    }
    codes = np.stack([table[name].cat.codes.to_numpy() for name in table.columns])
    path.parent.mkdir(parents=True, exist_ok=True)
    np.savez(path, codes=codes, description=json.dumps(description))
    return path


def load(path, seed):
    """Return the stored table with its columns in the order that ``seed`` decides."""
    with np.load(path) as stored:
        codes, description = stored["codes"], json.loads(str(stored["description"]))
    permutation = np.random.default_rng(seed).permutation(len(codes))
    names = [description["names"][v] for v in permutation]
    place = {name: v for v, name in enumerate(names)}
    return Problem(
        names=names,
        states={description["names"][v]: description["states"][v] for v in permutation},
        codes=np.ascontiguousarray(codes[permutation]),
        true_edges=[(place[tail], place[head]) for tail, head in description["edges"]],
        permutation=permutation.tolist(),
    )
