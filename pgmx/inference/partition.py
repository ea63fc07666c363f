"""The log-partition as a number that says how it was computed and what it can be off by."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import Any, Self

import numpy as np

from pgmx.checks import caller_level, count_workers
from pgmx.inference.approximate.annealing import AIS_OPTIONS, AIS_TOLERANCE, estimate_by_annealing
from pgmx.inference.approximate.mean_field import fit_mean_field
from pgmx.inference.approximate.tree_reweighted import reweight_trees
from pgmx.inference.engines import BELIEF_OPTIONS, BeliefEngine
from pgmx.inference.exact.bucket_elimination import count_elimination_cost, sum_by_elimination
from pgmx.inference.exact.conditioning import choose_conditioning, sum_by_conditioning
from pgmx.inference.exact.elimination import TreewidthError, search_order, too_wide
from pgmx.inference.exact.low_degree import Part, sum_out_low_degrees
from pgmx.inference.networks.evidence import ReducedNetwork, ZeroProbabilityError
from pgmx.inference.problem import Evidence, Problem, check_memory, check_method, check_options

#: Multiplications of all configurations by which elimination may be conditioned: seconds, and some ten minutes.
MOST_OPERATIONS = {"ais": 0, "auto": 2**30, "exact": 2**36}
#: Nats above which a standard error is called large.
LARGE_ERROR = 0.1


class ApproximationWarning(UserWarning):
    """Exact inference would take more memory than was granted, and the answer is an approximation."""


class LogPartition(float):
    """A log-partition in nats: a float that says how it was computed.

    Parameters
    ----------
    value : float
        The estimate.
    method : {"exact", "ais", "loopy"}
        Variable elimination (or a junction tree), annealed importance sampling, or Bethe's approximation.
    standard_error : float, default=0.0
        0 where it is exact, NaN where nothing is known of the error.
    lower, upper : float, optional
        Between these the true value lies; the value itself by default.
    effective_sample_size : float, default=nan
        Of "ais": the chains of equal weights that its chains are worth.

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
        """Make the number; its error is 0 and its bounds are itself unless they are said."""
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
    """Compute the log-partition exactly, by belief propagation or by annealing, this for "auto" beyond `memory`."""
    if method == "loopy":
        return describe_beliefs(BeliefEngine(problem, codes, options))
    return compute_shares(problem, codes, method, check_memory(memory), options)[0]


def compute_shares(
    problem: Problem, codes: Mapping[int, int], method: str, memory: int, options: Mapping[str, Any]
) -> tuple[LogPartition, np.ndarray]:
    """Return the log-partition, and a share of it per variable and of the constant, (n + 1,).

    The shares of a connected part sum to its own. The methods are "auto", "exact" and "ais".
    """
    error = None
    if method != "ais":
        try:
            shares = eliminate(problem, codes, memory)
            return LogPartition(shares.sum(), "exact"), shares
        except TreewidthError as wide:
            error = wide
    return _sum_parts(ReducedNetwork(problem.model, codes), method, memory if error else 0, error, options)


def _sum_parts(
    reduced: ReducedNetwork, method: str, memory: int, error: TreewidthError | None, options: Mapping[str, Any]
) -> tuple[LogPartition, np.ndarray]:
    """Sum all leaves and the parts that fit into `memory` bytes; estimate the others by annealing, if it may."""
    shares, parts = sum_out_low_degrees(reduced.cards, reduced.factors)
    shares = np.append(shares, reduced.constant)
    wide = []
    for part in parts:
        exact = _sum_exactly(part, memory, MOST_OPERATIONS[method], options.get("n_jobs"))
        if exact is None:
            wide.append(part)
        else:
            shares[part.variables] = exact
    if wide and method == "exact" and error is not None:
        raise error.with_engines("annealed importance sampling (method='ais')") from None
    settings = {**options, "tol": options.get("tol", AIS_TOLERANCE) / max(1.0, len(wide) ** 0.5)}
    estimates = [estimate_by_annealing(part.factors, **settings) for part in wide]
    rest = float(shares.sum())
    lower, upper = _add_bounds(rest, wide, [estimate.largest_score for estimate in estimates])
    if upper == -np.inf:
        raise ZeroProbabilityError(reduced.evidence)
    if not wide:
        return LogPartition(rest, "exact"), shares
    for part, estimate in zip(wide, estimates, strict=True):
        shares[part.variables[0]] = estimate.value
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
            "annealed importance sampling met no configuration of positive probability: check the evidence, give a "
            "larger max_work, or method='exact' with more memory"
        )
    if error is not None:
        warn_approximate(_describe_estimate(answer), error)
    return answer, shares


