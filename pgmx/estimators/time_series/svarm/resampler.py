"""Resamples of the rows of a structural vector autoregression, with blocks of columns computed once."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from time import perf_counter
from typing import Any, NamedTuple, Self

import numpy as np

from pgmx.data.draws import count_draws
from pgmx.data.series import Panel
from pgmx.estimators.time_series.blocks import BlockLearner, BlockProblem, BlockResampler, cut_blocks
from pgmx.estimators.time_series.learner import clone_silent
from pgmx.estimators.time_series.svarm.problem import (
    BlockKnowledge,
    Trials,
    add_strengths,
    gather_estimates,
    list_columns,
    solve_parts,
    span_columns,
)
from pgmx.models import TimeSeriesGraph
from pgmx.parallel.tasks import SharedArrays
from pgmx.runs.run import current_deadline
from pgmx.solvers.time_series.group_lasso import GroupEstimates, GroupLassoProblem
from pgmx.solvers.time_series.kernel_blocks import KernelBlocks


class SVARMRows(NamedTuple):
    """Rows of all predicted times: columns (T', F), targets (T', N) and unpenalised columns (T', q)."""

    columns: np.ndarray
    targets: np.ndarray
    basis: np.ndarray

    def draw(self, counts: np.ndarray, is_squared: bool) -> Self:
        """Return the rows times the roots of their counts (T',), minus their projection on unpenalised columns.

        Only the squared loss of a row times a root is the loss times the count; otherwise rows are repeated.
        """
        chosen = np.flatnonzero(counts)
        if not is_squared:
            chosen = np.repeat(chosen, counts[chosen])
        roots = np.sqrt(counts[chosen])[:, None] if is_squared else np.ones((len(chosen), 1))
        columns, targets, basis = (roots * part[chosen] for part in self)
        basis = span_columns(np.hstack([roots, basis]))
        return type(self)(_project(columns, basis), _project(targets, basis), basis)


@dataclass(frozen=True, eq=False)
class SVARMResampler(BlockResampler):
    """The common input of all resamples: a learner, the blocks without their columns, and knowledge of edges."""

    learner: Any
    blocks: KernelBlocks
    knowledge: BlockKnowledge

    @classmethod
    def from_panel(cls, learner: Any, panel: Panel) -> tuple[Self, SVARMRows]:
        """Return the resampler of a learner, and the rows of a panel."""
        if isinstance(panel, Trials):
            raise ValueError("BlockBootstrap is for series: blocks of independent rows of inputs have no order")
        problem = learner._make_problem(panel)
        rows = SVARMRows(problem.free.columns, np.ascontiguousarray(problem.centred.T), problem.basis)
        return cls(learner, problem.free.drop_columns(), problem.knowledge), rows

    def solve_all(self, arrays: SharedArrays, seed: int, numbers: range) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Yield the edges of each resample, and their strengths or standardised coefficients."""
        rows, sizes = SVARMRows(arrays.columns, arrays.targets, arrays.basis), arrays.sizes
        for number in numbers:
            edges, values = self.solve(rows, np.repeat(count_draws(seed, number, len(sizes)), sizes))
            yield edges, values * edges

    def solve(self, rows: SVARMRows, counts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the edges [lag, target, source] of a resample, and its strengths or standardised coefficients.

        The columns are the columns of all rows, centred again.
        """
        learner, objective = self.learner, self.learner._make_objective()
        sample = rows.draw(counts, objective.is_squared)
        parts = list(self._divide(sample))
        problems = [(part.problem, part.basis) for part in parts]
        lam = learner.lam
        if lam is None:
            lam = learner.lam_ratio * max(objective.find_lam_max(*problem) for problem in problems)
        deadline = current_deadline() if learner.max_time is None else perf_counter() + learner.max_time
        options = {"tol": learner.tol, "max_iter": learner.max_iter, "deadline": deadline}
        (estimates,) = solve_parts(objective, problems, np.array([lam]), learner.solver, **options)
        n = sample.targets.shape[1]
        weights, strengths = np.zeros((n, self.blocks.starts[-1])), np.zeros((learner.lags + 1, n, n))
        for part, estimate in zip(parts, estimates, strict=True):
            weights[part.targets] = part.complete(estimate, self.blocks, sample)
        add_strengths(strengths, self.blocks, np.arange(n), weights)
        learner._warn_unless_converged([gather_estimates(lam, estimates, strengths, learner.tol)])
        return learner._find_edges(strengths), learner._read_effects(self.blocks, weights, strengths)

    def _divide(self, sample: SVARMRows) -> Iterator["_Subproblem"]:
        """Yield the targets with the same required edges, whose columns are removed."""
        for targets, needed in self.knowledge.divide(self.blocks):
            required = list_columns(self.blocks, needed)
            basis = span_columns(sample.columns[:, required])
            # the group lasso needs columns that are orthogonal within each block, which resampling has changed
            columns, rotations = _orthogonalise(_project(sample.columns, basis), self.blocks.starts)
            rows = np.ascontiguousarray(_project(sample.targets[:, targets], basis).T)
            problem = GroupLassoProblem(
                columns, self.blocks.starts, rows, self.knowledge.penalise(targets, self.blocks)
            )
            yield _Subproblem(targets, problem, np.hstack([sample.basis, basis]), rotations, required)


class _Subproblem(NamedTuple):
    """Targets with the same required edges: their problem in rotated columns, and the required columns."""

    targets: np.ndarray
    problem: GroupLassoProblem
    basis: np.ndarray
    rotations: list[np.ndarray]
    required: np.ndarray

    def complete(self, estimate: GroupEstimates, blocks: KernelBlocks, sample: SVARMRows) -> np.ndarray:
        """Return the weights (m, F) of the original columns; weights of required blocks are not penalised."""
        weights = estimate.coefficients.copy()
        for (begin, end), rotation in zip(pairwise(blocks.starts), self.rotations, strict=True):
            weights[:, begin:end] = estimate.coefficients[:, begin:end] @ rotation.T
        if len(self.required):
            remainder = sample.targets[:, self.targets] - sample.columns @ weights.T
            if estimate.residuals is not None:
                # the unpenalised part of the fit, without the part of the columns that are no edges
                remainder = _project(remainder - estimate.residuals.T, sample.basis)
            fit = np.linalg.lstsq(sample.columns[:, self.required], remainder, rcond=None)[0]
            weights[:, self.required] = fit.T
        return weights


class ResampledSVARM(BlockLearner):
    """Mixin: resamples of learners whose effects are strengths, without coefficients."""

    def _open_blocks(self: Any, X: Any) -> Panel:
        return self._open_panel(X)

    def _divide_blocks(self: Any, opened: Panel, choose_length: Callable[[int], int]) -> BlockProblem:
        length = choose_length(opened.count_targets(self.lags))
        sizes = cut_blocks((len(segment) - self.lags for segment in opened.segments), length)
        resampler, rows = SVARMResampler.from_panel(clone_silent(self), opened)
        return BlockProblem(resampler, SharedArrays(**rows._asdict(), sizes=sizes), self._measure_units())

    def _graph_resamples(self: Any, means: np.ndarray, confidence: np.ndarray) -> TimeSeriesGraph:
        return TimeSeriesGraph.from_coefficients(
            self.variables_, None, strengths=means, confidence=confidence, undirected_instantaneous=self._is_skeleton()
        )

    def _measure_units(self: Any) -> np.ndarray:
        """Return the units (n, n) of effects."""
        return np.ones((self.n_features_in_, self.n_features_in_))

    def _read_effects(self, blocks: KernelBlocks, weights: np.ndarray, strengths: np.ndarray) -> np.ndarray:
        """Return the effects [lag, target, source] of weights (n, F) and their strengths, in units of the solver."""
        return strengths


def _orthogonalise(columns: np.ndarray, starts: np.ndarray) -> tuple[np.ndarray, list[np.ndarray]]:
    """Return columns that are orthogonal within each block, and the rotations that give them."""
    rotations = []
    result = np.empty_like(columns)
    for begin, end in pairwise(starts):
        block = columns[:, begin:end]
        rotations.append(np.linalg.eigh(block.T @ block)[1])
        result[:, begin:end] = block @ rotations[-1]
    return result, rotations


def _project(columns: np.ndarray, basis: np.ndarray) -> np.ndarray:
    """Return columns minus their projections on the span of an orthonormal basis."""
    return columns - basis @ (basis.T @ columns)
