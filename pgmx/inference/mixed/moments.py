"""Counts and moments of the families of a conditional linear Gaussian network, of known rows and expected ones.

A family of states has counts, (*states of the child and of each parent); a family of floats has for each configuration
of its discrete parents the sums of the products of (1, continuous parents, child), (configurations, k + 2, k + 2).
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import NamedTuple

import numpy as np

from pgmx.inference.mixed.families import MixedRows
from pgmx.inference.mixed.pieces import PieceSolution
from pgmx.inference.mixed.posterior import Question


class Shape(NamedTuple):
    """A family by kind: its states (the child first where it has some), and its floats (the child last)."""

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
    """Return the counts or moments of no rows."""
    sizes = [cards[u] for u in shape.states]
    if cards[shape.child]:
        return np.zeros(sizes)
    return np.zeros((prod(sizes), len(shape.floats) + 1, len(shape.floats) + 1))


def sum_known(cards: Sequence[int], shape: Shape, rows: MixedRows, weights: np.ndarray) -> np.ndarray:
    """Return the counts or moments of a family in rows that are complete in it."""
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


def add_expected(
    cards: Sequence[int],
    shapes: Sequence[Shape],
    question: Question,
    solved: PieceSolution,
    rows: MixedRows,
    weights: np.ndarray,
    totals: list[np.ndarray],
) -> None:
    """Add what a piece expects of its families to their counts and moments."""
    part = rows.take(solved.rows)
    shares = weights[solved.rows]
    place = {u: k for k, u in enumerate(question.states)}
    for v in question.families:
        states = shapes[v].states
        hidden = [u for u in states if u in place]
        assert solved.beliefs is not None
        beliefs = solved.beliefs.marginal([place[u] for u in hidden]).reshape(len(shares), -1)
        cells = _number_cells(cards, states, part, hidden)
        counts = np.bincount(cells.ravel(), _weigh(beliefs, shares).ravel(), totals[v].size)
        totals[v] += counts.reshape(totals[v].shape)
    for component, solution, beliefs in solved.components:
        at = {u: k for k, u in enumerate(component.floats)}
        weighted = _weigh(beliefs, shares)
        covariance = solution.roots @ solution.roots.swapaxes(2, 3)
        for v in component.members:
            shape, total = shapes[v], totals[v]
            cells = np.broadcast_to(_number_cells(cards, shape.states, part, component.scope), weighted.shape).ravel()
            columns = [np.ones((len(shares), 1))]
            columns += [solution.means[:, :, at[u]] if u in at else part.numbers[u][:, None] for u in shape.floats]
            for i, left in enumerate(columns):
                for j, right in enumerate(columns[: i + 1]):
                    product = left * right
                    if i and j and {shape.floats[i - 1], shape.floats[j - 1]} <= at.keys():
                        product = product + covariance[:, :, at[shape.floats[i - 1]], at[shape.floats[j - 1]]]
                    sums = np.bincount(cells, (weighted * product).ravel(), len(total))
                    total[:, i, j] += sums
                    if i != j:
                        total[:, j, i] += sums


def _weigh(beliefs: np.ndarray, shares: np.ndarray) -> np.ndarray:
    """Multiply distributions by the weights of rows; an impossible row may have the weight 0, and no distribution."""
    return np.where(shares[:, None] > 0.0, beliefs * shares[:, None], 0.0)


def _number_cells(
    cards: Sequence[int], states: Sequence[int], rows: MixedRows, hidden: Sequence[int] | None = None
) -> np.ndarray:
    """Return the number of the cell over `states`, (n_rows,), or (n_rows, configurations of `hidden`)."""
    free = [] if hidden is None else list(hidden)
    sizes = [cards[u] for u in free]
    grid = np.indices(sizes).reshape(len(free), prod(sizes))
    cells = np.zeros((rows.codes.shape[1], prod(sizes)), dtype=np.int64)
    for u in states:
        code = grid[free.index(u)][None, :] if u in free else rows.codes[u][:, None]
        cells = cells * cards[u] + code
    return cells if hidden is not None else cells[:, 0]
