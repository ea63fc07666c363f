"""The log-partition as a number that says how it was computed and what it can be off by."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any, Self

import numpy as np

from pgmx.checks import caller_level
from pgmx.inference.engines import BeliefEngine
from pgmx.inference.exact.bucket_elimination import count_elimination_cost, sum_by_elimination
from pgmx.inference.exact.elimination import TreewidthError, search_order, too_wide
from pgmx.inference.networks.evidence import ReducedNetwork, describe_impossible
from pgmx.inference.networks.potentials import PairwisePotentials
from pgmx.inference.problem import Problem, check_memory


class ApproximationWarning(UserWarning):
    """Exact inference would take more memory than was granted, and the answer is an approximation."""


class LogPartition(float):
    """A log-partition in nats: a float that says how it was computed.

    Parameters
    ----------
    value : float
        The estimate.
    method : {"exact", "loopy"}
        Variable elimination (or a junction tree), or Bethe's approximation.
    standard_error : float, default=0.0
        0 where it is exact, NaN where nothing is known of the error.
    lower, upper : float, optional
        Between these the true value lies; the value itself by default.

    Attributes
    ----------
    method, standard_error, lower, upper
        As above.
    exact : bool
        Whether the value is exact up to rounding.

    Examples
    --------
    >>> from pgmx.inference import PairwisePotentials, log_partition
    >>> answer = log_partition(PairwisePotentials.independent([2, 4]))
    >>> round(answer, 6), answer.method, answer.exact, answer.standard_error
    (2.079442, 'exact', True, 0.0)
    """

    method: str
    standard_error: float
    lower: float
    upper: float

    def __new__(
        cls,
        value: float,
        method: str,
        standard_error: float = 0.0,
        lower: float | None = None,
        upper: float | None = None,
    ) -> Self:
        """Make the number; its error is 0 and its bounds are itself unless they are said."""
        self = super().__new__(cls, value)
        self.method = method
        self.standard_error = standard_error
        self.lower = float(value) if lower is None else lower
        self.upper = float(value) if upper is None else upper
        return self

    @property
    def exact(self) -> bool:
        """Whether the value is exact up to rounding."""
        return self.method == "exact"

    def __reduce__(self) -> tuple[type, tuple]:
        return type(self), (float(self), self.method, self.standard_error, self.lower, self.upper)


def compute_log_partition(
    problem: Problem, codes: Mapping[int, int], method: str, memory: int | None, options: Mapping[str, Any]
) -> LogPartition:
    """Compute the log-partition exactly where `memory` allows, else by belief propagation if the method is "auto"."""
    if method == "loopy":
        return describe_beliefs(BeliefEngine(problem, codes, options))
    try:
        return LogPartition(eliminate(problem, codes, check_memory(memory)).sum(), "exact")
    except TreewidthError as error:
        if method == "exact":
            raise error.with_engines("loopy belief propagation (method='loopy')") from None
        return describe_beliefs(BeliefEngine(problem, codes, options), error)


def eliminate(problem: Problem, codes: Mapping[int, int], memory: int) -> np.ndarray:
    """Return the exact log-partition, a share per variable and a constant, (n + 1,).

    The shares of a connected part sum to its own; a TreewidthError says where that takes more than `memory` bytes.
    """
    reduced = ReducedNetwork(problem.model, codes)
    plan = search_order(reduced.cards, [scope for scope, _ in reduced.factors], by_largest=True)
    cost = count_elimination_cost(plan, reduced.cards)
    if cost.bytes > memory:
        raise too_wide(plan.width, cost.bytes, memory)
    shares = np.append(sum_by_elimination(plan, reduced.cards, reduced.factors), reduced.constant)
    if shares.min() == -np.inf:
        raise ValueError(describe_impossible(reduced.evidence))
    return shares


def warn_approximate(what: str, error: TreewidthError) -> None:
    """Warn the caller of pgmx that an answer is an approximation, and why."""
    warnings.warn(
        f"{what}. Reason: {error.problem}; grant more memory, or choose the method",
        ApproximationWarning,
        caller_level(),
    )


def describe_beliefs(engine: BeliefEngine, error: TreewidthError | None = None) -> LogPartition:
    """Return Bethe's approximation with bounds on the true value; warn where an error is why it is not exact."""
    lower, upper = engine.map().log_value, _bound_from_above(engine.potentials, engine.codes)
    answer = LogPartition(engine.log_partition, "loopy", np.nan, lower, upper)
    if error is not None:
        warn_approximate(
            f"the log-partition is Bethe's approximation, {answer:.6g}, whose error is unknown; the true one lies "
            f"between {lower:.6g} and {upper:.6g}",
            error,
        )
    return answer


def _bound_from_above(potentials: PairwisePotentials, codes: Mapping[int, int]) -> float:
    """Return the log-partition of independent variables, with the largest cell of each edge's table for the edge."""
    reduced = ReducedNetwork(potentials, codes)
    total = reduced.constant
    singles = [np.zeros(card) for card in reduced.cards]
    for scope, table in reduced.factors:
        if len(scope) == 1:
            singles[scope[0]] = singles[scope[0]] + table
        else:
            total += float(table.max())
    return total + float(sum(np.logaddexp.reduce(single) for single in singles))