def _sum_exactly(part: Part, memory: int, most_operations: int, n_jobs: int | None) -> np.ndarray | None:
    """Return the log-partition of a connected part, shared by its variables; None where that takes too much."""
    cards = part.factors.cardinalities.tolist()
    plan = search_order(cards, part.factors.scopes, by_largest=True)
    if count_elimination_cost(plan, cards).bytes <= memory:
        return sum_by_elimination(plan, cards, list(zip(part.factors.scopes, part.factors.tables, strict=True)))
    conditioning = choose_conditioning(cards, part.factors.scopes, memory // count_workers(n_jobs), most_operations)
    if conditioning is None:
        return None
    shares = np.zeros(len(cards))
    shares[0] = sum_by_conditioning(part.factors, conditioning, n_jobs)
    return shares


def _describe_estimate(answer: LogPartition) -> str:
    large = "" if answer.standard_error <= LARGE_ERROR else ", which is large: give a larger max_work, or more memory"
    return (
        f"the log-partition is an estimate by annealed importance sampling, {answer:.8g} with standard error "
        f"{answer.standard_error:.2g} ({answer.effective_sample_size:.0f} effective samples){large}; the true one lies "
        f"between {answer.lower:.8g} and {answer.upper:.8g}"
    )


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
        raise ZeroProbabilityError(reduced.evidence)
    return shares


def warn_approximate(what: str, error: TreewidthError) -> None:
    """Warn the caller of pgmx that an answer is an approximation, and why."""
    warnings.warn(
        f"{what}. Reason: {error.problem}; grant more memory, or choose the method",
        ApproximationWarning,
        caller_level(),
    )


def describe_beliefs(engine: BeliefEngine) -> LogPartition:
    """Return Bethe's approximation with bounds on the true value."""
    reduced = ReducedNetwork(engine.problem.model, engine.codes)
    shares, parts = sum_out_low_degrees(reduced.cards, reduced.factors)
    lower, upper = _add_bounds(reduced.constant + float(shares.sum()), parts, [-np.inf] * len(parts))
    return LogPartition(engine.log_partition, "loopy", np.nan, lower, upper)


def _add_bounds(constant: float, parts: Sequence[Part], scores: Sequence[float]) -> tuple[float, float]:
    """Return bounds on a constant and the log-partitions of parts, from below no less than the scores of states."""
    lower = sum(max(score, fit_mean_field(part.factors)) for part, score in zip(parts, scores, strict=True))
    return constant + lower, constant + sum(reweight_trees(part.factors.pairwise()).upper for part in parts)


def log_partition(
    model, evidence: Evidence | None = None, *, method: str = "auto", memory: int | None = None, **options: Any
) -> LogPartition:
    r"""Return the logarithm of the sum over all configurations that agree with the evidence, in nats.

    .. math:: \log Z(e) = \log \sum_{x \sim e} \exp\Big(\sum_k \phi_k(x)\Big)

    Parameters
    ----------
    model : network, fitted learner, PairwisePotentials or LogFactors
        The network.
    evidence : dict of {name: state}, optional
        Observed variables; ``log_partition(m, e) - log_partition(m)`` is the log-probability of the evidence.
    method : {"auto", "exact", "ais", "loopy"}, default="auto"
        Exact, annealed importance sampling, the Bethe approximation of belief propagation, or the first where memory
        allows and the second where it does not.
    memory : int, optional
        Most bytes of the tables of elimination; 2**31 by default, or what is free where that is less.
    **options : dict
        For "loopy" those of :func:`pgmx.inference.loopy_belief_propagation`. For "ais" and "auto": ``random_state=0``,
        a non-negative seed, None draws fresh entropy; ``n_chains=512``; ``tol=0.01``, the standard error in nats at
        which it ends; ``max_work=4 * 10**9``, the cells of tables after which it ends, about a nanosecond each; and
        ``n_jobs``, threads, on which the answer does not depend; "exact" takes this one too.

    Returns
    -------
    LogPartition
        A float, in nats, with ``exact``, ``method``, ``standard_error`` (0 where it is exact, NaN for "loopy", of
        whose error nothing is known), ``effective_sample_size``, and ``lower`` and ``upper``, between which the true
        value lies.

    Raises
    ------
    TypeError, TreewidthError, ValueError
        As by :func:`marginals`; also for a seed, a number of chains or a tolerance out of range.

    Warns
    -----
    ApproximationWarning
        If "auto" estimates, with estimate, standard error and bounds.

    Notes
    -----
    Variable elimination frees each table as soon as it is summed, so that it fits where a junction tree does not: a
    grid of 20 x 20 binary variables takes 17 MB and about a second. The answer does not depend on earlier questions.

    Where that takes more memory, some variables of a connected part take each of their states in turn (cutset
    conditioning), for "auto" as long as that is a matter of seconds, for "exact" of minutes; `n_jobs` configurations at
    a time share the memory.

    Annealing first sums out all variables of at most two neighbours; for "auto" also the connected parts that fit into
    memory. The chains of each other part start at independent samples of a spanning tree, that of the strongest tables,
    and pass through temperatures to the network by Gibbs sampling. Runs of two to four times as many temperatures each
    follow one another until the standard error is at most `tol`. The estimate of Z is unbiased for each run; its error
    covers what the chains have seen, and no states that none of them reached.

    The upper bound is that of tree-reweighted belief propagation, its edge probabilities optimised from those of a
    uniform spanning tree on; it holds whether messages converged or not. The lower bound is that of the mean field of a
    spanning tree, of independent variables where a table is wider than a pair's or holds minus infinity.

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
    with problem.naming_evidence():
        return compute_log_partition(problem, problem.codes_of(evidence), method, memory, options)
