"""The families of a conditional linear Gaussian network as arrays: densities, samples, counts and moments of rows.

A discrete family has counts, (*states of the child and of each parent). A continuous family has for each configuration
of its discrete parents the sums of the products of (1, continuous parents, child), (configurations, k + 2, k + 2).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import NamedTuple, Protocol

import numpy as np

from pgmx.inference.networks import take_logs

LOG_2_PI = float(np.log(2.0 * np.pi))


class RandomNumbers(Protocol):
    """A source of random numbers: a numpy generator, or one with a stream per row."""

    def random(self, size: int) -> np.ndarray:
        """Return uniform random numbers in [0, 1)."""
        ...

    def standard_normal(self, size: int) -> np.ndarray:
        """Return standard normal random numbers."""
        ...


class DiscreteFamily(NamedTuple):
    """The probabilities of a variable's states given its parents, float64 (states, *states of each parent)."""

    discrete_parents: tuple[int, ...]
    table: np.ndarray


class GaussianFamily(NamedTuple):
    """A regression on the continuous parents per configuration of the discrete parents.

    `coefficients` are float64 (*states of each discrete parent, 1 + number of continuous parents), the intercept first.
    `std` are the standard deviations, (*states of each discrete parent), all above 0.
    """

    discrete_parents: tuple[int, ...]
    continuous_parents: tuple[int, ...]
    coefficients: np.ndarray
    std: np.ndarray


class MixedRows(NamedTuple):
    """Rows of a network of n variables: `codes` intp and `numbers` float64, both (n, n_rows).

    The values of a discrete variable are in `codes`, of a continuous variable in `numbers`. The other entries, and the
    entries of missing values, are arbitrary.
    """

    codes: np.ndarray
    numbers: np.ndarray

    def take(self, rows: np.ndarray | slice) -> MixedRows:
        """Return some of the rows."""
        return MixedRows(self.codes[:, rows], self.numbers[:, rows])


class RowChunk(NamedTuple):
    """Some rows, and masks of their missing values and unknown states, bool (n, n_rows)."""

    rows: MixedRows
    missing: np.ndarray
    unknown: np.ndarray


@dataclass(frozen=True, eq=False)
class MixedFamilies:
    """A network: the number of states of each variable, 0 for continuous variables, and its family."""

    cards: tuple[int, ...]
    families: tuple[DiscreteFamily | GaussianFamily, ...]

    @cached_property
    def parents(self) -> list[tuple[int, ...]]:
        """The parents of each variable, discrete parents first."""
        return [family.discrete_parents + getattr(family, "continuous_parents", ()) for family in self.families]

    @cached_property
    def order(self) -> list[int]:
        """The variables, parents before children."""
        children: list[list[int]] = [[] for _ in self.cards]
        waiting = [len(parents) for parents in self.parents]
        for v, parents in enumerate(self.parents):
            for p in parents:
                children[p].append(v)
        order = [v for v, count in enumerate(waiting) if not count]
        for v in order:  # `order` grows in the loop
            for child in children[v]:
                waiting[child] -= 1
                if not waiting[child]:
                    order.append(child)
        return order

    def list_ancestors(self, variables) -> list[int]:
        """Return some variables and all their ancestors, ascending."""
        members = set(variables)
        for v in reversed(self.order):
            if v in members:
                members.update(self.parents[v])
        return sorted(members)

    def log_density(self, v: int, rows: MixedRows) -> np.ndarray:
        """Return the log-density, or log-probability, of a variable given its parents in each row; (n_rows,)."""
        family = self.families[v]
        configuration = tuple(rows.codes[p] for p in family.discrete_parents)
        if isinstance(family, DiscreteFamily):
            return take_logs(family.table[(rows.codes[v], *configuration)])
        mean, std = _regress(family, configuration, rows)
        return -0.5 * (LOG_2_PI + ((rows.numbers[v] - mean) / std) ** 2) - np.log(std)

    def draw(self, rows: MixedRows, observed: np.ndarray, rng: RandomNumbers, only=None) -> np.ndarray:
        """Draw the variables that are not observed into the rows, parents first.

        `observed` is bool (n,); `only` is a set of variables with all their ancestors. Returns for each row the sum of
        the log-densities of the observed variables given their parents.
        """
        members = range(len(self.cards)) if only is None else only
        wanted = set(members)
        weights = np.zeros(rows.codes.shape[1])
        for v in self.order:
            if v not in wanted:
                continue
            if observed[v]:
                weights += self.log_density(v, rows)
                continue
            family = self.families[v]
            configuration = tuple(rows.codes[p] for p in family.discrete_parents)
            if isinstance(family, DiscreteFamily):
                rows.codes[v] = _draw_states(family.table, configuration, rng.random(len(weights)))
            else:
                mean, std = _regress(family, configuration, rows)
                rows.numbers[v] = mean + std * rng.standard_normal(len(weights))
        return weights


