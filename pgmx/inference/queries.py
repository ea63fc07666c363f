"""Queries to any discrete Markov network, by name: cost, marginals, joint distributions, samples.

Each function accepts pgmpy's ``DiscreteBayesianNetwork`` and ``DiscreteMarkovNetwork``, the networks of
:mod:`pgmx.models` with states, a file of one, :class:`pgmx.inference.CompiledNetwork`, or potentials or factors as
arrays, whose variables and states are named by their positions. The network is never changed.

``method="auto"`` is exact if that needs at most 2 GB (`memory`). Otherwise it approximates, with an
:class:`ApproximationWarning`: marginals by loopy belief propagation corrected by Gibbs sampling, samples by Gibbs
sampling, the most probable states by a search with a bound, and the log-partition by annealed importance sampling.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from pgmx.checks import check_natural, check_seed
from pgmx.inference.answers import InferenceCost, Marginals
from pgmx.inference.approximate.gibbs import gibbs_sample
from pgmx.inference.engines import (
    BELIEF_OPTIONS,
    CORRECTION_OPTIONS,
    GIBBS_OPTIONS,
    BeliefEngine,
    CorrectedEngine,
    Engine,
    SampleEngine,
)
from pgmx.inference.exact.elimination_order import TreewidthError
from pgmx.inference.exact.variable_elimination import plan_rest, sum_each_configuration
from pgmx.inference.partition import warn_approximate
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

if TYPE_CHECKING:
    from pgmx.data import DiscreteTable

#: Largest number of configurations of the queried variables for which all other variables are eliminated; each
#: configuration costs one elimination.
_MOST_CONFIGURATIONS = 16
#: Methods for marginals.
_METHODS = ("auto", "exact", "corrected", "loopy", "gibbs")


def estimate_cost(model: NetworkLike, evidence: Evidence | None = None) -> InferenceCost:
    """Estimate the cost of exact inference, without allocating its tables.

    Parameters
    ----------
    model : network, path, fitted learner, CompiledNetwork, PairwisePotentials or LogFactors
        The network, or a file of one (see :func:`pgmx.models.read_model`).
    evidence : dict of {name: state}, optional
        Observed variables, which are removed from the network first.

    Returns
    -------
    InferenceCost
        Width, cells and bytes of the junction tree, and the cost of elimination.

    Raises
    ------
    ValueError
        If evidence names an unknown variable or state.

    Notes
    -----
    The order is the best of many. The search reads at most 3e7 words: about 0.2 s for wide networks, milliseconds for
    networks with small tables. It does not depend on the clock: the same network always has the same answer.

    Examples
    --------
    >>> from pgmx.datasets import grid_network
    >>> from pgmx.inference import estimate_cost
    >>> estimate_cost(grid_network(5, 5)).width
    5
    """
    problem = Problem.from_model(model)
    with problem.name_evidence():
        return problem.estimate_cost(problem.encode_evidence(evidence))


def marginals(
    model: NetworkLike,
    evidence: Evidence | None = None,
    *,
    virtual_evidence: VirtualEvidence | None = None,
    do: Evidence | None = None,
    method: str = "auto",
    memory: int | None = None,
    **options: Any,
) -> Marginals:
    r"""Return the distribution of every variable that is not observed, :math:`p(x_i \mid e)`.

    Parameters
    ----------
    model : network, path, fitted learner, CompiledNetwork, PairwisePotentials or LogFactors
        The network, or a file of one (see :func:`pgmx.models.read_model`).
    evidence : dict of {name: state}, optional
        Observed variables.
    virtual_evidence : dict of {name: likelihoods}, optional
        Uncertain observations: nonnegative likelihoods of the states, in their order or as ``{state: likelihood}``.
    do : dict of {name: state}, optional
        Interventions in a Bayesian network: the edges into these variables are removed.
    method : {"auto", "exact", "corrected", "loopy", "gibbs"}, default="auto"
        "exact": junction tree. "corrected": belief propagation corrected by Gibbs sampling. "loopy" and "gibbs": each
        of these alone. "auto": "exact" if memory allows, otherwise "corrected".
    memory : int, optional
        Largest size of the junction tree in bytes; 2**31 by default, or the free memory if that is less.
    **options : dict
        For "loopy", "corrected" and "auto": the options of :func:`pgmx.inference.loopy_belief_propagation`; for the
        last two also ``n_sweeps`` (see Notes) and ``random_state=0``. For "gibbs": the options of
        :func:`pgmx.inference.gibbs_sample`, with ``n_samples=10000``.

    Returns
    -------
    Marginals
        A mapping from name to ``{state: probability}``, with the attributes ``method``, ``exact`` and ``error``, an
        estimate of the error of each variable.

    Raises
    ------
    TypeError
        For an unknown option.
    TreewidthError
        If ``method="exact"`` needs more memory.
    ValueError
        If evidence is impossible or names an unknown variable or state, or the method is unknown.

    Warns
    -----
    ApproximationWarning
        If "auto" uses corrected beliefs. The warning reports their largest estimated error.
    RuntimeWarning
        If belief propagation, or the sampling that corrects it, did not converge.

    Notes
    -----
    "corrected" averages the beliefs b and the means m of conditionals along Gibbs samples [1]_ with standard errors s,

    .. math:: \frac{s^2 b + \tau^2 m}{s^2 + \tau^2}, \qquad
        \text{error} = 2.5 \sqrt{\frac{s^2 \tau^2}{s^2 + \tau^2}}

    where :math:`\tau^2`, the variance of the bias of b, is the excess of :math:`(b - m)^2` over :math:`s^2`. Two
    independent groups of replicas at several temperatures are sampled. Their agreement gives s and ``r_hat`` [2]_.
    This takes less than a second for networks of a thousand variables. ``n_sweeps`` is the number of sweeps over all n
    variables, summed over all replicas (default: 8e6 / n, at least 4000).

    References
    ----------
    .. [1] A. E. Gelfand, A. F. M. Smith (1990), Sampling-based approaches to calculating marginal densities, Journal
       of the American Statistical Association 85, equation 2.11.
    .. [2] A. Gelman, D. B. Rubin (1992), Inference from iterative simulation using multiple sequences, Statistical
       Science 7.

    Examples
    --------
    >>> from pgmx.datasets import chain_network
    >>> from pgmx.inference import marginals
    >>> answer = marginals(chain_network(2500), {"x0": 1})
    >>> answer
    Marginals(2499 variables, exact)
    >>> round(sum(answer["x1"].values()), 12)
    1.0
    """
    problem, codes = _read_question(model, evidence, virtual_evidence, do, method, options)
    with problem.name_evidence():
        engine = _choose_engine(problem, codes, method, memory, options)
    free = [v for v in range(len(problem.names)) if v not in codes]
    names, states = [problem.names[v] for v in free], [problem.states[v] for v in free]
    arrays = [engine.marginal(v) for v in free]
    figures = (engine.errors[free], engine.r_hat, engine.effective_sample_size)
    return Marginals(names, states, arrays, engine.method, engine.converged, *figures)


def joint(
    model: NetworkLike,
    variables: Sequence[Hashable],
    evidence: Evidence | None = None,
    *,
    virtual_evidence: VirtualEvidence | None = None,
    do: Evidence | None = None,
    method: str = "auto",
    memory: int | None = None,
    **options: Any,
) -> np.ndarray:
    r"""Return the joint distribution of some variables, :math:`p(x_A \mid e)`.

    Parameters
    ----------
    model : network, path, fitted learner, CompiledNetwork, PairwisePotentials or LogFactors
        The network, or a file of one (see :func:`pgmx.models.read_model`).
    variables : sequence of hashable
        Names, distinct and not observed.
    evidence : dict of {name: state}, optional
        Observed variables.
    virtual_evidence : dict of {name: likelihoods}, optional
        Uncertain observations: nonnegative likelihoods of the states, in their order or as ``{state: likelihood}``.
    do : dict of {name: state}, optional
        Interventions in a Bayesian network: the edges into these variables are removed.
    method : {"auto", "exact", "corrected", "loopy", "gibbs"}, default="auto"
        As for :func:`marginals`. Belief propagation supports single variables and pairs that share an edge;
        "corrected" corrects single variables only. See Notes for "exact" and "auto".
    memory : int, optional
        As for :func:`marginals`.
    **options : dict
        As for :func:`marginals`.

    Returns
    -------
    ndarray of float64
        One axis per variable, in their order; sums to 1.

    Raises
    ------
    TypeError, TreewidthError, ValueError
        As :func:`marginals`; also if a name is unknown, occurs twice or is observed, or if belief propagation is used
        for variables that do not share an edge.

    Notes
    -----
    If the junction tree needs too much memory, a joint distribution of at most 16 configurations is still computed
    exactly, by one elimination per configuration. The warnings are those documented in :func:`marginals`.

    Examples
    --------
    >>> from pgmx.datasets import chain_network
    >>> from pgmx.inference import joint
    >>> joint(chain_network(100), ["x0", "x99"]).shape
    (2, 2)
    """
    problem, codes = _read_question(model, evidence, virtual_evidence, do, method, options)
    ids = problem.find_variables(variables, codes)
    with problem.name_evidence():
        return _compute_joint(problem, codes, ids, method, memory, options)


def sample(
    model: NetworkLike,
    n_samples: int,
    *,
    evidence: Evidence | None = None,
    virtual_evidence: VirtualEvidence | None = None,
    do: Evidence | None = None,
    method: str = "auto",
    memory: int | None = None,
    seed: int | None = 0,
    **options: Any,
) -> DiscreteTable:
    r"""Draw configurations from :math:`p(x \mid e)`.

    Parameters
    ----------
    model : network, path, fitted learner, CompiledNetwork, PairwisePotentials or LogFactors
        The network, or a file of one (see :func:`pgmx.models.read_model`).
    n_samples : int
        Number of rows, at least 1.
    evidence : dict of {name: state}, optional
        Observed variables; they keep their states in all rows.
    virtual_evidence : dict of {name: likelihoods}, optional
        Uncertain observations: nonnegative likelihoods of the states, in their order or as ``{state: likelihood}``.
    do : dict of {name: state}, optional
        Interventions in a Bayesian network: the edges into these variables are removed.
    method : {"auto", "exact", "gibbs"}, default="auto"
        "exact": independent rows from the junction tree. "gibbs": Gibbs sampling. "auto": "exact" if memory allows,
        otherwise "gibbs".
    memory : int, optional
        As for :func:`marginals`.
    seed : int or None, default=0
        A non-negative seed; None draws fresh entropy.
    **options : dict
        For "gibbs" and "auto": options of :func:`pgmx.inference.gibbs_sample` (burn_in, thinning, n_chains, n_jobs).

    Returns
    -------
    DiscreteTable
        Columns in the order of the variables, all states declared.

    Raises
    ------
    TypeError, TreewidthError, ValueError
        As :func:`marginals`; also if the number of rows or the seed is not a natural number.

    Examples
    --------
    >>> from pgmx.datasets import chain_network
    >>> from pgmx.inference import sample
    >>> sample(chain_network(5), 100, evidence={"x0": 1})
    DiscreteTable(5 variables, 100 rows, 10 states, uint8)
    """
    from pgmx.data import DiscreteTable

    check_method(method, ("auto", "exact", "gibbs"))
    check_options(options, () if method == "exact" else GIBBS_OPTIONS, method)
    n_samples, seed = check_natural(n_samples, "n_samples", 1), check_seed(seed)
    problem = Problem.from_model(model)
    codes = problem.encode_evidence(evidence)
    problem = problem.change(virtual_evidence, do, codes)
    with problem.name_evidence():
        rows = None if method == "gibbs" else _try_exact(problem, codes, n_samples, seed, method, memory)
        if rows is None:
            rows = gibbs_sample(problem.model, n_samples, evidence=codes, seed=seed, **options)
    return DiscreteTable(problem.names, problem.states, rows)


def _read_question(
    model: NetworkLike,
    evidence: Evidence | None,
    virtual_evidence: VirtualEvidence | None,
    do: Evidence | None,
    method: str,
    options: Mapping[str, Any],
) -> tuple[Problem, dict[int, int]]:
    """Check the method and options of a query for marginals; return the network and the evidence as codes."""
    check_method(method, _METHODS)
    options_of = {"exact": (), "gibbs": (*GIBBS_OPTIONS, "n_samples", "seed"), "loopy": BELIEF_OPTIONS}
    check_options(options, options_of.get(method, (*BELIEF_OPTIONS, *CORRECTION_OPTIONS)), method)
    problem = Problem.from_model(model)
    codes = problem.encode_evidence(evidence)
    return problem.change(virtual_evidence, do, codes), codes


def _choose_engine(
    problem: Problem, codes: dict[int, int], method: str, memory: int | None, options: Mapping[str, Any]
) -> Engine:
    """Return the engine of a method; "auto" uses a junction tree, or corrected beliefs if the tree is too large."""
    if method == "gibbs":
        return SampleEngine(problem, codes, **options)
    if method == "loopy":
        return BeliefEngine(problem, codes, options)
    if method == "corrected":
        return CorrectedEngine(problem, codes, **options)
    try:
        exact = problem.exact(codes, memory)
        _ = exact.log_partition  # answers by components are computed when they are first asked for
        return exact
    except TreewidthError as error:
        if method == "exact":
            raise error.with_engines("belief propagation corrected by samples (method='corrected')") from None
        engine = CorrectedEngine(problem, codes, **options)
        warn_approximate(
            "marginals were approximated by loopy belief propagation corrected by Gibbs sampling. The largest "
            f"estimated error of a single variable's probabilities is {engine.errors.max():.2g}",
            error,
        )
        return engine


def _compute_joint(
    problem: Problem, codes: dict[int, int], ids: list[int], method: str, memory: int | None, options: Mapping[str, Any]
) -> np.ndarray:
    """Compute a joint distribution by a junction tree; if that is too large, by one elimination per configuration."""
    if method not in ("auto", "exact"):
        return _choose_engine(problem, codes, method, memory, options).joint(ids)
    try:
        return problem.exact(codes, memory).joint(ids)
    except TreewidthError:  # of the tree, or of the tables that join variables in distant cliques
        answer = _eliminate_others(problem, codes, ids, check_memory(memory))
    return _choose_engine(problem, codes, method, memory, options).joint(ids) if answer is None else answer


def _eliminate_others(problem: Problem, codes: dict[int, int], ids: list[int], memory: int) -> np.ndarray | None:
    """Return a joint distribution by eliminating all other variables; None if memory or time would not suffice."""
    reduced = ReducedNetwork(problem.model, codes)
    if prod(reduced.cards[v] for v in ids) > _MOST_CONFIGURATIONS:
        return None
    plan, cost = plan_rest(reduced.cards, [scope for scope, _ in reduced.factors], ids)
    if cost.bytes > memory:
        return None
    logs = sum_each_configuration(problem.model, codes, ids, plan)
    if logs.max() == -np.inf:
        raise ZeroProbabilityError(reduced.evidence)
    # The largest share is 1, so that nothing overflows.
    shares = np.exp(logs - logs.max())
    return shares / shares.sum()


def _try_exact(
    problem: Problem, codes: dict[int, int], n_samples: int, seed: int | None, method: str, memory: int | None
) -> np.ndarray | None:
    """Return exact draws; if they need too much memory and the method is "auto", warn and return None."""
    try:
        return problem.exact(codes, memory).sample(n_samples, seed)
    except TreewidthError as error:
        if method == "exact":
            raise error.with_engines("Gibbs sampling (method='gibbs')") from None
        warn_approximate("samples were drawn approximately, by Gibbs sampling", error)
        return None
