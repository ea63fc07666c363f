"""Questions to any discrete Markov network, by name: marginals, most probable states, log-partition, samples.

Each takes a pgmpy ``DiscreteMarkovNetwork`` of any arity, a :class:`pgmx.models.PairwiseMarkovNetwork`, or potentials
or factors as arrays (whose variables and states are then named by their numbers), and never changes it.

``method="auto"`` answers exactly where that takes no more than 2 GB (`memory`), and by loopy belief propagation (for
marginals: corrected by Gibbs sampling; for samples: by that alone; for the most probable states: by a search with a
bound; for the log-partition: by annealed importance sampling) where it does not, with an :class:`ApproximationWarning`.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from pgmx.checks import check_natural, check_seed
from pgmx.inference.approximate.annealing import AIS_OPTIONS
from pgmx.inference.approximate.gibbs import gibbs_sample
from pgmx.inference.engines import BELIEF_OPTIONS, GIBBS_OPTIONS
from pgmx.inference.marginalisation import choose_engine, compute_joint, read_question, try_exact
from pgmx.inference.maximisation import SEARCH_OPTIONS, compute_map
from pgmx.inference.partition import LogPartition, compute_log_partition
from pgmx.inference.problem import (
    InferenceCost,
    MapAssignment,
    Marginals,
    NetworkLike,
    Problem,
    check_method,
    check_options,
)

if TYPE_CHECKING:
    from pgmx.data import DiscreteTable

Evidence = Mapping[Hashable, Hashable]


def estimate_cost(model: NetworkLike, evidence: Evidence | None = None) -> InferenceCost:
    """Return what exact inference would cost, without allocating its tables.

    Parameters
    ----------
    model : network, PairwisePotentials or LogFactors
        The network.
    evidence : dict of {name: state}, optional
        Observed variables; they take no part.

    Returns
    -------
    InferenceCost
        Width, cells and bytes of the junction tree, and of elimination.

    Raises
    ------
    ValueError
        If evidence names an unknown variable or state.

    Notes
    -----
    The best of many orders, by a search that reads 3e7 words at most: some 0.2 s for wide networks, milliseconds for
    those whose tables are small. Never by the clock: one network has one answer.

    Examples
    --------
    >>> from pgmx.datasets import grid_network
    >>> from pgmx.inference import estimate_cost
    >>> estimate_cost(grid_network(5, 5)).width
    5
    """
    problem = Problem.from_model(model)
    return problem.estimate_cost(problem.codes_of(evidence))


def marginals(
    model, evidence: Evidence | None = None, *, method: str = "auto", memory: int | None = None, **options: Any
) -> Marginals:
    r"""Return the distribution of every variable that is not observed, :math:`p(x_i \mid e)`.

    Parameters
    ----------
    model : network, PairwisePotentials or LogFactors
        The network.
    evidence : dict of {name: state}, optional
        Observed variables.
    method : {"auto", "exact", "corrected", "loopy", "gibbs"}, default="auto"
        Junction tree, belief propagation corrected by Gibbs sampling, each of these alone, or the first two as memory
        allows.
    memory : int, optional
        Most bytes of the junction tree; 2**31 by default, or what is free where that is less.
    **options : dict
        For "loopy", "corrected" and "auto" those of :func:`pgmx.inference.loopy_belief_propagation`; for the latter two
        also ``n_sweeps``, the sweeps over all n variables, of all replicas together (8e6 / n, at least 4000, by
        default), and ``random_state=0``; for "gibbs" those of :func:`pgmx.inference.gibbs_sample`, with
        ``n_samples=10000``.

    Returns
    -------
    Marginals
        A mapping from name to ``{state: probability}``, which also holds ``method``, ``exact`` and ``error``, an
        estimate of the error of each variable.

    Raises
    ------
    TypeError
        For an unknown option.
    TreewidthError
        If ``method="exact"`` takes more memory.
    ValueError
        If evidence is impossible or names an unknown variable or state, or the method is unknown.

    Warns
    -----
    ApproximationWarning
        If "auto" answers by corrected beliefs, with their largest error by estimate.
    RuntimeWarning
        If belief propagation, or the sampling that corrects it, did not converge.

    Notes
    -----
    "corrected" weighs the beliefs b against means m of conditionals along Gibbs samples [1]_ with standard errors s,

    .. math:: \frac{s^2 b + \tau^2 m}{s^2 + \tau^2}, \qquad
        \text{error} = 2.5 \sqrt{\frac{s^2 \tau^2}{s^2 + \tau^2}}

    where :math:`\tau^2`, the variance of the bias of b, is what :math:`(b - m)^2` exceeds :math:`s^2` by. Two groups
    of replicas at several temperatures are swept, independent of each other, whose agreement gives s and ``r_hat``
    [2]_. That takes less than a second for networks of a thousand variables.

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
    problem, codes = read_question(model, evidence, method, options)
    engine = choose_engine(problem, codes, method, memory, options)
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
    method: str = "auto",
    memory: int | None = None,
    **options: Any,
) -> np.ndarray:
    r"""Return the joint distribution of some variables, :math:`p(x_A \mid e)`.

    Parameters
    ----------
    model : network, PairwisePotentials or LogFactors
        The network.
    variables : sequence of hashable
        Names, distinct and not observed.
    evidence : dict of {name: state}, optional
        Observed variables.
    method : {"auto", "exact", "corrected", "loopy", "gibbs"}, default="auto"
        As for :func:`marginals`. Belief propagation answers for single variables and pairs that share an edge;
        "corrected" corrects single variables only. Where a junction tree takes too much memory, up to 16 configurations
        are still answered exactly by elimination, once for each.
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
        As by :func:`marginals`, which also says when there is a warning; and if a name is unknown, occurs twice or is
        observed, or belief propagation is asked for variables that share no edge.

    Examples
    --------
    >>> from pgmx.datasets import chain_network
    >>> from pgmx.inference import joint
    >>> joint(chain_network(100), ["x0", "x99"]).shape
    (2, 2)
    """
    problem, codes = read_question(model, evidence, method, options)
    ids = problem.ids_of(variables, codes)
    return compute_joint(problem, codes, ids, method, memory, options)


