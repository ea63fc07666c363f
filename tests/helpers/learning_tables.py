"""Small tables with structure in them, and what tests say about a learned graph."""

import numpy as np
import pandas as pd

from oracles.family_scores import family_score
from pgmx.data import DiscreteTable

NAMES = ("a", "b", "c", "d", "e")
CARDS = (2, 3, 2, 2, 3)


def dependent_frame(seed, n_rows=300, n_columns=5):
    """Return a frame of int columns; each column follows the sum of the two before it in 7 of 10 rows.

    All states occur, and all pairs of states of neighbours, so that pgmpy's departures from the formulas of K2 and BDeu
    (configurations and states that never occur) do not show.
    """
    rng = np.random.default_rng(seed)
    columns = [rng.integers(0, CARDS[0], n_rows)]
    for v in range(1, n_columns):
        cause = columns[v - 1] + (columns[v - 2] if v > 1 else 0)
        columns.append(np.where(rng.random(n_rows) < 0.7, cause % CARDS[v], rng.integers(0, CARDS[v], n_rows)))
    return pd.DataFrame(dict(zip(NAMES, columns, strict=False)))


def gaussian_frame(seed, n_rows=200):
    """Return a frame of float columns: a -> b -> d and a -> c -> d, linear with noise."""
    rng = np.random.default_rng(seed)
    noise = rng.normal(size=(4, n_rows))
    a = noise[0]
    b = 0.8 * a + noise[1]
    c = -0.6 * a + 0.5 * noise[2]
    return pd.DataFrame({"a": a, "b": b, "c": c, "d": b + c + 0.7 * noise[3]})


def mixed_frame(seed, n_rows=200):
    """Return a frame of two continuous and two discrete columns: kind -> x -> y, kind -> size."""
    rng = np.random.default_rng(seed)
    kind = rng.integers(0, 2, n_rows)
    size = np.where(rng.random(n_rows) < 0.8, kind, rng.integers(0, 3, n_rows))
    x = 1.5 * kind + rng.normal(size=n_rows)
    y = x + 0.5 * rng.normal(size=n_rows)
    return pd.DataFrame(
        {"kind": np.array(["no", "yes"])[kind], "x": x, "size": np.array(["S", "M", "L"])[size], "y": y}
    )


def codes_of(frame):
    """Return the codes (n, n_rows) and the numbers of states of a frame of small ints, as the oracles take them."""
    return frame.to_numpy().T, frame.max().to_numpy() + 1


def edge_set(graph):
    """Return the edges of a graph as a set; an undirected edge of a PDAG is there in both directions."""
    return set(graph.edges())


def gain_matrix(frame, score, given=()):
    """Return the gains of one further parent (child, parent) in a score, by its formula; `given` are parents of all."""
    codes, cards = codes_of(frame)
    n = len(cards)
    gains = np.zeros((n, n))
    for child in range(n):
        for parent in set(range(n)) - {child, *given} if child not in given else ():
            gains[child, parent] = family_score(codes, cards, child, [*given, parent], score) - family_score(
                codes, cards, child, list(given), score
            )
    return gains


def random_dag_table(seed, n, n_rows=150):
    """Return a discrete table, each column but the first a noisy copy of an earlier one."""
    rng = np.random.default_rng(seed)
    codes = [rng.integers(0, 3, n_rows)]
    for v in range(1, n):
        parent = codes[rng.integers(0, v)]
        codes.append(np.where(rng.random(n_rows) < 0.6, parent % (2 + v % 2), rng.integers(0, 2 + v % 2, n_rows)))
    states = [tuple(range(int(column.max()) + 1)) for column in codes]
    return DiscreteTable([f"v{v}" for v in range(n)], states, np.array(codes))
