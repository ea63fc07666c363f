"""Small Bayesian networks and rows with missing values, drawn by hypothesis."""

from typing import NamedTuple

import numpy as np
from hypothesis import strategies as st


class IncompleteCase(NamedTuple):
    """A network by its families and tables, rows whose missing values are coded by the number of states, weights."""

    cards: list[int]
    families: list[tuple[int, ...]]
    tables: list[np.ndarray]
    codes: np.ndarray
    weights: np.ndarray


@st.composite
def incomplete_cases(draw, largest=5, most_rows=12):
    """Draw a network of up to `largest` variables and rows, among them complete and empty ones."""
    n = draw(st.integers(1, largest))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    cards = [draw(st.integers(1, 3)) for _ in range(n)]
    order = rng.permutation(n).tolist()
    families = []
    for v in range(n):
        before = order[: order.index(v)]
        families.append((v, *sorted(u for u in before if rng.random() < 0.5)))
    tables = [random_table(rng, [cards[u] for u in family]) for family in families]
    n_rows = draw(st.integers(1, most_rows))
    codes = np.array([rng.integers(0, card, n_rows) for card in cards])
    share = draw(st.sampled_from([0.1, 0.4, 0.9]))
    holes = rng.random(codes.shape) < share
    holes[rng.random(n) < 0.3] = False  # columns that are never missing
    codes = np.where(holes, np.array(cards)[:, None], codes).astype(np.uint8)
    return IncompleteCase(cards, families, tables, codes, rng.uniform(0.5, 2.0, n_rows))


def random_table(rng, shape):
    """Return distributions along the first axis."""
    table = rng.gamma(0.7, size=shape) + 1e-3
    return table / table.sum(axis=0)
