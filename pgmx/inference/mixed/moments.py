"""Observed and expected counts and moments of the families of a conditional linear Gaussian network.

A discrete family has counts, (*states of the child and of each parent). A continuous family has for each configuration
of its discrete parents the sums of the products of (1, continuous parents, child), (configurations, k + 2, k + 2).
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import NamedTuple

import numpy as np

from pgmx.inference.mixed.families import MixedRows


class Shape(NamedTuple):
    """A family's discrete variables (a discrete child first) and continuous variables (a continuous child last)."""

    child: int
    states: tuple[int, ...]
    floats: tuple[int, ...]


def shape_families(cards: Sequence[int], families: Sequence[Sequence[int]]) -> list[Shape]:
    """Return the families (v, parents...) by kind."""
    shapes = []
    for v, *parents in families:
        states, floats = [u for u in parents if cards[u]], [u for u in parents if not cards[u]]
        if cards[v]:
            states = [v, *states]
        else:
            floats = [*floats, v]
        shapes.append(Shape(v, tuple(states), tuple(floats)))
    return shapes


def make_zeros(cards: Sequence[int], shape: Shape) -> np.ndarray:
    """Return counts or moments of zero."""
    sizes = [cards[u] for u in shape.states]
    if cards[shape.child]:
        return np.zeros(sizes)
    return np.zeros((prod(sizes), len(shape.floats) + 1, len(shape.floats) + 1))


def count_totals(cards: Sequence[int], shape: Shape) -> int:
    """Return the number of counts or moments of a family."""
    width = 1 if cards[shape.child] else len(shape.floats) + 1
    return prod(cards[u] for u in shape.states) * width**2


def sum_known(cards: Sequence[int], shape: Shape, rows: MixedRows, weights: np.ndarray) -> np.ndarray:
    """Return the counts or moments of a family in rows without missing values in the family."""
    total = make_zeros(cards, shape)
    cells = _number_cells(cards, shape.states, rows)
    if cards[shape.child]:
        return np.bincount(cells, weights, total.size).reshape(total.shape).astype(float)
    columns = np.column_stack([np.ones(len(weights)), *(rows.numbers[u] for u in shape.floats)])
    if len(total) == 1:
        total[0] = (columns * weights[:, None]).T @ columns
        return total
    for i, left in enumerate(columns.T):
        for j in range(i + 1):
            total[:, i, j] = total[:, j, i] = np.bincount(cells, weights * left * columns[:, j], len(total))
    return total


def _number_cells(cards: Sequence[int], states: Sequence[int], rows: MixedRows) -> np.ndarray:
    """Return the index of each row's cell in a table over `states`, (n_rows,)."""
    cells = np.zeros(rows.codes.shape[1], dtype=np.int64)
    for u in states:
        cells = cells * cards[u] + rows.codes[u]
    return cells
