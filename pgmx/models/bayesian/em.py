"""Parameters of a Bayesian network from rows with missing values, by expectation maximisation (EM).

Dempster, Laird and Rubin (1977), Maximum likelihood from incomplete data via the EM algorithm, JRSS B 39. One loop
serves three kinds of rows. They differ in the statistics that the E-step expects and that the M-step fits:

    IncompleteDiscreteRows    counts of each family                      conditional probability tables
    IncompleteContinuousRows  mean and covariance of all columns         mean and precision of all columns
    IncompleteMixedRows       counts, and moments per configuration      tables and regressions per configuration

Structural EM (`pgmx.estimators.bayesian.structural_em`) searches graphs on rows that `complete` completes.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from pgmx.runs.checkpoint import Snapshot
from pgmx.runs.run import OutOfTimeError, is_past

#: EM ends after a step that gains at most this share of the log-likelihood (in absolute value), or of the total weight
#: of the rows, in nats, if that is larger: densities can make the log-likelihood of many rows almost 0.
TOLERANCE = 1e-7
#: Largest number of EM steps. With many missing values EM converges slowly, and each step needs a pass over the rows.
MAX_STEPS = 200
#: Plans that are kept: structural EM compares its best graph with two candidates per iteration.
MAX_PLANS = 3


@dataclass(frozen=True, eq=False)
class EMFit:
    """The parameters of a graph, and the statistics from which the M-step computed them.

    `log_likelihood` is the log-likelihood of the observed values under the parameters, in nats and in the units of the
    table. `expected` are the statistics that the E-step expects under the parameters. The types of statistics and
    parameters depend on the rows.
    """

    edges: np.ndarray
    families: list[tuple[int, ...]]
    statistics: Any
    parameters: Any
    log_likelihood: float
    expected: Any


class IncompleteRows(ABC):
    """The weighted rows of a table with missing values.

    A subclass has the E-step `_expect`, the M-step `_estimate`, and initial statistics.
    """

    def __init__(self, n_columns: int, n: float):
        #: Number of columns, and total weight of the rows.
        self.n_columns, self.n = n_columns, n
        self._plans: dict[tuple, Any] = {}

    def __getstate__(self) -> dict[str, Any]:
        """Return the state without plans, because kernels in them cannot be pickled."""
        return self.__dict__ | {"_plans": {}}

    def families(self, edges: np.ndarray) -> list[tuple[int, ...]]:
        """Return (v, parents...) for each variable, parents in ascending order."""
        parents: list[list[int]] = [[] for _ in range(self.n_columns)]
        for tail, head in np.asarray(edges).tolist():
            parents[head].append(tail)
        return [(v, *sorted(family)) for v, family in enumerate(parents)]

    # ---- EM ----

    def fit(
        self, edges: np.ndarray, statistics: Any = None, *, max_steps: int = MAX_STEPS, deadline: float = np.inf
    ) -> EMFit:
        """Return the parameters of a graph after at most `max_steps` steps from `statistics`.

        By default the first step starts from the rows in which a family, or the table, is observed.
        """
        families = self.families(edges)
        first = self._start(families) if statistics is None else statistics
        fit = self._evaluate(edges, families, first)  # whatever the deadline, because the caller needs a fit
        return self.resume(fit, max_steps=max_steps, deadline=deadline)

    def resume(self, fit: EMFit, *, max_steps: int = MAX_STEPS, deadline: float = np.inf) -> EMFit:
        """Return the parameters after further steps. The log-likelihood does not fall."""

        def step(fit: EMFit) -> EMFit:
            return self._evaluate(fit.edges, fit.families, fit.expected, may_end=True)

        return self._iterate(fit, step, max_steps, deadline)

    def _iterate(
        self,
        fit: Any,
        step: Callable[[Any], Any],
        max_steps: int,
        deadline: float = np.inf,
        tolerance: float = TOLERANCE,
    ) -> Any:
        """Return the result of repeated steps; `step` maps a fit to the next one, or raises OutOfTimeError."""
        for _ in range(max_steps):
            if is_past(deadline):
                break
            try:
                following = step(fit)
            except OutOfTimeError:
                break
            gain = following.log_likelihood - fit.log_likelihood
            if gain > 0.0:  # at the maximum, rounding errors may lower the likelihood
                fit = following
            if not gain > tolerance * max(abs(fit.log_likelihood), self.n):  # also if the gain is not a number
                break
        return fit

    def _evaluate(
        self, edges: np.ndarray, families: list[tuple[int, ...]], statistics: Any, *, may_end: bool = False
    ) -> EMFit:
        """Return the parameters that maximise the likelihood of the statistics (M-step), and their E-step."""
        parameters = self._estimate(families, statistics)
        log_likelihood, expected = self._expect(families, parameters, may_end=may_end)
        return EMFit(edges, families, statistics, parameters, log_likelihood, expected)

    @abstractmethod
    def _start(self, families: list[tuple[int, ...]]) -> Any:
        """Return statistics of observed values, from which EM starts."""

    @abstractmethod
    def _estimate(self, families: list[tuple[int, ...]], statistics: Any) -> Any:
        """Return the maximum likelihood parameters of complete rows with these statistics."""

    @abstractmethod
    def _expect(self, families: list[tuple[int, ...]], parameters: Any, *, may_end: bool) -> tuple[float, Any]:
        """Return the log-likelihood of the observed values, and the expected statistics.

        With `may_end` a long pass may raise OutOfTimeError at the time limit of the run.
        """

    # ---- plans ----

    def _plan(self, families: list[tuple[int, ...]]) -> Any:
        """Return the plan of a graph: what the E-step needs for all parameters. The last plans are cached."""
        key = tuple(families)
        plan = self._plans.pop(key, None)
        if plan is None:
            if len(self._plans) == MAX_PLANS:
                del self._plans[next(iter(self._plans))]  # the plan that was used least recently
            plan = self._make_plan(families)
        self._plans[key] = plan
        return plan

    def _make_plan(self, families: list[tuple[int, ...]]) -> Any:
        raise NotImplementedError(f"the E-step of {type(self).__name__} has no plans")

    # ---- completed rows ----

    @abstractmethod
    def complete(self, fit: EMFit, seed: int) -> Any:
        """Return weighted complete rows, or the statistics of them, to which a score can be bound.

        They represent the distribution of the rows given their observed values. The same seed gives the same draws.
        """

    @abstractmethod
    def complete_at_random(self, seed: int) -> Any:
        """Return the same with missing values drawn from the observed values of their columns."""

    @abstractmethod
    def count(self, edges: np.ndarray, completed: Any) -> Any:
        """Return the statistics of completed rows for the families of a graph."""

    @abstractmethod
    def impute(self, fit: EMFit) -> Any:
        """Return the rows; a missing value becomes its most probable state, or its mean, given the row."""

    # ---- checkpoints ----

    def describe(self, fit: EMFit) -> dict[str, np.ndarray]:
        """Return the arrays from which `read_statistics` restores the statistics of a fit."""
        return {f"counts_{v}": counts for v, counts in enumerate(fit.statistics)}

    @abstractmethod
    def read_statistics(self, snapshot: Snapshot, edges: np.ndarray) -> Any:
        """Return the statistics of a graph from the arrays of `describe`."""
