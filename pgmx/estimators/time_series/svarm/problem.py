"""Series, kernels and knowledge as group lassos, and the solutions as an additive model of the series."""

import dataclasses
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple, Self

import numpy as np

from pgmx.data.series import Panel
from pgmx.estimators.time_series.knowledge import LaggedKnowledge
from pgmx.solvers.time_series.group_lasso import (
    GroupEstimates,
    GroupLassoProblem,
    Record,
    count_freedom,
    solve_by_admm,
    solve_path,
)
from pgmx.solvers.time_series.group_ridge import GroupRidge
from pgmx.solvers.time_series.group_robust import find_lam_max, solve_robust
from pgmx.solvers.time_series.kernel_blocks import Kernel, KernelBlocks, build_blocks


@dataclass(frozen=True, eq=False)
class Trials(Panel):
    """Rows of inputs, one segment, and the `responses` (T, N) of the same nodes; rows are independent of each other."""

    responses: np.ndarray

    @classmethod
    def pair(cls, inputs: Panel, responses: Panel) -> Self:
        """Return the trials of two panels with the same series."""
        (rows,) = responses.select(inputs.names).segments
        fields = {field.name: getattr(inputs, field.name) for field in dataclasses.fields(inputs)}
        return cls(**fields, responses=rows)

    def means(self) -> np.ndarray:
        """Return the means of the responses, (N,)."""
        return self.responses.mean(axis=0)

    def scales(self) -> np.ndarray:
        """Return the population standard deviations of the responses, (N,)."""
        return self.responses.std(axis=0)

    def divide(self, n_parts: int) -> list["Trials"]:
        """Return successive rows as trials of their own."""
        rows = zip(np.array_split(self.segments[0], n_parts), np.array_split(self.responses, n_parts), strict=True)
        return [
            dataclasses.replace(self, segments=(x,), exogenous=(np.empty((len(x), 0)),), responses=y) for x, y in rows
        ]


def list_targets(panel: Panel, lags: int) -> np.ndarray:
    """Return the targets (T', N) of a panel: the responses of trials, or the rows with a whole lag window."""
    if isinstance(panel, Trials):
        return panel.responses
    return np.concatenate([segment[lags:] for segment in panel.segments if len(segment) > lags])


@dataclass(frozen=True, eq=False)
class Term:
    """The functions of one lag, series and kernel: `weights` (r, m) of the `targets` (m,) on the columns of a block."""

    lag: int
    source: int
    blocks: KernelBlocks
    block: int
    targets: np.ndarray
    weights: np.ndarray

    def evaluate(self, values: np.ndarray) -> np.ndarray:
        """Return the functions at values of the series, (T, m)."""
        return self.blocks.extend(self.block, values) @ self.weights


@dataclass(frozen=True, eq=False)
class AdditiveTerms:
    """Targets as an intercept (N,), exogenous columns times coefficients (N, K), and terms, in standardised units."""

    lags: int
    terms: tuple[Term, ...]
    intercept: np.ndarray
    exogenous: np.ndarray

    def evaluate_segment(self, segment: np.ndarray, exogenous: np.ndarray) -> np.ndarray:
        """Return the values (T_s - L, N) of the targets of one segment (T_s, N), exogenous rows (T_s, K)."""
        n_targets = len(segment) - self.lags
        values = np.tile(self.intercept, (n_targets, 1))
        if exogenous.shape[1]:
            values += exogenous[self.lags :] @ self.exogenous.T
        for term in self.terms:
            begin = self.lags - term.lag
            values[:, term.targets] += term.evaluate(segment[begin : begin + n_targets, term.source])
        return values

    def evaluate(self, panel: Panel) -> np.ndarray:
        """Return the values (T', N) of all targets of a panel."""
        return np.concatenate(
            [
                self.evaluate_segment(segment, exogenous)
                for segment, exogenous in zip(panel.segments, panel.exogenous, strict=True)
                if len(segment) > self.lags
            ]
        )


def make_terms(blocks: KernelBlocks, weights: np.ndarray, targets: np.ndarray) -> Iterable[Term]:
    """Yield the terms whose weights (m, F) of the targets (m,) are not all zero; the columns are discarded."""
    light = blocks.drop_columns()
    for b in range(blocks.n_blocks):
        part = weights[:, blocks.starts[b] : blocks.starts[b + 1]]
        used = np.flatnonzero(part.any(axis=1))
        if len(used):
            lag, source = int(blocks.lags[b]), int(blocks.sources[b])
            yield Term(lag, source, light, b, targets[used], np.ascontiguousarray(part[used].T))


