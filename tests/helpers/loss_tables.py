"""Small coded tables of dependent columns, and losses over them."""

import itertools

import numpy as np

from pgmx.data import DiscreteTable
from pgmx.statistics import PairTables


def coded(codes, cards):
    names = [f"x{v}" for v in range(len(cards))]
    return DiscreteTable(names, [tuple(range(r)) for r in cards], codes)


def dependent_codes(rng, cards, n_rows=400):
    """Columns that share a hidden state."""
    hidden = rng.integers(0, 6, n_rows)
    return np.stack([np.where(rng.random(n_rows) < 0.5, hidden % r, rng.integers(0, r, n_rows)) for r in cards]).astype(
        np.uint8
    )


def make(kind, codes, cards, **options):
    table = coded(codes, cards)
    return kind(table, PairTables(table), **{"lam": 0.02, "l2": 0.01, **options})


def all_pairs(n):
    return np.array(list(itertools.combinations(range(n), 2)), dtype=np.int64).reshape(-1, 2)


def activate_all_cells(loss, pairs):
    for i, j in np.asarray(pairs).tolist():
        cells = np.array(list(itertools.product(range(loss.cardinalities[i]), range(loss.cardinalities[j]))))
        loss.activate_features(np.repeat([[i, j]], len(cells), axis=0), cells)
