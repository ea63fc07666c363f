"""The log-partition, with the method that computed it, its standard error and bounds."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import Any, Self

import numpy as np

from pgmx.checks import caller_level, count_workers
from pgmx.inference.approximate.annealing import AIS_OPTIONS, AIS_TOLERANCE, estimate_by_annealing
from pgmx.inference.approximate.bounds import fit_mean_field, reweight_trees
from pgmx.inference.engines import BELIEF_OPTIONS, BeliefEngine
from pgmx.inference.exact.elimination_order import TreewidthError, make_treewidth_error, search_order
from pgmx.inference.exact.variable_elimination import (
    Component,
    choose_conditioning,
    count_elimination_cost,
    sum_by_conditioning,
    sum_by_elimination,
    sum_out_low_degrees,
)
from pgmx.inference.problem import (
    Evidence,
    NetworkLike,
    Problem,
    VirtualEvidence,
    check_memory,
    check_method,
    check_options,
)
from pgmx.inference.reduced_network import ReducedNetwork, ZeroProbabilityError

#: Largest number of multiplications of cutset conditioning: seconds for "auto", about ten minutes for "exact".
MOST_OPERATIONS = {"ais": 0, "auto": 2**30, "exact": 2**36}
#: Nats above which a standard error is called large.
LARGE_ERROR = 0.1


class ApproximationWarning(UserWarning):
    """The answer is an approximation, because exact inference would need more memory than allowed."""


class LogPartition(float):
    """A log-partition in nats: a float with the method that computed it, its standard error and bounds.

    Parameters
    ----------
    value : float
        The estimate.
    method : {"exact", "ais", "loopy"}
        Variable elimination (or a junction tree), annealed importance sampling, or Bethe's approximation.
    standard_error : float, default=0.0
        0 if the value is exact, NaN if the error is unknown.
    lower, upper : float, optional
        Bounds on the true value; the value itself by default.
    effective_sample_size : float, default=nan
        For "ais": the number of equally weighted chains of the same precision.

    Attributes
    ----------
    method, standard_error, lower, upper, effective_sample_size
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
    effective_sample_size: float

    def __new__(
        cls,
        value: float,
        method: str,
        standard_error: float = 0.0,
        lower: float | None = None,
        upper: float | None = None,
        effective_sample_size: float = float("nan"),
    ) -> Self:
        """Create the value; by default its error is 0 and its bounds equal the value."""
        self = super().__new__(cls, value)
        self.method = method
        self.standard_error = standard_error
        self.lower = float(value) if lower is None else lower
        self.upper = float(value) if upper is None else upper
        self.effective_sample_size = effective_sample_size
        return self

    @property
    def exact(self) -> bool:
        """Whether the value is exact up to rounding."""
        return self.method == "exact"

    def __reduce__(self) -> tuple[type, tuple]:
        fields = (self.method, self.standard_error, self.lower, self.upper, self.effective_sample_size)
        return type(self), (float(self), *fields)


def compute_log_partition(
    problem: Problem, codes: Mapping[int, int], method: str, memory: int | None, options: Mapping[str, Any]
) -> LogPartition:
    """Compute the log-partition by a method; "auto" uses annealing if exact inference needs more than `memory`."""
    if method == "loopy":
        return bound_beliefs(BeliefEngine(problem, codes, options))
    if problem.is_directed and method != "ais":
        try:
            return LogPartition(problem.exact(codes, memory).log_partition, "exact")
        except TreewidthError:  # elimination needs less memory than all tables of a component
            pass
    return compute_shares(problem, codes, method, check_memory(memory), options)[0]


def compute_shares(
    problem: Problem, codes: Mapping[int, int], method: str, memory: int, options: Mapping[str, Any]
) -> tuple[LogPartition, np.ndarray]:
    """Return the log-partition, and its decomposition into one share per variable and a constant, (n + 1,).

    The shares of a connected component sum to its log-partition. The methods are "auto", "exact" and "ais".
    """
    error = None
    if method != "ais":
        try:
            shares = eliminate(problem, codes, memory)
            return LogPartition(shares.sum(), "exact"), shares
        except TreewidthError as wide:
            error = wide
    return _sum_components(ReducedNetwork(problem.model, codes), method, memory if error else 0, error, options)