def read_lines(terms: Iterable[Term], shape: tuple[int, ...]) -> tuple[np.ndarray, np.ndarray]:
    """Return the slopes (L + 1, N, N) [lag, target, source] of linear terms, and the sums of their values at zero."""
    slopes, shift = np.zeros(shape), np.zeros(shape[1])
    for term in terms:
        at_zero, at_one = term.evaluate(np.array([0.0, 1.0]))
        slopes[term.lag, term.targets, term.source] += at_one - at_zero
        shift[term.targets] += at_zero
    return slopes, shift


# ---- the problem ----

LOSSES, PENALTIES = ("squared", "absolute", "epsilon_insensitive"), ("lasso", "ridge")


class Objective(NamedTuple):
    """Loss and penalty. ε is 0 for the absolute loss, which is a special case of the ε-insensitive one."""

    is_squared: bool = True
    epsilon: float = 0.0
    is_ridge: bool = False

    @classmethod
    def from_options(cls, loss: str, epsilon: float, penalty: str) -> "Objective":
        """Return the objective of the options of a learner."""
        epsilon = float(epsilon) if loss == "epsilon_insensitive" else 0.0
        return cls(loss == "squared", epsilon, penalty == "ridge")

    def find_lam_max(self, problem: GroupLassoProblem, basis: np.ndarray) -> float:
        """Return the smallest penalty at which the lasso has no edge."""
        return problem.lam_max if self.is_squared else find_lam_max(problem, basis, self.epsilon)

    def solve_path(
        self, problem: GroupLassoProblem, basis: np.ndarray, lams: np.ndarray, solver: str, **options: Any
    ) -> Iterator[GroupEstimates]:
        """Return the solutions at descending penalties; `basis` are the orthonormal unpenalised columns."""
        if not self.is_squared:
            kind: dict[str, Any] = {"epsilon": self.epsilon, "is_ridge": self.is_ridge}
            return (solve_robust(problem, lam, basis, **kind, **options) for lam in lams.tolist())
        if self.is_ridge:
            return (GroupRidge(problem, lam).solve() for lam in lams.tolist())
        if solver == "admm":
            return map(partial(solve_by_admm, problem, **options), lams)
        return solve_path(problem, lams, **options)


@dataclass(frozen=True, eq=False)
class SVARMEstimate:
    """Solutions at one penalty, for each subproblem, and the strengths [lag, target, source]."""

    lam: float
    parts: tuple[GroupEstimates, ...]
    strengths: np.ndarray
    objective: float
    dual_gap: float
    converged: bool
    n_iter: int


@dataclass(frozen=True, eq=False)
class _Subproblem:
    """Targets with the same unpenalised blocks: `required` of `free`, which are removed from `problem`.

    `basis` (T', q) are the orthonormal unpenalised columns, with the constant.
    """

    targets: np.ndarray
    basis: np.ndarray
    blocks: KernelBlocks
    problem: GroupLassoProblem
    free: KernelBlocks
    required: np.ndarray
    centred: np.ndarray


