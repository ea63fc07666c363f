"""Networks for the benchmark of inference: grids, random 3-regular graphs, and networks learned from real tables."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from pgmx.estimators import OnlineEdgeGrafting
from pgmx.inference import PairwisePotentials

LAM = 0.005
#: Tables of the learned networks; a column `split` says which rows are to be learned from.
FILES = {
    "nltcs": "density_nltcs.parquet",
    "plants": "plants.parquet",
    "dna": "density_dna.parquet",
    "jester": "jester5_complete.parquet",
}


@dataclass
class Problem:
    """A network by name."""

    name: str
    potentials: PairwisePotentials


def spin_glass(name, n, edges, coupling, seed=0):
    """Return a network of spins ±1: couplings of standard deviation `coupling`, fields of 0.1."""
    rng = np.random.default_rng(seed)
    tables = {}
    for i, j in edges:
        w = rng.normal() * coupling
        tables[i, j] = [[w, -w], [-w, w]]
    fields = rng.normal(size=n) * 0.1
    return Problem(name, PairwisePotentials.build([2] * n, np.column_stack([fields, -fields]), tables))


def grid(n, coupling, seed=0):
    """Return a spin glass on n x n cells."""
    at = np.arange(n * n).reshape(n, n)
    edges = [
        *zip(at[:, :-1].ravel(), at[:, 1:].ravel(), strict=True),
        *zip(at[:-1].ravel(), at[1:].ravel(), strict=True),
    ]
    return spin_glass(f"grid {n} x {n}, {coupling}", n * n, [(int(i), int(j)) for i, j in edges], coupling, seed)


def regular(n, coupling, seed=0):
    """Return a spin glass on a random 3-regular graph."""
    import networkx as nx

    edges = sorted(tuple(sorted(edge)) for edge in nx.random_regular_graph(3, n, seed=seed).edges)
    return spin_glass(f"3-regular {n}, {coupling}", n, edges, coupling, seed)


def sparse(n, n_edges, coupling, seed=0):
    """Return a random graph of variables with three states, tables of standard deviation `coupling`."""
    import networkx as nx

    rng = np.random.default_rng(seed)
    graph = nx.gnm_random_graph(n, n_edges, seed=seed)
    tables = {tuple(sorted(edge)): rng.normal(size=(3, 3)) * coupling for edge in graph.edges}
    nodes = rng.normal(size=(n, 3)) * 0.1
    return Problem(f"random {n} of 3 states, {coupling}", PairwisePotentials.build([3] * n, nodes, tables))


def list_fresh_problems(seeds):
    """Yield networks of each family on which the coverage of marginals' error estimates is checked."""
    for coupling in (0.25, 0.5, 0.75, 1.0):
        yield from (grid(10, coupling, seed) for seed in seeds)
    for coupling in (0.25, 0.5, 1.0):
        yield from (regular(50, coupling, seed) for seed in seeds)
    for coupling in (0.5, 1.0):
        yield from (sparse(60, 90, coupling, seed) for seed in seeds)


def learned(name, folder):
    """Return the network that grafting learns from a real table at λ = 0.005."""
    import pandas as pd

    rows = pd.read_parquet(Path(folder) / FILES[name])
    if "split" in rows:
        rows = rows[rows.pop("split") == "train"]
    return Problem(name, OnlineEdgeGrafting(lam=LAM).fit(rows).model_.potentials)