def map_assignment(
    model: NetworkLike,
    evidence: Evidence | None = None,
    *,
    method: str = "auto",
    memory: int | None = None,
    **options: Any,
) -> MapAssignment:
    r"""Return the most probable states of all variables together, :math:`\arg\max_x p(x \mid e)`.

    Parameters
    ----------
    model : network, PairwisePotentials or LogFactors
        The network.
    evidence : dict of {name: state}, optional
        Observed variables.
    method : {"auto", "exact", "search", "loopy"}, default="auto"
        Junction tree, a search with a bound, max-product belief propagation, or the first two as memory allows.
    memory : int, optional
        As for :func:`marginals`.
    **options : dict
        For "search" and "auto": ``n_sweeps=20000``, the sweeps over all variables, of all replicas together;
        ``n_passes=500``, the most passes of the bound's messages; ``random_state=0``. For "loopy" those of
        :func:`pgmx.inference.loopy_belief_propagation`.

    Returns
    -------
    MapAssignment
        A dictionary of the states of the variables that are not observed, in their order, with ``log_value``,
        ``bound``, ``gap`` (in nats; infinite for "loopy"), ``exact`` and ``method``.

    Raises
    ------
    TypeError, TreewidthError, ValueError
        As by :func:`marginals`; a ValueError too if no configuration of positive probability was found.

    Warns
    -----
    ApproximationWarning
        If "auto" answers by the search and its bound does not prove that no configuration is more probable.

    Notes
    -----
    The search makes a bound from above by sequential tree-reweighted message passing [1]_; factors of three or more
    variables become auxiliary variables for it. From below, pairs of replicas at 24 temperatures are swept, exchanged
    [2]_ and mixed by clusters [3]_; local maxima above the coldest are mixed into the best configuration, cluster by
    cluster. A sweep costs an addition per state and incident table, a pass the cells of the tables. The answer
    depends on `random_state`, never on the clock. The bound is loose where cycles are frustrated: on spin glasses
    without a field, 20 x 20, the gap is a fifth of the score, although the states are the best ones.

    Max-product is exact on trees. On other graphs its answer is improved by changing one variable at a time as long as
    that raises the probability: a local optimum.

    References
    ----------
    .. [1] V. Kolmogorov (2006), Convergent tree-reweighted message passing for energy minimization, IEEE Transactions
       on Pattern Analysis and Machine Intelligence 28, figure 3.
    .. [2] K. Hukushima, K. Nemoto (1996), Exchange Monte Carlo method and application to spin glass simulations,
       Journal of the Physical Society of Japan 65.
    .. [3] J. Houdayer (2001), A cluster Monte Carlo algorithm for 2-dimensional spin glasses, European Physical
       Journal B 22.

    Examples
    --------
    >>> from pgmx.datasets import tree_network
    >>> from pgmx.inference import map_assignment
    >>> answer = map_assignment(tree_network(400))
    >>> len(answer), answer.exact
    (400, True)
    """
    check_method(method, ("auto", "exact", "search", "loopy"))
    check_options(options, {"exact": (), "loopy": BELIEF_OPTIONS}.get(method, SEARCH_OPTIONS), method)
    problem = Problem.from_model(model)
    return compute_map(problem, problem.codes_of(evidence), method, memory, options)


def log_partition(
    model, evidence: Evidence | None = None, *, method: str = "auto", memory: int | None = None, **options: Any
) -> LogPartition:
    r"""Return the logarithm of the sum over all configurations that agree with the evidence, in nats.

    .. math:: \log Z(e) = \log \sum_{x \sim e} \exp\Big(\sum_k \phi_k(x)\Big)

    Parameters
    ----------
    model : network, PairwisePotentials or LogFactors
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
    return compute_log_partition(problem, problem.codes_of(evidence), method, memory, options)


def sample(
    model: NetworkLike,
    n_samples: int,
    *,
    evidence: Evidence | None = None,
    method: str = "auto",
    memory: int | None = None,
    seed: int | None = 0,
    **options: Any,
) -> DiscreteTable:
    r"""Draw configurations from :math:`p(x \mid e)`.

    Parameters
    ----------
    model : network, PairwisePotentials or LogFactors
        The network.
    n_samples : int
        Number of rows, at least 1.
    evidence : dict of {name: state}, optional
        Observed variables; they keep their states in all rows.
    method : {"auto", "exact", "gibbs"}, default="auto"
        Independent rows down the junction tree, Gibbs sampling, or the first where memory allows.
    memory : int, optional
        As for :func:`marginals`.
    seed : int or None, default=0
        A non-negative seed; None draws fresh entropy.
    **options : dict
        For "gibbs" and "auto" those of :func:`pgmx.inference.gibbs_sample`: burn_in, thinning, n_chains, n_jobs.

    Returns
    -------
    DiscreteTable
        Columns in the order of the variables, all states declared.

    Raises
    ------
    TypeError, TreewidthError, ValueError
        As by :func:`marginals`, and for a number of rows or a seed that is no natural number.

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
    codes = problem.codes_of(evidence)
    tree = None
    if method != "gibbs":
        tree = try_exact(problem, codes, method, memory)
    if tree is not None:
        rows = tree.sample(n_samples, seed)
    else:
        rows = gibbs_sample(problem.model, n_samples, evidence=codes, seed=seed, **options)
    return DiscreteTable(problem.names, problem.states, rows)