def _sum_components(
    reduced: ReducedNetwork, method: str, memory: int, error: TreewidthError | None, options: Mapping[str, Any]
) -> tuple[LogPartition, np.ndarray]:
    """Sum out leaves, then components that fit into `memory` bytes; estimate the others by annealing if allowed."""
    shares, components = sum_out_low_degrees(reduced.cards, reduced.factors)
    shares = np.append(shares, reduced.constant)
    wide = []
    for component in components:
        exact = _sum_exactly(component, memory, MOST_OPERATIONS[method], options.get("n_jobs"))
        if exact is None:
            wide.append(component)
        else:
            shares[component.variables] = exact
    if wide and method == "exact" and error is not None:
        raise error.with_engines("annealed importance sampling (method='ais')") from None
    # The squares of independent standard errors add up.
    settings = {**options, "tol": options.get("tol", AIS_TOLERANCE) / max(1.0, len(wide) ** 0.5)}
    estimates = [estimate_by_annealing(component.factors, **settings) for component in wide]
    rest = float(shares.sum())
    lower, upper = _add_bounds(rest, wide, [estimate.largest_score for estimate in estimates])
    if upper == -np.inf:
        raise ZeroProbabilityError(reduced.evidence)
    if not wide:
        return LogPartition(rest, "exact"), shares
    for component, estimate in zip(wide, estimates, strict=True):
        # An estimate cannot be divided among variables, and callers need only sums over components.
        shares[component.variables[0]] = estimate.value
    answer = LogPartition(
        shares.sum(),
        "ais",
        float(np.sqrt(sum(estimate.standard_error**2 for estimate in estimates))),
        lower,
        upper,
        min(estimate.effective_size for estimate in estimates),
    )
    if answer == -np.inf:
        raise ValueError(
            "annealed importance sampling found no configuration of positive probability. Check the evidence, increase "
            "max_work, or use method='exact' with more memory"
        )
    if error is not None:
        warn_approximate(_describe_estimate(answer), error)
    return answer, shares


def _sum_exactly(component: Component, memory: int, most_operations: int, n_jobs: int | None) -> np.ndarray | None:
    """Return the shares of a connected component's log-partition; None if it needs too much memory or time."""
    cards = component.factors.cardinalities.tolist()
    plan = search_order(cards, component.factors.scopes, by_largest=True)
    if count_elimination_cost(plan, cards).bytes <= memory:
        return sum_by_elimination(
            plan, cards, list(zip(component.factors.scopes, component.factors.tables, strict=True))
        )
    conditioning = choose_conditioning(
        cards, component.factors.scopes, memory // count_workers(n_jobs), most_operations
    )
    if conditioning is None:
        return None
    shares = np.zeros(len(cards))
    shares[0] = sum_by_conditioning(component.factors, conditioning, n_jobs)
    return shares


def _describe_estimate(answer: LogPartition) -> str:
    large = "" if answer.standard_error <= LARGE_ERROR else ", which is large: increase max_work or memory"
    return (
        f"the log-partition was estimated by annealed importance sampling: {answer:.8g} with standard error "
        f"{answer.standard_error:.2g} ({answer.effective_sample_size:.0f} effective samples){large}. The true value is "
        f"between {answer.lower:.8g} and {answer.upper:.8g}"
    )


def eliminate(problem: Problem, codes: Mapping[int, int], memory: int) -> np.ndarray:
    """Return the exact log-partition as one share per variable and a constant, (n + 1,).

    The shares of a connected component sum to its log-partition. Raises a TreewidthError if elimination needs more than
    `memory` bytes.
    """
    reduced = ReducedNetwork(problem.model, codes)
    plan = search_order(reduced.cards, [scope for scope, _ in reduced.factors], by_largest=True)
    cost = count_elimination_cost(plan, reduced.cards)
    if cost.bytes > memory:
        raise make_treewidth_error(plan.width, cost.bytes, memory)
    shares = np.append(sum_by_elimination(plan, reduced.cards, reduced.factors), reduced.constant)
    if shares.min() == -np.inf:
        raise ZeroProbabilityError(reduced.evidence)
    return shares


def warn_approximate(what: str, error: TreewidthError) -> None:
    """Warn the caller of pgmx that an answer is an approximation, and why."""
    warnings.warn(
        f"{what}. Reason: {error.problem}. Increase memory, or choose a method",
        ApproximationWarning,
        caller_level(),
    )


def bound_beliefs(engine: BeliefEngine) -> LogPartition:
    """Return Bethe's approximation with bounds on the true value."""
    reduced = ReducedNetwork(engine.problem.model, engine.codes)
    shares, components = sum_out_low_degrees(reduced.cards, reduced.factors)
    lower, upper = _add_bounds(reduced.constant + float(shares.sum()), components, [-np.inf] * len(components))
    return LogPartition(engine.log_partition, "loopy", np.nan, lower, upper)


def _add_bounds(constant: float, components: Sequence[Component], scores: Sequence[float]) -> tuple[float, float]:
    """Return bounds on the sum of a constant and the components' log-partitions; scores of states are lower bounds."""
    lower = sum(
        max(score, fit_mean_field(component.factors)) for component, score in zip(components, scores, strict=True)
    )
    return constant + lower, constant + sum(
        reweight_trees(component.factors.pairwise()).upper for component in components
    )