def normalise(table: np.ndarray) -> np.ndarray:
    """Scale probabilities to the sum 1 along the first axis; return the table itself if they already sum to 1."""
    sums = table.sum(axis=0)
    # A table that is already normalised keeps every bit.
    return table if (np.abs(sums - 1.0) < 1e-12).all() else table / sums


def _regress(family: GaussianFamily, configuration: tuple, rows: MixedRows) -> tuple[np.ndarray, np.ndarray]:
    """Return mean and standard deviation in each row."""
    coefficients = family.coefficients[configuration]
    mean = coefficients[..., 0]
    for k, p in enumerate(family.continuous_parents):
        mean = mean + coefficients[..., k + 1] * rows.numbers[p]
    return mean, family.std[configuration]


def _draw_states(table: np.ndarray, configuration: tuple, uniform: np.ndarray) -> np.ndarray:
    cumulative = table.cumsum(axis=0)
    # The sum may differ from 1 by rounding errors.
    cumulative /= cumulative[-1]
    shares = np.moveaxis(cumulative, 0, -1)[configuration]  # (n_rows, states), or (states,)
    # The last state's share is 1, above every uniform number; states without probability are never drawn.
    return (uniform[:, None] >= shares).sum(axis=-1)


# ---- counts and moments ----


class FamilyShape(NamedTuple):
    """A family's discrete variables (a discrete child first) and continuous variables (a continuous child last)."""

    child: int
    discrete: tuple[int, ...]
    continuous: tuple[int, ...]


def shape_families(cards: Sequence[int], families: Sequence[Sequence[int]]) -> list[FamilyShape]:
    """Return the families (v, parents...) by kind."""
    shapes = []
    for v, *parents in families:
        discrete, continuous = [u for u in parents if cards[u]], [u for u in parents if not cards[u]]
        if cards[v]:
            discrete = [v, *discrete]
        else:
            continuous = [*continuous, v]
        shapes.append(FamilyShape(v, tuple(discrete), tuple(continuous)))
    return shapes


def make_zeros(cards: Sequence[int], shape: FamilyShape) -> np.ndarray:
    """Return counts or moments of zero."""
    sizes = [cards[u] for u in shape.discrete]
    if cards[shape.child]:
        return np.zeros(sizes)
    return np.zeros((prod(sizes), len(shape.continuous) + 1, len(shape.continuous) + 1))


def count_totals(cards: Sequence[int], shape: FamilyShape) -> int:
    """Return the number of counts or moments of a family."""
    width = 1 if cards[shape.child] else len(shape.continuous) + 1
    return prod(cards[u] for u in shape.discrete) * width**2


def sum_known(cards: Sequence[int], shape: FamilyShape, rows: MixedRows, weights: np.ndarray) -> np.ndarray:
    """Return the counts or moments of a family in rows without missing values in the family."""
    total = make_zeros(cards, shape)
    cells = _number_cells(cards, shape.discrete, rows)
    if cards[shape.child]:
        return np.bincount(cells, weights, total.size).reshape(total.shape).astype(float)
    columns = np.column_stack([np.ones(len(weights)), *(rows.numbers[u] for u in shape.continuous)])
    if len(total) == 1:
        total[0] = (columns * weights[:, None]).T @ columns
        return total
    for i, left in enumerate(columns.T):
        for j in range(i + 1):
            total[:, i, j] = total[:, j, i] = np.bincount(cells, weights * left * columns[:, j], len(total))
    return total


def _number_cells(cards: Sequence[int], variables: Sequence[int], rows: MixedRows) -> np.ndarray:
    """Return the index of each row's cell in a table over some variables, (n_rows,)."""
    cells = np.zeros(rows.codes.shape[1], dtype=np.int64)
    for u in variables:
        cells = cells * cards[u] + rows.codes[u]
    return cells
