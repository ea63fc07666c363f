"""Rows of discrete and continuous variables with missing values: expected counts and conditional moments.

Continuous columns are standardised by the mean and the standard deviation of their observed values.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import NamedTuple

import numpy as np

from pgmx.checks import join_names
from pgmx.data import DiscreteTable
from pgmx.data.mixed import MixedTable
from pgmx.inference.mixed.families import (
    DiscreteFamily,
    GaussianFamily,
    MixedFamilies,
    MixedRows,
    make_zeros,
    shape_families,
    sum_known,
)
from pgmx.inference.mixed.missing_values import (
    MissingBlock,
    MissingValues,
    RandomNumbers,
    describe_block,
    find_blocks,
    plan_block,
)
from pgmx.inference.mixed.posterior import Question
from pgmx.models.bayesian.em import EMFit, IncompleteRows
from pgmx.models.mixed.fitting import Smoothing, regress_moments
from pgmx.runs.checkpoint import Snapshot

#: Number of draws for a row with missing values.
N_DRAWS = 10
#: Most values per row, most values per pass over the rows, and the least number of values that a block counts.
MOST_ROW_CELLS, MOST_CELLS, BLOCK_CELLS = 10**6, 2 * 10**9, 20_000

_PLAIN = Smoothing()


class CompletedMixedRows(NamedTuple):
    """Weighted complete rows that represent rows with missing values; several may represent one row."""

    mixed: MixedTable
    weights: np.ndarray


class IncompleteMixedRows(IncompleteRows):
    """The weighted rows of a mixed table with missing values (NaN in continuous columns, marked in discrete ones).

    Statistics are, per family, counts (if the child is discrete) or moments per configuration of the discrete parents.
    Parameters are the network in standard units.
    """

    def __init__(self, mixed: MixedTable, weights: np.ndarray | None = None, n_draws: int = N_DRAWS):
        self.mixed, self.n_draws = mixed, n_draws
        super().__init__(len(mixed.columns), float(mixed.n_rows if weights is None else weights.sum()))
        self.weights = np.ones(mixed.n_rows) if weights is None else np.asarray(weights, dtype=np.float64)
        n_columns, n_rows = len(mixed.columns), mixed.n_rows
        self.cards = [0] * n_columns
        self.states: list[tuple] = []
        self.missing = np.zeros((n_columns, n_rows), dtype=bool)
        self.location, self.scale = np.zeros(n_columns), np.ones(n_columns)
        self.rows = MixedRows(np.zeros((n_columns, n_rows), dtype=np.intp), np.zeros((n_columns, n_rows)))
        self._jacobian = 0.0  # what the log-likelihood in standard units lacks for the units of the table
        for v, place in enumerate(mixed.positions.tolist()):
            if mixed.is_continuous[v]:
                self._read_continuous(v, mixed.numbers[place])
            else:
                assert mixed.table is not None
                code, card = int(mixed.table.missing_codes[place]), int(mixed.table.cardinalities[place])
                self.cards[v] = card - (code >= 0)
                self.states.append(tuple(mixed.table.states[place][: self.cards[v]]))
                self.missing[v] = mixed.table.codes[place] == code
                self.rows.codes[v] = np.where(self.missing[v], 0, mixed.table.codes[place])

    def _read_continuous(self, v: int, cells: np.ndarray) -> None:
        self.missing[v] = np.isnan(cells)
        known = ~self.missing[v] & (self.weights > 0)  # a row of weight 0 is as if it were not there
        if known.any():
            self.location[v] = np.average(cells[known], weights=self.weights[known])
            spread = np.average((cells[known] - self.location[v]) ** 2, weights=self.weights[known])
            self.scale[v] = np.sqrt(spread) if spread > 0 else 1.0
        self.rows.numbers[v] = np.where(self.missing[v], 0.0, (cells - self.location[v]) / self.scale[v])
        self._jacobian -= float(self.weights[known].sum()) * float(np.log(self.scale[v]))

    # ---- EM ----

    def _start(self, families: list[tuple[int, ...]]) -> list[np.ndarray]:
        return self._plan(families).count_complete()

    def _estimate(self, families: list[tuple[int, ...]], statistics: list[np.ndarray]) -> MixedFamilies:
        return self.estimate(families, statistics, _PLAIN)

    def _expect(
        self, families: list[tuple[int, ...]], parameters: MixedFamilies, *, may_end: bool
    ) -> tuple[float, list[np.ndarray]]:
        log_likelihood, expected = self._plan(families).expect(parameters)
        return log_likelihood + self._jacobian, expected

    def _make_plan(self, families: list[tuple[int, ...]]) -> _Plan:
        return _Plan(self, families)

    def estimate(self, families: Sequence[tuple[int, ...]], counts: Sequence[np.ndarray], prior: Smoothing):
        """Return the network estimated from counts and moments, in standard units."""
        estimated: list[DiscreteFamily | GaussianFamily] = []
        for shape, total in zip(shape_families(self.cards, families), counts, strict=True):
            if self.cards[shape.child]:
                table = total + prior.rows_per_cell(total.size)
                sums = table.sum(axis=0, keepdims=True)
                shares = np.where(sums > 0, table / np.where(sums > 0, sums, 1.0), 1.0 / len(table))
                estimated.append(DiscreteFamily(shape.discrete[1:], shares))
                continue
            sizes = [self.cards[u] for u in shape.discrete]
            coefficients, std = regress_moments(total, prior)
            estimated.append(
                GaussianFamily(
                    shape.discrete,
                    shape.continuous[:-1],
                    coefficients.reshape(*sizes, -1),
                    np.reshape(std, tuple(sizes)),
                )
            )
        return MixedFamilies(tuple(self.cards), tuple(estimated))

    def to_units(self, network: MixedFamilies) -> MixedFamilies:
        """Convert a network from standard units to the units of the table."""
        families: list[DiscreteFamily | GaussianFamily] = []
        for v, family in enumerate(network.families):
            if isinstance(family, GaussianFamily):
                parents = list(family.continuous_parents)
                slopes = family.coefficients[..., 1:] * (self.scale[v] / self.scale[parents])
                intercepts = self.location[v] + self.scale[v] * family.coefficients[..., 0]
                intercepts = intercepts - slopes @ self.location[parents]
                coefficients = np.concatenate([intercepts[..., None], slopes], axis=-1)
                family = family._replace(coefficients=coefficients, std=family.std * self.scale[v])
            families.append(family)
        return MixedFamilies(network.cards, tuple(families))

    # ---- completed rows ----

    def count(self, edges: np.ndarray, completed: CompletedMixedRows) -> list[np.ndarray]:
        """Return the counts and moments of the families of a graph in weighted complete rows."""
        whole = IncompleteMixedRows(completed.mixed)  # codes and values by column
        # in the standard units of these rows, which differ from those of the draws
        numbers = whole.rows.numbers * whole.scale[:, None] + whole.location[:, None]
        rows = MixedRows(whole.rows.codes, (numbers - self.location[:, None]) / self.scale[:, None])
        shapes = shape_families(self.cards, self.families(edges))
        return [sum_known(self.cards, shape, rows, completed.weights) for shape in shapes]

    def complete(self, fit: EMFit, seed: int) -> CompletedMixedRows:
        """Return rows without missing values, and their weights; each incomplete row becomes `n_draws` draws.

        Random numbers depend only on the seed. If a row has no missing states and fewer missing values than draws, its
        draws have exactly the conditional means and covariances.
        """
        plan = self._plan(fit.families)
        incomplete, place, drawn = self._repeat(self.n_draws)
        rng = np.random.default_rng(seed)
        shape = (len(incomplete), self.n_draws)
        discrete = [v for v in np.flatnonzero(self.missing.any(axis=1)).tolist() if self.cards[v]]
        uniforms = np.empty((len(discrete), *shape))
        # one number per stratum of width 1 / n_draws: the draws of a row spread over its distribution
        for numbers in uniforms:
            strata = rng.permuted(np.broadcast_to(np.arange(self.n_draws), shape), axis=1)
            numbers[:] = (strata + rng.random(shape)) / self.n_draws
        normals = _draw_design(rng, self.n_draws)
        ranks = np.zeros((len(self.cards), len(incomplete)), dtype=np.int64)
        ranks[discrete] = np.arange(len(discrete))[:, None]
        continuous = np.flatnonzero(np.array(self.cards) == 0)
        # each missing value of a row has its own vector; vectors are reused if there are too few
        ranks[continuous] = (self.missing[np.ix_(continuous, incomplete)].cumsum(axis=0) - 1) % len(normals)
        plan.cells.draw(fit.parameters, self.rows, RandomNumbers(place, uniforms, normals, ranks), drawn)
        return self._join(incomplete, drawn, self.n_draws)

    def complete_at_random(self, seed: int) -> CompletedMixedRows:
        """Return the rows with missing values drawn from the observed values of their columns, and their weights."""
        rng = np.random.default_rng(seed)
        incomplete, _, drawn = self._repeat(1)
        for v, missing in enumerate(self.missing[:, incomplete]):
            shares = self.weights * ~self.missing[v]
            rows = rng.choice(len(shares), int(missing.sum()), p=shares / shares.sum())
            drawn.codes[v, missing], drawn.numbers[v, missing] = self.rows.codes[v, rows], self.rows.numbers[v, rows]
        return self._join(incomplete, drawn, 1)

    def _repeat(self, n_draws: int) -> tuple[np.ndarray, np.ndarray, MixedRows]:
        """Return the incomplete rows, the position of each row among them, and copies of them."""
        incomplete = np.flatnonzero(self.missing.any(axis=0))
        place = np.full(self.mixed.n_rows, -1)
        place[incomplete] = np.arange(len(incomplete))
        copies = np.repeat(incomplete, n_draws)
        return incomplete, place, MixedRows(*(np.take(cells, copies, axis=1) for cells in self.rows))

    def _join(self, incomplete: np.ndarray, drawn: MixedRows, n_draws: int) -> CompletedMixedRows:
        """Return the complete rows, and draws for the other rows."""
        whole = np.setdiff1d(np.arange(self.mixed.n_rows), incomplete)
        is_continuous = self.mixed.is_continuous
        numbers = np.concatenate([self.rows.numbers[:, whole], drawn.numbers], axis=1)[is_continuous]
        numbers = numbers * self.scale[is_continuous][:, None] + self.location[is_continuous][:, None]
        table = None
        if self.mixed.table is not None:
            codes = np.concatenate([self.rows.codes[:, whole], drawn.codes], axis=1)[~is_continuous]
            codes = np.ascontiguousarray(codes.astype(self.mixed.table.codes.dtype))
            table = DiscreteTable._from_parts(self.mixed.table.columns, tuple(self.states), codes)
        weights = np.concatenate([self.weights[whole], np.repeat(self.weights[incomplete] / n_draws, n_draws)])
        return CompletedMixedRows(MixedTable(self.mixed.columns, is_continuous, numbers, table), weights)

    def impute(self, fit: EMFit) -> MixedTable:
        """Return the rows; a missing value becomes its most probable state or its mean given the row."""
        filled = MixedRows(self.rows.codes.copy(), self.rows.numbers.copy())
        self._plan(fit.families).cells.impute(fit.parameters, self.rows, filled)
        order = np.arange(self.mixed.n_rows)
        mixed = self._join(order, filled, 1).mixed
        known = ~self.missing[self.mixed.is_continuous]  # without the rounding of the conversion to standard units
        mixed.numbers[known] = self.mixed.numbers[known]
        return mixed

    # ---- checkpoints ----

    def read_statistics(self, snapshot: Snapshot, edges: np.ndarray) -> list[np.ndarray]:
        """Return the counts and moments of the families of a graph from the arrays of `describe`."""
        shapes = shape_families(self.cards, self.families(edges))
        snapshot.check_names([f"counts_{v}" for v in range(len(shapes))])
        zeros = [make_zeros(self.cards, shape) for shape in shapes]
        least = [0 if card else None for card in self.cards]  # moments of continuous variables may be negative
        return [snapshot.array(f"counts_{v}", float, z.shape, least=least[v]) for v, z in enumerate(zeros)]


class _Plan:
    """The families of a graph, statistics of their complete rows, and plans for rows with missing values."""

    def __init__(self, rows: IncompleteMixedRows, families: list[tuple[int, ...]]):
        self.rows, self.families = rows, families
        self.shapes = shape_families(rows.cards, families)
        self.complete_rows = [np.flatnonzero(~rows.missing[list(family)].any(axis=0)) for family in families]

    def _plan_blocks(self) -> list[tuple[MissingBlock, Question]]:
        """Return the blocks of missing values with their plans; raise if one is too large."""
        rows, shapes = self.rows, self.shapes
        bare = [
            DiscreteFamily(s.discrete[1:], np.empty(0))
            if rows.cards[s.child]
            else GaussianFamily(s.discrete, s.continuous[:-1], np.empty(0), np.empty(0))
            for s in shapes
        ]
        network = MixedFamilies(tuple(rows.cards), tuple(bare))
        plans, total = [], 0.0
        for block in find_blocks(self.families, rows.missing):
            question = plan_block(network, block)
            total += max(BLOCK_CELLS, float(question.cells) * len(block.rows))
            if question.cells > MOST_ROW_CELLS or total > MOST_CELLS:
                names = join_names([rows.mixed.columns[v] for v in block.hidden])
                what = (
                    f"{question.cells:.2g} values for a row without {names}, more than {MOST_ROW_CELLS:,}"
                    if question.cells > MOST_ROW_CELLS
                    else f"more than {MOST_CELLS:.0e} values per pass over {rows.mixed.n_rows:,} rows"
                )
                raise ValueError(
                    f"missing='em' would need {what}: give a smaller max_indegree, choose missing='drop', or leave out "
                    "the columns with the most missing values"
                )
            plans.append((block, question))
        return plans

    @cached_property
    def cells(self) -> MissingValues:
        """The missing values with their plans; raises if the plans are too large."""
        plans = self._plan_blocks()
        programs = [(block, describe_block(self.shapes, block, question)) for block, question in plans]
        return MissingValues(self.rows.cards, self.shapes, programs)

    @cached_property
    def base_statistics(self) -> list[np.ndarray]:
        """The counts and moments of the rows that are complete in each family."""
        rows = self.rows
        return [
            sum_known(rows.cards, shape, rows.rows.take(complete), rows.weights[complete])
            for shape, complete in zip(self.shapes, self.complete_rows, strict=True)
        ]

    def count_complete(self) -> list[np.ndarray]:
        """Return `base_statistics` plus one row, divided equally among all cells.

        Its continuous variables are independent.
        """
        counts = []
        for shape, total in zip(self.shapes, self.base_statistics, strict=True):
            if self.rows.cards[shape.child]:
                counts.append(total + 1.0 / total.size)
            else:
                counts.append(total + np.eye(total.shape[1]) / len(total))
        return counts

    def expect(self, network: MixedFamilies) -> tuple[float, list[np.ndarray]]:
        """Return the log-likelihood of the observed values, and expected counts and moments."""
        rows = self.rows
        likelihood, expected = self.cells.expect(network, rows.rows, rows.weights)
        # families that are observed in a row need no inference
        for v, complete in enumerate(self.complete_rows):
            weights = rows.weights[complete]
            likelihood += float(weights[weights > 0] @ network.log_density(v, rows.rows)[complete][weights > 0])
        totals = [whole + part.reshape(whole.shape) for whole, part in zip(self.base_statistics, expected, strict=True)]
        return likelihood, totals


def _draw_design(rng: np.random.Generator, n_draws: int) -> np.ndarray:
    """Return orthogonal vectors (n_draws - 1, n_draws) with means of 0 and variances of 1."""
    normal = rng.standard_normal((n_draws, n_draws))
    normal[:, 0] = 1.0
    columns = np.linalg.qr(normal)[0][:, 1:] if n_draws > 1 else np.zeros((1, 1))
    return np.ascontiguousarray(columns.T * np.sqrt(n_draws))
