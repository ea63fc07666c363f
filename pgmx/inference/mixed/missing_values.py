"""Missing values of many rows under a conditional linear Gaussian network, in conditionally independent blocks.

A block is a maximal set of missing variables connected by families. Its distribution given the row depends on the
observed members of these families only. Rows with the same missing variables in these families share a block, whatever
else is missing in them.

`ObservedDensities` sums and integrates the missing values out: the density of a row is the product of its complete
families and of its blocks. Missing variables without observed descendants sum to 1 and are left out.
`MissingValues` computes expected totals, draws and imputations for all parameters of one graph.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from itertools import accumulate, chain
from math import prod
from typing import NamedTuple

import numpy as np

from pgmx._ext._mixed_pieces import PieceSolver
from pgmx.checks import join_names
from pgmx.inference.exact.elimination_order import TreewidthError
from pgmx.inference.mixed.families import (
    DiscreteFamily,
    FamilyShape,
    MixedFamilies,
    MixedRows,
    count_totals,
    shape_families,
)
from pgmx.inference.mixed.posterior import EXACT_CELLS, Question, compute_log_evidence, make_question
from pgmx.inference.networks import take_logs

#: Most values per row of blocks whose rows are answered one by one by the compiled solver.
SOLVER_CELLS = 1 << 14
#: Largest number of cached plans, one per set of missing variables.
_MOST_PLANS = 1 << 14


class MissingBlock(NamedTuple):
    """A block: its missing variables, ascending; their families, by child; the rows that share the block."""

    hidden: list[int]
    families: list[int]
    rows: np.ndarray


def find_blocks(families: Sequence[Sequence[int]], missing: np.ndarray) -> list[MissingBlock]:
    """Return the blocks of rows with values `missing`, bool (n, n_rows); families are (v, parents...)."""
    n, n_rows = missing.shape
    # Rows with the same missing values, as with absent columns, are searched once.
    if n_rows > 1 and (missing == missing[:, :1]).all():
        return [block._replace(rows=np.arange(n_rows)) for block in find_blocks(families, missing[:, :1])]
    adjacent: list[set[int]] = [set() for _ in range(n)]
    touching: list[list[int]] = [[] for _ in range(n)]
    for family in families:
        for u in family:
            touching[u].append(family[0])
            adjacent[u].update(family)
    labels = np.where(missing, np.arange(n, dtype=np.int32)[:, None], n)
    changed = True
    while changed:  # the smallest label of a block spreads over it
        changed = False
        # In both directions, so that labels cross a chain of variables in one pass, whatever its order.
        for order in (range(n), range(n - 1, -1, -1)):
            for v in order:
                if len(adjacent[v]) > 1 and missing[v].any():
                    least = np.where(missing[v], labels[sorted(adjacent[v])].min(axis=0), n)
                    if (least < labels[v]).any():
                        labels[v], changed = least, True
    blocks = []
    for first in range(n):
        rows = np.flatnonzero(labels[first] == first)
        if not len(rows):
            continue
        # Bits, since `np.unique` sorts whole columns.
        packed = np.packbits(labels[:, rows] == first, axis=0)
        _, place, group = np.unique(packed, axis=1, return_index=True, return_inverse=True)
        by_group = np.argsort(group.reshape(-1), kind="stable")
        groups = np.split(rows[by_group], np.cumsum(np.bincount(group.reshape(-1)))[:-1])
        for k, sharing in zip(place.tolist(), groups, strict=True):
            hidden = np.flatnonzero(labels[:, rows[k]] == first).tolist()
            blocks.append(MissingBlock(hidden, sorted({v for u in hidden for v in touching[u]}), sharing))
    return blocks


def plan_block(network: MixedFamilies, block: MissingBlock) -> Question:
    """Plan the computation for a block; the plan is valid for all parameters of the same graph."""
    observed = np.ones(len(network.cards), dtype=bool)
    observed[block.hidden] = False
    return make_question(network, observed, block.families, block.hidden, block.hidden)


class ObservedDensities:
    """Log-densities of the observed values of rows under one network; chunks of rows share their plans.

    `names` are the names of the variables, for messages. Discrete, linear Gaussian and mixed networks are accepted.
    """

    def __init__(self, network: MixedFamilies, names: Sequence[Hashable]):
        self._network, self._names = network, names
        self._families = [(v, *parents) for v, parents in enumerate(network.parents)]
        self._shapes = shape_families(network.cards, self._families)
        self._plans: dict[tuple[int, ...], tuple[Question | None, np.ndarray, list[int] | None]] = {}

    def compute(self, rows: MixedRows, missing: np.ndarray) -> np.ndarray:
        """Return the log-density of each row's observed values, (n_rows,); `missing` is bool (n, n_rows).

        Minus infinity for impossible rows, 0 for rows without observed values. Raises a TreewidthError if a row would
        need more than `EXACT_CELLS` values.
        """
        total = np.zeros(missing.shape[1])
        for v, family in enumerate(self._families):
            lacking = missing[list(family)].any(axis=0)
            known = np.flatnonzero(~lacking) if lacking.any() else slice(None)
            total[known] += self._network.log_density(v, rows.take(known))
        small = []
        for block in find_blocks(self._families, missing):
            question, observed, program = self._plan(block)
            if program is not None:
                small.append((block, program))
            elif question is not None:
                total[block.rows] += compute_log_evidence(self._network, question, rows.take(block.rows), observed)
        if small:
            unwanted = np.full(len(self._families), -1, dtype=np.int64)
            answers = np.empty((0, len(total)))
            MissingValues(self._network.cards, self._shapes, small).describe(
                self._network, rows, unwanted, answers, total
            )
        return total

    def _plan(self, block: MissingBlock) -> tuple[Question | None, np.ndarray, list[int] | None]:
        """Return the computation of a block, None if it sums to 1; its observed variables; its program if small."""
        key = tuple(block.hidden)
        if key not in self._plans:
            if len(self._plans) >= _MOST_PLANS:
                self._plans.clear()
            self._plans[key] = self._make_plan(block)
        return self._plans[key]

    def _make_plan(self, block: MissingBlock) -> tuple[Question | None, np.ndarray, list[int] | None]:
        observed = np.ones(len(self._families), dtype=bool)
        observed[block.hidden] = False
        families, hidden = set(block.families), set(block.hidden)
        # Children first: a variable is left out if all its hidden descendants are.
        for v in reversed(self._network.order):
            if v in hidden and not any(v in self._families[child][1:] for child in families):
                hidden.remove(v)
                families.remove(v)
        if not hidden:
            return None, observed, None
        question = make_question(self._network, observed, families, hidden, None)
        # Checked before anything is allocated.
        if question.cells > EXACT_CELLS:
            raise TreewidthError(
                f"the density of rows with missing {join_names(self._names[v] for v in sorted(hidden))} would need "
                f"{question.cells:.2g} values per row, more than {EXACT_CELLS:,}",
                remedy="leave out more of the columns, or such rows, or fill the missing values with predict()",
            )
        if question.cells > SOLVER_CELLS:
            return question, observed, None
        kept = MissingBlock(sorted(hidden), sorted(families), block.rows)
        return question, observed, describe_block(self._shapes, kept, question)


# ---- expected totals, draws and imputations by the compiled solver ----


class RandomNumbers(NamedTuple):
    """The random numbers for D draws for each of L incomplete rows.

    `places` are the positions of the rows among these L. `uniforms` in [0, 1) are (columns, L, D), `normals` (m, D).
    `ranks` (n, L) holds per variable and row the index into `uniforms` (discrete) or `normals` (continuous).
    """

    places: np.ndarray
    uniforms: np.ndarray
    normals: np.ndarray
    ranks: np.ndarray


class MissingValues:
    """The missing values of rows, in independent blocks, for all parameters of a graph.

    `shapes` are the families of the graph, `programs` the blocks with their programs (see `describe_block`).
    """

    def __init__(
        self,
        cards: Sequence[int],
        shapes: Sequence[FamilyShape],
        programs: Sequence[tuple[MissingBlock, Sequence[int]]],
    ):
        discrete = [[shape.discrete, _compute_strides([cards[u] for u in shape.discrete])] for shape in shapes]
        continuous = [shape.continuous if cards[shape.child] else shape.continuous[:-1] for shape in shapes]
        parameters = [
            prod(cards[u] for u in shape.discrete) * (1 if cards[shape.child] else len(shape.continuous) + 1)
            for shape in shapes
        ]
        self._total_offsets = _compute_offsets(count_totals(cards, shape) for shape in shapes)
        self._solver = PieceSolver(
            np.array(cards, dtype=np.int64),
            _compute_offsets(len(shape.discrete) for shape in shapes),
            _join(members for members, _ in discrete),
            _join(steps for _, steps in discrete),
            _compute_offsets(map(len, continuous)),
            _join(continuous),
            _compute_offsets(parameters),
            self._total_offsets,
            _join(program for _, program in programs),
            _compute_offsets(len(program) for _, program in programs),
            np.concatenate([np.empty(0, dtype=np.int64), *(block.rows for block, _ in programs)]).astype(np.int64),
            _compute_offsets(len(block.rows) for block, _ in programs),
        )

    def expect(self, network: MixedFamilies, rows: MixedRows, weights: np.ndarray) -> tuple[float, list[np.ndarray]]:
        """Return the log-density of the blocks' observed values, and expected totals of each family, flattened.

        Both are weighted sums over rows. The totals are the counts and moments of the families with missing values, in
        the rows where these are missing; 0 for other families.
        """
        totals = np.zeros(self._total_offsets[-1])
        solver = self._solver
        likelihood = solver.expect(0, solver.n_pieces, _flatten(network), rows.codes, rows.numbers, weights, totals)
        return likelihood, np.split(totals, self._total_offsets[1:-1])

    def draw(self, network: MixedFamilies, rows: MixedRows, random: RandomNumbers, drawn: MixedRows) -> None:
        """Write joint draws into `drawn`, which has D consecutive copies of each incomplete row."""
        self._solver.draw(
            0, self._solver.n_pieces, _flatten(network), rows.codes, rows.numbers, *random, drawn.codes, drawn.numbers
        )

    def impute(self, network: MixedFamilies, rows: MixedRows, filled: MixedRows) -> None:
        """Write the most probable states and the means of continuous variables, given the row, into `filled`."""
        solver = self._solver
        solver.impute(0, solver.n_pieces, _flatten(network), rows.codes, rows.numbers, filled.codes, filled.numbers)

    def describe(
        self,
        network: MixedFamilies,
        rows: MixedRows,
        columns: np.ndarray,
        answers: np.ndarray,
        log_densities: np.ndarray,
    ) -> None:
        """Write the distribution of each missing value into `answers` (m, n_rows), from row ``columns[v]`` on.

        Probabilities of a discrete variable, mean and variance of a continuous one; -1 is not wanted. Adds the blocks'
        log-densities to `log_densities` (n_rows,); the answers of impossible rows are 0.
        """
        solver = self._solver
        parameters = _flatten(network)
        solver.describe(0, solver.n_pieces, parameters, rows.codes, rows.numbers, columns, answers, log_densities)

    def maximise(self, network: MixedFamilies, rows: MixedRows, filled: MixedRows, log_maxima: np.ndarray) -> None:
        """Write the states that are most probable together, and the means given these, into `filled`.

        Adds to `log_maxima` (n_rows,) the logarithms of the blocks' maxima over states, minus infinity if impossible.
        """
        solver = self._solver
        parameters = _flatten(network)
        solver.maximise(
            0, solver.n_pieces, parameters, rows.codes, rows.numbers, filled.codes, filled.numbers, log_maxima
        )


def _flatten(network: MixedFamilies) -> np.ndarray:
    """Return the parameters of all families in the layout of the solver."""
    parameters = [np.empty(0)]
    for family in network.families:
        if isinstance(family, DiscreteFamily):
            parameters.append(take_logs(family.table).ravel())
        else:
            parameters.append(np.concatenate([family.coefficients, family.std[..., None]], axis=-1).ravel())
    return np.concatenate(parameters)


def describe_block(shapes: Sequence[FamilyShape], block: MissingBlock, question: Question) -> list[int]:
    """Return the program of a block (see `PieceSolver`), the same for all rows."""
    plan, components = question.plan, question.components
    program = [
        len(question.discrete),
        0 if plan is None else len(plan.cliques),
        len(question.families),
        len(components),
    ]
    program += question.discrete
    place = {u: k for k, u in enumerate(question.discrete)}
    scopes = [[place[u] for u in component.scope] for component in components]
    homes = [-1] * len(components)
    if plan is not None:
        rank, home_of = plan.rank.tolist(), plan.homes.tolist()
        program += home_of
        for clique, sepset, parent in zip(plan.cliques, plan.sepsets, plan.parents.tolist(), strict=True):
            program += [len(clique), len(sepset), parent, *clique]
        hidden = set(block.hidden)
        for v in question.families:
            members = [place[u] for u in shapes[v].discrete if u in hidden]
            program += [v, home_of[min(members, key=rank.__getitem__)]]
        homes = [home_of[min(scope, key=rank.__getitem__)] if scope else -1 for scope in scopes]
    for component, scope, home in zip(components, scopes, homes, strict=True):
        program += [len(component.members), len(component.continuous), len(scope), home]
        program += [*component.members, *component.continuous, *scope]
    return program


def _compute_strides(sizes: Sequence[int]) -> list[int]:
    """Return the strides of an array of these sizes."""
    return [prod(sizes[k + 1 :]) for k in range(len(sizes))]


def _compute_offsets(sizes: Iterable[int]) -> np.ndarray:
    """Return the offsets of consecutive segments of these sizes, and the end of the last."""
    return np.fromiter(accumulate(sizes, initial=0), dtype=np.int64)


def _join(parts: Iterable[Iterable[int]]) -> np.ndarray:
    return np.fromiter(chain.from_iterable(parts), dtype=np.int64)