class BlockKnowledge(NamedTuple):
    """Knowledge of edges, Booleans [target, lag, source]."""

    allowed: np.ndarray
    required: np.ndarray

    def divide(self, blocks: KernelBlocks) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Yield the targets with the same required edges, and their required blocks."""
        patterns, owners = np.unique(self.required.reshape(len(self.required), -1), axis=0, return_inverse=True)
        for k, pattern in enumerate(patterns):
            needed = pattern.reshape(self.required.shape[1:])[blocks.lags, blocks.sources]
            yield np.flatnonzero(owners.ravel() == k), np.flatnonzero(needed)

    def penalise(self, targets: np.ndarray, blocks: KernelBlocks) -> np.ndarray:
        """Return which blocks each target may use under the penalty, bool (m, B)."""
        return (self.allowed & ~self.required)[targets][:, blocks.lags, blocks.sources]


class SVARMProblem:
    """The group lassos of all series of a standardised panel, for one order."""

    def __init__(
        self,
        panel: Panel,
        lags: int,
        kernels: Sequence[tuple[Kernel, str]],
        knowledge: LaggedKnowledge,
        *,
        instantaneous: bool,
        max_rank: int | None,
        objective: Objective,
        used: np.ndarray | None,
    ):
        self.panel, self.order, self.n, self.objective = panel, lags, panel.n_series, objective
        if isinstance(panel, Trials):
            # a response depends on the inputs of the other nodes in its row
            lags, instantaneous = 0, True
        self.lags = lags
        segments = [segment for segment in panel.segments if len(segment) > lags]
        self.segments = segments
        targets = list_targets(panel, lags)
        self.n_targets = len(targets)
        self.means = targets.mean(axis=0)
        rows = [e[lags:] for s, e in zip(panel.segments, panel.exogenous, strict=True) if len(s) > lags]
        self.exogenous = np.concatenate(rows)
        basis = span_columns(self.exogenous - self.exogenous.mean(axis=0))
        self.basis = basis
        centred = np.ascontiguousarray((targets - self.means).T)
        centred -= (centred @ basis) @ basis.T
        self.targets, self.centred = targets, centred
        build = partial(
            build_blocks, segments, lags, kernels, instantaneous=instantaneous, max_rank=max_rank, used=used
        )
        self.free = build(basis=basis if basis.shape[1] else None)
        allowed = np.ones((self.n, self.order + 1, self.n), dtype=bool)
        # no series explains itself at the same time
        allowed[np.arange(self.n), 0, np.arange(self.n)] = False
        allowed[knowledge.forbidden[:, 1], knowledge.forbidden[:, 0], knowledge.forbidden[:, 2]] = False
        required = np.zeros_like(allowed)
        required[knowledge.required[:, 1], knowledge.required[:, 0], knowledge.required[:, 2]] = True
        self.knowledge = BlockKnowledge(allowed, required)
        self.parts = tuple(self._divide(build))

    def _divide(self, build: Callable[..., KernelBlocks]) -> Iterator[_Subproblem]:
        """Yield the targets with the same required edges."""
        free, centred = self.free, self.centred
        constant = np.full((self.n_targets, 1), self.n_targets**-0.5)
        for members, needed in self.knowledge.divide(free):
            blocks, rows, wide = free, centred[members], self.basis
            if len(needed):
                wide = span_columns(np.hstack([self.basis, free.columns[:, list_columns(free, needed)]]))
                # required blocks are not penalised: they are removed from targets and columns, and solved at the end
                blocks = build(basis=wide)
                rows = rows - (rows @ wide) @ wide.T
            mask = self.knowledge.penalise(members, blocks)
            problem = GroupLassoProblem(blocks.columns, blocks.starts, rows, mask)
            yield _Subproblem(members, np.hstack([constant, wide]), blocks, problem, free, needed, centred[members])

    @property
    def lam_max(self) -> float:
        """The smallest penalty at which no edge is chosen."""
        return max(self.objective.find_lam_max(part.problem, part.basis) for part in self.parts)

    def solve(
        self, lams: np.ndarray, *, solver: str, tol: float, max_iter: int, deadline: float, record: Record | None = None
    ) -> Iterator[SVARMEstimate]:
        """Yield the estimates at descending penalties."""
        options: dict[str, Any] = {"tol": tol, "max_iter": max_iter, "deadline": deadline, "record": record}
        problems = [(part.problem, part.basis) for part in self.parts]
        paths = solve_parts(self.objective, problems, lams, solver, **options)
        for lam, estimates in zip(lams.tolist(), paths, strict=True):
            yield gather_estimates(lam, estimates, self._measure(estimates), tol)

    def _measure(self, estimates: Sequence[GroupEstimates]) -> np.ndarray:
        """Return the largest norm over the kernels of each lag, target and source."""
        strengths = np.zeros((self.order + 1, self.n, self.n))
        for part, estimate in zip(self.parts, estimates, strict=True):
            add_strengths(strengths, part.blocks, part.targets, estimate.coefficients)
            if len(part.required):
                add_strengths(strengths, part.free, part.targets, self._solve_required(part, estimate))
        return strengths

    def _solve_required(self, part: _Subproblem, estimate: GroupEstimates) -> np.ndarray:
        """Return the coefficients (m, F) of the required blocks, given the other coefficients."""
        remainder = part.centred - (0.0 if estimate.residuals is None else estimate.residuals)
        for term in make_terms(part.blocks, estimate.coefficients, np.arange(len(part.targets))):
            begin = self.lags - term.lag
            values = np.concatenate([rows[begin : len(rows) - term.lag, term.source] for rows in self.segments])
            remainder[term.targets] -= term.evaluate(values).T
        remainder -= (remainder @ self.basis) @ self.basis.T
        columns = list_columns(part.free, part.required)
        result = np.zeros((len(part.targets), part.free.columns.shape[1]))
        result[:, columns] = np.linalg.lstsq(part.free.columns[:, columns], remainder.T, rcond=None)[0].T
        return result

    def make_terms(self, estimate: SVARMEstimate) -> AdditiveTerms:
        """Return the additive model of an estimate, with its intercept and exogenous coefficients."""
        terms: list[Term] = []
        # least squares need no residuals: they are orthogonal to the unpenalised columns
        residuals = np.zeros_like(self.targets)
        for part, solution in zip(self.parts, estimate.parts, strict=True):
            if solution.residuals is not None:
                residuals[:, part.targets] = solution.residuals.T
            terms += make_terms(part.blocks, solution.coefficients, part.targets)
            if len(part.required):
                terms += make_terms(part.free, self._solve_required(part, solution), part.targets)
        model = AdditiveTerms(self.lags, tuple(terms), self.means, np.zeros((self.n, self.exogenous.shape[1])))
        if self.objective.is_squared and not self.exogenous.shape[1]:
            return model
        design = np.hstack([np.ones((self.n_targets, 1)), self.exogenous])
        remainder = self.targets - residuals - (model.evaluate(self.panel) - self.means)
        fit = np.linalg.lstsq(design, remainder, rcond=None)[0]
        return AdditiveTerms(self.lags, tuple(terms), fit[0], np.ascontiguousarray(fit[1:].T))

    def compute_criteria(self, estimate: SVARMEstimate) -> tuple[float, float]:
        r"""Return AIC and BIC, T' Σ ln(‖r_j‖² / T') plus 2 or ln T' times the degrees of freedom of all targets."""
        loss, freedom = 0.0, 0.0
        for part, solution in zip(self.parts, estimate.parts, strict=True):
            everyone = np.arange(len(part.targets))
            residuals = part.problem.compute_residuals(solution.coefficients, everyone)
            # 1e-300 for targets that are fitted exactly
            squares = np.maximum(np.einsum("nt,nt->n", residuals, residuals), 1e-300)
            loss += float(self.n_targets * np.log(squares / self.n_targets).sum())
            width = len(list_columns(part.free, part.required))
            freedom += (1 + self.basis.shape[1] + width) * len(everyone)
            if self.objective.is_ridge:
                freedom += float(GroupRidge(part.problem, estimate.lam).count_freedom().sum())
            else:
                freedom += float(count_freedom(part.problem, solution.coefficients, estimate.lam).sum())
        return loss + 2.0 * freedom, loss + float(np.log(self.n_targets)) * freedom


