"""Answers about the missing values of rows, block by block: exact, or by likelihood weighting.

`MarginalRows` finds the distribution of each missing value, `MostProbableRows` the most probable configuration of the
missing discrete variables of a row and the means of the continuous ones given it. A result does not depend on the
other rows.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Hashable, Iterator, Sequence
from typing import Generic, NamedTuple, TypeVar

import numpy as np

from pgmx.inference.exact.elimination_order import TreewidthError
from pgmx.inference.mixed.families import MixedFamilies, RowChunk, shape_families
from pgmx.inference.mixed.missing_values import (
    SOLVER_CELLS,
    MissingBlock,
    MissingValues,
    describe_block,
    find_blocks,
    plan_block,
)
from pgmx.inference.mixed.posterior import (
    EXACT_CELLS,
    Answers,
    Question,
    answer_question,
    find_impossible,
    find_most_probable,
    plan_question,
)
from pgmx.inference.mixed.weighting import weigh_configurations, weigh_samples

#: Most values per row of exact inference with "auto"; beyond that it uses weighting.
AUTO_CELLS = 1 << 22

#: Number of plans, for connected sets of missing variables, that are cached across chunks.
_MOST_PLANS = 1 << 14

Plan = TypeVar("Plan")


class RowOptions(NamedTuple):
    """The engine ("auto", "exact" or "weighting"), and samples per row and 64 random bits of weighting."""

    inference: str
    n_samples: int
    key: int


class RowAnswers(Generic[Plan]):
    """Chunks of rows under one network; plans are cached for `wanted` variables, whose names errors mention.

    `effective_sizes` and `failed` are those of the last chunk: the effective sample size of each row, infinite if it
    was not sampled, and a mask of impossible rows with missing values that are wanted.
    """

    def __init__(self, network: MixedFamilies, names: Sequence[Hashable], wanted: Sequence[int], options: RowOptions):
        self.network, self.wanted, self.options = network, wanted, options
        self._names = names
        self._families = [(v, *parents) for v, parents in enumerate(network.parents)]
        self._is_wanted = np.zeros(len(names), dtype=bool)
        self._is_wanted[list(wanted)] = True
        self._shapes = shape_families(network.cards, self._families)
        self._programs: dict[tuple[int, ...], list[int] | None] = {}
        self._plans: dict[tuple[int, ...], Plan] = {}
        self.effective_sizes, self.failed = np.empty(0), np.empty(0, dtype=bool)

    @abstractmethod
    def fill(self, cells: RowChunk, first_row: int) -> None:
        """Write answers into the wanted missing values; `first_row` is the position in the table of the first row."""

    @abstractmethod
    def needs_samples(self, missing: np.ndarray) -> bool:
        """Return whether rows with these missing variables, bool (n,), are sampled."""

    @abstractmethod
    def _make_plan(self, hidden: list[int], observed: np.ndarray) -> Plan:
        """Plan the computation for a block."""

    def _split(self, missing: np.ndarray) -> tuple[MissingValues | None, list[MissingBlock]]:
        """Return the solver of the small blocks with wanted variables, and the others."""
        small, others = [], []
        for block in find_blocks(self._families, missing):
            if self._is_wanted[block.hidden].any():
                key = tuple(block.hidden)
                if key not in self._programs:
                    if len(self._programs) >= _MOST_PLANS:
                        self._programs.clear()
                    self._programs[key] = self._make_program(block)
                program = self._programs[key]
                if program is None:
                    others.append(block)
                else:
                    small.append((block, program))
        return MissingValues(self.network.cards, self._shapes, small) if small else None, others

    def _make_program(self, block: MissingBlock) -> list[int] | None:
        """Return the program of a block for the compiled solver, None if it is too large or to be sampled."""
        if self.options.inference == "weighting" and self._is_sampled(block.hidden):
            return None
        question = plan_block(self.network, block)
        return None if question.cells > SOLVER_CELLS else describe_block(self._shapes, block, question)

    @abstractmethod
    def _is_sampled(self, hidden: list[int]) -> bool:
        """Return whether weighting samples a block."""

    def _plan(self, blocks: list[MissingBlock]) -> Iterator[tuple[MissingBlock, np.ndarray, Plan]]:
        """Yield large blocks; which variables count as observed in each, bool (n,); their plans."""
        for block in blocks:
            observed = np.ones(len(self._names), dtype=bool)
            observed[block.hidden] = False  # other missing values of the row do not matter
            key = tuple(block.hidden)
            if key not in self._plans:
                if len(self._plans) >= _MOST_PLANS:
                    self._plans.clear()
                self._plans[key] = self._make_plan(block.hidden, observed)
            yield block, observed, self._plans[key]

    def _start(self, cells: RowChunk) -> None:
        n_rows = cells.missing.shape[1]
        self.effective_sizes, self.failed = np.full(n_rows, np.inf), np.zeros(n_rows, dtype=bool)

    def _finish(self, cells: RowChunk) -> None:
        """Mark the rows that are impossible by their observed values alone, if a wanted value is missing."""
        impossible = find_impossible(self.network, cells.rows, cells.missing)
        self.failed[impossible] |= cells.missing[:, impossible][self.wanted].any(axis=0)

    def _limit(self) -> int:
        return AUTO_CELLS if self.options.inference == "auto" else EXACT_CELLS

    def _refuse(self, variables: Sequence[int], cells: int) -> TreewidthError:
        names = ", ".join(repr(self._names[v]) for v in variables[:3]) + (", ..." if len(variables) > 3 else "")
        return TreewidthError(
            f"exact inference of {names} would need {cells:.2g} values per row, more than {self._limit():,}",
            engines="likelihood weighting (inference='weighting')",
        )


class MarginalRows(RowAnswers[list]):
    """The distribution of each missing value given the observed values of its row.

    A plan lists exact computations and, last, the targets that remain for weighting. `answers` are the distributions
    in the last chunk, NaN for observed values and impossible rows.
    """

    answers = Answers({}, {}, {})

    def fill(self, cells: RowChunk, first_row: int) -> None:
        """Write the most probable state or the mean of each wanted missing value."""
        network, options = self.network, self.options
        self._start(cells)
        answers, columns, matrix = _make_answers(network, self.wanted, cells.missing.shape[1])
        to_sample = np.zeros(cells.missing.shape, dtype=bool)
        solver, others = self._split(cells.missing)
        if solver is not None:
            logs = np.zeros(cells.missing.shape[1])
            solver.describe(network, cells.rows, columns, matrix, logs)
            self.failed |= logs == -np.inf
        for block, observed, plan in self._plan(others):
            for one in plan:
                if isinstance(one, Question):
                    found = answer_question(network, one, cells.rows.take(block.rows), observed)
                    _set_answers(answers, found, block.rows)
                else:
                    to_sample[np.array(one)[:, None], block.rows] = True
        for rows, missing, targets in _split_samples(cells.missing, to_sample):
            found, self.effective_sizes[rows] = weigh_samples(
                network, targets, cells.rows.take(rows), ~missing, options.n_samples, options.key, first_row + rows
            )
            _set_answers(answers, found, rows)
        for v in self.wanted:
            values = answers.probabilities[v][:, 0] if network.cards[v] else answers.means[v]
            self.failed |= cells.missing[v] & np.isnan(values)
        self._finish(cells)
        self.answers = answers
        for v in self.wanted:
            missing = cells.missing[v]
            if self.network.cards[v]:
                cells.rows.codes[v, missing] = answers.probabilities[v][missing].argmax(axis=1)
            else:
                cells.rows.numbers[v, missing] = answers.means[v][missing]

    def needs_samples(self, missing: np.ndarray) -> bool:
        """Return whether rows with these missing variables, bool (n,), are sampled."""
        _, others = self._split(missing[:, None])
        return any(isinstance(one, list) for _, _, plan in self._plan(others) for one in plan)

    def _is_sampled(self, hidden: list[int]) -> bool:
        return True

    def _make_plan(self, hidden: list[int], observed: np.ndarray) -> list:
        targets = [v for v in hidden if self._is_wanted[v]]
        if self.options.inference == "weighting":
            return [targets]
        # All targets together share their work; if that is too large, each alone may be small enough.
        whole = plan_question(self.network, observed, targets)
        if whole.cells <= self._limit():
            return [whole]
        plan: list = []
        left = []
        for v in targets:
            question = plan_question(self.network, observed, [v])
            if question.cells <= self._limit():
                plan.append(question)
            elif self.options.inference == "auto":
                left.append(v)
            else:
                raise self._refuse([v], question.cells)
        return [*plan, left] if left else plan


class MostProbableRows(RowAnswers[tuple]):
    r"""The configuration :math:`\hat\imath = \arg\max_i \int p(i, x)\, dx_m` of a row, and means given it.

    Both factorise over blocks; means are exact with every engine. A plan has the discrete variables of a block and
    the Question for them (None: they are sampled); without discrete variables, the Question for the means.
    """

    def fill(self, cells: RowChunk, first_row: int) -> None:
        """Write the configuration and the means into the wanted missing values, and those connected with them."""
        network = self.network
        self._start(cells)
        to_sample = np.zeros(cells.missing.shape, dtype=bool)
        others = self._maximise(cells, cells.missing)
        if others:
            for block, observed, (states, question) in self._plan(others):
                if states and question is not None:
                    codes, maxima = find_most_probable(network, question, cells.rows.take(block.rows), observed)
                    cells.rows.codes[np.array(states)[:, None], block.rows] = codes
                    self.failed[block.rows] |= maxima == -np.inf
                elif states:
                    to_sample[np.array(states)[:, None], block.rows] = True
            self._weigh(cells, to_sample, first_row)
            self._fill_means(cells, others)
        self._finish(cells)

    def _maximise(self, cells: RowChunk, missing: np.ndarray) -> list[MissingBlock]:
        """Fill the small blocks; return the others."""
        solver, others = self._split(missing)
        if solver is not None:
            maxima = np.zeros(missing.shape[1])
            solver.maximise(self.network, cells.rows, cells.rows, maxima)
            self.failed |= maxima == -np.inf
        return others

    def _fill_means(self, cells: RowChunk, blocks: list[MissingBlock]) -> None:
        """Write the means of the continuous variables of blocks whose discrete variables are known now."""
        missing = np.zeros(cells.missing.shape, dtype=bool)
        for block in blocks:
            continuous = [v for v in block.hidden if not self.network.cards[v]]
            missing[np.array(continuous, dtype=np.intp)[:, None], block.rows] = True
        for block, observed, (_, question) in self._plan(self._maximise(cells, missing)):
            found = answer_question(self.network, question, cells.rows.take(block.rows), observed)
            for v, means in found.means.items():
                cells.rows.numbers[v, block.rows] = means

    def _weigh(self, cells: RowChunk, to_sample: np.ndarray, first_row: int) -> None:
        """Write the configurations of largest total weight."""
        options = self.options
        for rows, missing, targets in _split_samples(cells.missing, to_sample):
            groups = [
                [v for v in block.hidden if v in targets] for block in find_blocks(self._families, missing[:, None])
            ]
            groups = [group for group in groups if group]
            chosen, self.effective_sizes[rows] = weigh_configurations(
                self.network,
                groups,
                cells.rows.take(rows),
                ~missing,
                options.n_samples,
                options.key,
                first_row + rows,
            )
            for group, codes in zip(groups, chosen, strict=True):
                cells.rows.codes[np.array(group)[:, None], rows] = codes
        self.failed |= self.effective_sizes == 0.0

    def needs_samples(self, missing: np.ndarray) -> bool:
        """Return whether rows with these missing variables, bool (n,), are sampled."""
        _, others = self._split(missing[:, None])
        return any(states and question is None for _, _, (states, question) in self._plan(others))

    def _is_sampled(self, hidden: list[int]) -> bool:
        return any(self.network.cards[v] for v in hidden)

    def _make_plan(self, hidden: list[int], observed: np.ndarray) -> tuple[list[int], Question | None]:
        states = [v for v in hidden if self.network.cards[v]]
        if states and self.options.inference == "weighting":
            return states, None
        targets = states or [v for v in hidden if self._is_wanted[v]]
        question = plan_question(self.network, observed, targets)
        if question.cells <= (self._limit() if states else EXACT_CELLS):
            return states, question
        if states and self.options.inference == "auto":
            return states, None
        raise self._refuse(targets, question.cells)


def _make_answers(network: MixedFamilies, wanted: Sequence[int], n_rows: int) -> tuple[Answers, np.ndarray, np.ndarray]:
    """Return empty results, the first row of each variable in a matrix, -1 without one, and the matrix they share."""
    answers, columns, width = Answers({}, {}, {}), np.full(len(network.cards), -1, dtype=np.int64), 0
    for v in wanted:
        columns[v] = width
        width += network.cards[v] or 2
    matrix = np.full((width, n_rows), np.nan)
    for v in wanted:
        at = int(columns[v])
        if network.cards[v]:
            answers.probabilities[v] = matrix[at : at + network.cards[v]].T
        else:
            answers.means[v], answers.variances[v] = matrix[at], matrix[at + 1]
    return answers, columns, matrix


def _set_answers(answers: Answers, found: Answers, rows: np.ndarray) -> None:
    """Set the results of some rows."""
    for ours, theirs in zip(answers, found, strict=True):
        for v, values in theirs.items():
            ours[v][rows] = values


def _split_samples(missing: np.ndarray, to_sample: np.ndarray) -> Iterator[tuple[np.ndarray, np.ndarray, list[int]]]:
    """Yield rows with the same missing variables, bool (n,), and the same targets to sample, with both."""
    rows = np.flatnonzero(to_sample.any(axis=0))
    for of_rows, both in _split_patterns(np.vstack([missing, to_sample])[:, rows]):
        missed, targets = np.split(both, 2)
        yield rows[of_rows], missed, np.flatnonzero(targets).tolist()


def _split_patterns(missing: np.ndarray) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yield the rows with the same missing variables, and these variables."""
    if not missing.shape[1]:
        return
    packed = np.packbits(missing, axis=0)
    _, first, group = np.unique(packed, axis=1, return_index=True, return_inverse=True)
    group = group.reshape(-1)
    order = np.argsort(group, kind="stable")
    bounds = np.searchsorted(group[order], np.arange(len(first) + 1))
    for pattern, row in enumerate(first.tolist()):
        yield order[bounds[pattern] : bounds[pattern + 1]], missing[:, row]