def log_partition(
    model: NetworkLike,
    evidence: Evidence | None = None,
    *,
    virtual_evidence: VirtualEvidence | None = None,
    do: Evidence | None = None,
    method: str = "auto",
    memory: int | None = None,
    **options: Any,
) -> LogPartition:
    r"""Return the logarithm of the sum over all configurations that agree with the evidence, in nats.

    .. math:: \log Z(e) = \log \sum_{x \sim e} \exp\Big(\sum_k \phi_k(x)\Big)

    Parameters
    ----------
    model : network, path, fitted learner, CompiledNetwork, PairwisePotentials or LogFactors
        The network, or a file of one (see :func:`pgmx.models.read_model`).
    evidence : dict of {name: state}, optional
        Observed variables. Of a Bayesian network the answer is log P(e); of a Markov network
        ``log_partition(m, e) - log_partition(m)`` is.
    virtual_evidence : dict of {name: likelihoods}, optional
        Uncertain observations: nonnegative likelihoods of the states, in their order or as ``{state: likelihood}``.
    do : dict of {name: state}, optional
        Interventions in a Bayesian network: the edges into these variables are removed.
    method : {"auto", "exact", "ais", "loopy"}, default="auto"
        "exact": variable elimination. "ais": annealed importance sampling. "loopy": the Bethe approximation of belief
        propagation. "auto": "exact" if memory allows, otherwise "ais".
    memory : int, optional
        Largest size in bytes of the tables of elimination; 2**31 by default, or the free memory if that is less.
    **options : dict
        For "loopy": the options of :func:`pgmx.inference.loopy_belief_propagation`. For "ais" and "auto":
        ``random_state=0``, ``n_chains=512``, ``tol=0.01``, ``max_work=4 * 10**9`` and ``n_jobs`` (see Notes). "exact"
        accepts ``n_jobs`` only.

    Returns
    -------
    LogPartition
        A float, in nats, with ``exact``, ``method``, ``standard_error`` (0 if exact, NaN for "loopy"),
        ``effective_sample_size``, and bounds ``lower`` and ``upper`` on the true value.

    Raises
    ------
    TypeError, TreewidthError, ValueError
        As :func:`marginals`; also if a seed, a number of chains or a tolerance is out of range.

    Warns
    -----
    ApproximationWarning
        If "auto" uses annealing. The warning reports the estimate, its standard error and the bounds.

    Notes
    -----
    Variable elimination frees each table after summing over it, and so needs less memory than a junction tree. A
    grid of 20 x 20 binary variables takes 17 MB and about a second. The answer does not depend on earlier queries.

    If elimination needs too much memory, it is repeated for each configuration of some variables of a connected
    component (cutset conditioning): "auto" spends seconds on this, "exact" minutes. Up to `n_jobs` configurations are
    computed at the same time and share the memory.

    Annealing first sums out all variables of at most two neighbours. "auto" also sums the connected components that fit
    into memory. In each other component the chains start at independent samples of a spanning tree with the strongest
    tables, and move by Gibbs sampling through a sequence of temperatures to the network. Each run has two to four times
    as many temperatures as the previous one. Runs end when the standard error is at most `tol` nats, or after reading
    `max_work` cells of tables (about a nanosecond per cell). `random_state` is a non-negative seed; None draws fresh
    entropy. `n_jobs` is the number of threads, which does not change the answer. The estimate of Z is unbiased for each
    run. Its standard error does not account for states that no chain has reached.

    The upper bound comes from tree-reweighted belief propagation. Its edge probabilities start at those of a uniform
    spanning tree and are then optimised. The bound is valid even if the messages have not converged. The lower bound is
    the mean-field bound of a spanning tree, or of independent variables if a table has more than two variables or holds
    minus infinity.

    References
    ----------
    D. Koller, N. Friedman (2009), Probabilistic Graphical Models, algorithms 9.1 (variable
    elimination) and 9.5 (conditioning). R. M. Neal
    (2001), Annealed importance sampling, Statistics and Computing 11, section 2. M. J. Wainwright, T. S. Jaakkola,
    A. S. Willsky (2005), A new class of upper bounds on the log partition function, IEEE Transactions on Information
    Theory 51, section IV (the upper bound). W. Wiegerinck (2000), Variational approximations between mean field theory
    and the junction tree algorithm, UAI, section 3 (the lower bound). J. S. Yedidia, W. T. Freeman, Y. Weiss (2005),
    Constructing free-energy approximations and generalized belief propagation algorithms, IEEE Transactions on
    Information Theory 51, equation 37 (the Bethe free energy).

    Examples
    --------
    >>> from pgmx.datasets import grid_network
    >>> from pgmx.inference import PairwisePotentials, log_partition
    >>> round(log_partition(PairwisePotentials.independent([2, 4])), 6)  # log 8
    2.079442
    >>> grid = grid_network(6, 6)
    >>> estimate = log_partition(grid, method="ais")
    >>> abs(estimate - log_partition(grid)) < 4 * estimate.standard_error
    True
    """
    check_method(method, ("auto", "exact", "ais", "loopy"))
    known: dict[str, tuple[str, ...]] = {"exact": ("n_jobs",), "loopy": BELIEF_OPTIONS}
    check_options(options, known.get(method, AIS_OPTIONS), method)
    problem = Problem.from_model(model)
    codes = problem.encode_evidence(evidence)
    problem = problem.change(virtual_evidence, do, codes)
    with problem.name_evidence():
        return compute_log_partition(problem, codes, method, memory, options)