def solve_parts(
    objective: Objective,
    problems: Sequence[tuple[GroupLassoProblem, np.ndarray]],
    lams: np.ndarray,
    solver: str,
    **options: Any,
) -> Iterator[tuple[GroupEstimates, ...]]:
    """Yield the solutions of problems, each with its unpenalised columns, at descending penalties."""
    paths = [objective.solve_path(problem, basis, lams, solver, **options) for problem, basis in problems]
    return zip(*paths, strict=True)


def gather_estimates(
    lam: float, estimates: Sequence[GroupEstimates], strengths: np.ndarray, tol: float
) -> SVARMEstimate:
    """Return the solutions of all subproblems at one penalty as one."""
    objectives = np.concatenate([estimate.objectives for estimate in estimates])
    gaps = np.concatenate([estimate.gaps for estimate in estimates])
    return SVARMEstimate(
        lam=lam,
        parts=tuple(estimates),
        strengths=strengths,
        objective=float(objectives.sum()),
        dual_gap=float(np.maximum(gaps, 0.0).sum()),
        converged=bool((gaps <= tol * objectives).all()),
        n_iter=int(max(estimate.n_iter.max(initial=0) for estimate in estimates)),
    )


def add_strengths(strengths: np.ndarray, blocks: KernelBlocks, targets: np.ndarray, weights: np.ndarray) -> None:
    """Raise strengths [lag, target, source] to the norms of the blocks of weights (m, F) of targets (m,)."""
    norms = np.sqrt(np.add.reduceat(weights**2, blocks.starts[:-1], axis=1)) if blocks.n_blocks else weights
    places = (blocks.lags[:, None], targets[None, :], blocks.sources[:, None])
    np.maximum.at(strengths, places, norms.T)


def list_columns(blocks: KernelBlocks, chosen: np.ndarray) -> np.ndarray:
    """Return the columns of some blocks."""
    starts: Any = blocks.starts
    spans = [np.arange(starts[b], starts[b + 1]) for b in chosen]
    return np.concatenate(spans) if spans else np.zeros(0, dtype=np.int64)


def span_columns(columns: np.ndarray) -> np.ndarray:
    """Return an orthonormal basis of the span of some columns."""
    vectors, values, _ = np.linalg.svd(columns, full_matrices=False)
    # smaller singular values are rounding: their directions are arbitrary
    return vectors[:, values > 1e-10 * values.max(initial=0.0)]
