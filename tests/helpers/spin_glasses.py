"""Grids of spins with random couplings, and what the transfer matrix takes of them."""

import numpy as np

from pgmx.inference import PairwisePotentials


def make_spin_glass(n_rows, n_columns, *, coupling=1.0, field=0.0, random_state=0):
    """Return potentials of spins -1 and 1 with normal couplings and fields of these standard deviations."""
    rng = np.random.default_rng(random_state)
    ids = np.arange(n_rows * n_columns).reshape(n_rows, n_columns)
    edges = [*zip(ids[:, :-1].flat, ids[:, 1:].flat, strict=True), *zip(ids[:-1].flat, ids[1:].flat, strict=True)]
    signs = np.array([[1.0, -1.0], [-1.0, 1.0]])
    tables = {(int(i), int(j)): coupling * rng.normal() * signs for i, j in edges}
    return PairwisePotentials.build([2] * ids.size, list(np.outer(field * rng.normal(size=ids.size), [-1, 1])), tables)


def grid_arguments(potentials, n_rows, n_columns):
    """Return the arguments of `eliminate_grid` for a grid of this size."""
    tables = {tuple(edge): potentials.table(e) for e, edge in enumerate(potentials.edges.tolist())}
    return n_rows, n_columns, [potentials.node(v) for v in range(potentials.n_variables)], tables
