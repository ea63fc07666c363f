"""Most probable states of all variables jointly: exact if memory allows, otherwise by a search with a bound.

`most_probable_assignments` lists the k most probable ones, always exactly.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from pgmx.checks import check_natural
from pgmx.inference.answers import MapAssignment
from pgmx.inference.approximate.search import search_configuration
from pgmx.inference.engines import BELIEF_OPTIONS, BeliefEngine
from pgmx.inference.exact.elimination_order import TreewidthError
from pgmx.inference.exact.junction_tree import MostProbable
from pgmx.inference.exact.k_best import LossTree
from pgmx.inference.exact.variable_elimination import find_most_probable
from pgmx.inference.partition import MOST_OPERATIONS, warn_approximate
from pgmx.inference.problem import (
    Evidence,
    NetworkLike,
    Problem,
    VirtualEvidence,
    check_memory,
    check_method,
    check_options,
)

#: Options of the search.
SEARCH_OPTIONS = ("n_passes", "n_sweeps", "random_state")
#: Logarithms that differ by less, relative to their size, count as equal: they differ by rounding.
SAME_VALUE = 1e-12


def compute_map(
    problem: Problem, codes: Mapping[int, int], method: str, memory: int | None, options: Mapping[str, Any]
) -> MapAssignment:
    """Compute the most probable states given evidence as codes; "auto" searches if exact inference is too large."""
    if method == "loopy":
        best = BeliefEngine(problem, codes, {**options, "maximise": True}).map()
        return _name_states(problem, codes, best.codes, best.log_value, np.inf, "loopy")
    if method == "search":
        return _search(problem, codes, options)
    try:
        best = _maximise_exactly(problem, codes, method, memory)
    except TreewidthError as error:
        if method == "exact":
            raise error.with_engines("a search (method='search')") from None
        answer = _search(problem, codes, options)
        if not answer.exact:
            warn_approximate(
                f"the most probable states were found by a search: their score is {answer.log_value:.6g}, and no score "
                f"is above {answer.bound:.6g}",
                error,
            )
        return answer
    return _name_states(problem, codes, best.codes, best.log_value, best.log_value, "exact")


def _maximise_exactly(problem: Problem, codes: Mapping[int, int], method: str, memory: int | None) -> MostProbable:
    try:
        return problem.exact(codes, memory).map()
    except TreewidthError:  # the tree holds all tables at once
        return find_most_probable(problem.model, codes, check_memory(memory), MOST_OPERATIONS[method])


def _search(problem: Problem, codes: Mapping[int, int], options: Mapping[str, Any]) -> MapAssignment:
    return _name_states(problem, codes, *search_configuration(problem, codes, **options), "search")


def _name_states(
    problem: Problem, codes: Mapping[int, int], best: np.ndarray, log_value: float, bound: float, method: str
) -> MapAssignment:
    free = (v for v in range(len(problem.names)) if v not in codes)
    states = {problem.names[v]: problem.states[v][int(best[v])] for v in free}
    return MapAssignment(states, log_value, bound, method)


def map_assignment(
    model: NetworkLike,
    evidence: Evidence | None = None,
    *,
    virtual_evidence: VirtualEvidence | None = None,
    do: Evidence | None = None,
    method: str = "auto",
    memory: int | None = None,
    **options: Any,
) -> MapAssignment:
    r"""Return the most probable states of all variables together, :math:`\arg\max_x p(x \mid e)`.

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
    method : {"auto", "exact", "search", "loopy"}, default="auto"
        "exact": a junction tree, or elimination if the tree needs too much memory. "search": a search with a bound.
        "loopy": max-product belief propagation. "auto": "exact" if memory allows, otherwise "search".
    memory : int, optional
        As for :func:`marginals`.
    **options : dict
        For "search" and "auto": ``n_sweeps=20000``, the number of sweeps over all variables, summed over all replicas;
        ``n_passes=500``, the largest number of message passes for the bound; ``random_state=0``. For "loopy": the
        options of :func:`pgmx.inference.loopy_belief_propagation`.

    Returns
    -------
    MapAssignment
        A dictionary of the states of the variables that are not observed, in their order, with ``log_value``,
        ``bound``, ``gap`` (in nats; infinite for "loopy"), ``exact`` and ``method``.

    Raises
    ------
    TypeError, TreewidthError, ValueError
        As :func:`marginals`; also a ValueError if no configuration of positive probability was found.

    Warns
    -----
    ApproximationWarning
        If "auto" uses the search and its bound does not prove that no configuration is more probable.

    Notes
    -----
    Elimination keeps only the chosen states of each table (one bit per cell for binary variables) and frees the table.
    A grid of 22 x 22 binary variables takes 99 MB and about 4 s. If elimination needs too much memory, it is repeated
    for each configuration of some variables (cutset conditioning): "auto" spends seconds on this, "exact" minutes.

    The search computes an upper bound by sequential tree-reweighted message passing [1]_. Factors of three or more
    variables become auxiliary variables for the bound. Configurations are searched by parallel tempering: pairs of
    replicas at 24 temperatures are swept, exchanged [2]_ and combined by cluster moves [3]_. Local maxima found at
    higher temperatures are combined with the best configuration, cluster by cluster. A sweep costs one addition per
    state and incident table. A pass costs one operation per cell of the tables. The answer depends on `random_state`,
    never on the clock. The bound is loose if cycles are frustrated: on 20 x 20 spin glasses without a field the gap is
    a fifth of the score, although the states are the best ones.

    Max-product is exact on trees. On other graphs its answer is improved by changing one variable at a time while
    that raises the probability. The result is a local optimum.

    References
    ----------
    D. Koller, N. Friedman (2009), Probabilistic Graphical Models, algorithms 13.1 (elimination) and 9.5 (conditioning).

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
    codes = problem.encode_evidence(evidence)
    problem = problem.change(virtual_evidence, do, codes)
    with problem.name_evidence():
        return compute_map(problem, codes, method, memory, options)


def most_probable_assignments(
    model: NetworkLike,
    k: int,
    evidence: Evidence | None = None,
    *,
    do: Evidence | None = None,
    memory: int | None = None,
) -> list[MapAssignment]:
    r"""Return the k most probable configurations of all variables together, in descending order.

    Parameters
    ----------
    model : network, path, fitted learner, CompiledNetwork, PairwisePotentials or LogFactors
        The network, or a file of one (see :func:`pgmx.models.read_model`).
    k : int
        Number of configurations, at least 1.
    evidence : dict of {name: state}, optional
        Observed variables.
    do : dict of {name: state}, optional
        Interventions in a Bayesian network: the edges into these variables are removed.
    memory : int, optional
        Largest size of the junction tree in bytes; 2**31 by default, or the free memory if that is less.

    Returns
    -------
    list of MapAssignment
        Dictionaries of the states of the variables that are not observed, in their order. ``log_value`` is the
        logarithm of the probability of these states together with the evidence, in nats (of a Markov network
        unnormalised). ``gap`` is the distance to the most probable configuration.
        Configurations of probability zero are left out, so that the list may be shorter than k.

    Raises
    ------
    TreewidthError
        If the junction tree needs more memory.
    TypeError, ValueError
        As :func:`map_assignment`; also if k is not a positive integer.

    Notes
    -----
    The answer is exact. Configurations of equal probability, up to a relative difference of 1e-12 of the logarithms,
    are in the order of the states: the first variable decides, then the second, and so on. If the last ones are not the
    most probable, and more than 16 k + 4096 are equal to them, the order of the cliques decides which are listed.

    After one pass of max-product over the junction tree, the cliques are visited from the root. The k best
    configurations of the visited variables are extended by the cells of the next clique; since the messages are exact,
    no others can be among the k best [1]_ [2]_ [3]_. A clique costs :math:`O(k \log^2 k)` and the sort of its table.

    References
    ----------
    .. [1] E. L. Lawler (1972), A procedure for computing the k best solutions to discrete optimization problems and
       its application to the shortest path problem, Management Science 18.
    .. [2] D. Nilsson (1998), An efficient algorithm for finding the M most probable configurations in probabilistic
       expert systems, Statistics and Computing 8.
    .. [3] N. Flerova, R. Marinescu, R. Dechter (2016), Searching for the M best solutions in graphical models, Journal
       of Artificial Intelligence Research 55.

    Examples
    --------
    >>> from pgmx.datasets import load_network
    >>> from pgmx.inference import most_probable_assignments
    >>> best = most_probable_assignments(load_network("asia"), 3, {"dysp": "yes", "xray": "yes"})
    >>> [(answer["lung"], answer["bronc"], round(answer.gap, 3)) for answer in best]
    [('yes', 'yes', 0.0), ('yes', 'no', 0.657), ('no', 'yes', 0.896)]
    """
    k = check_natural(k, "k", 1)
    problem = Problem.from_model(model)
    codes = problem.encode_evidence(evidence)
    problem = problem.change(None, do, codes)
    with problem.name_evidence():
        try:
            best = _list_best(problem, codes, k, memory)
        except TreewidthError as error:
            raise error.with_engines("map_assignment for a single configuration") from None
    return [_name_states(problem, codes, row, value, best[0][1], "exact") for row, value in best]


def _list_best(
    problem: Problem, codes: Mapping[int, int], k: int, memory: int | None
) -> list[tuple[np.ndarray, float]]:
    """Return the k best configurations and the logarithms of their probabilities, equal ones in the order of states."""
    tree = LossTree(problem.model, codes, check_memory(memory))
    same = SAME_VALUE * max(1.0, abs(tree.best))
    for size in (k + 64, 16 * k + 4096):  # all that are equal at the last place, if they are not too many
        losses, states = tree.list_best(size)
        if len(losses) < size or losses[-1] > losses[k - 1] + same:
            break
        if losses[k - 1] <= same:
            states = tree.list_maximisers(k, same)
            break
    values = problem.model.log_score(states.T)
    order = np.argsort(-values, kind="stable")
    values = values[order]
    # Values that differ by rounding are replaced by the largest of them.
    start = 0
    while start < len(values):
        end = int(np.searchsorted(-values, -values[start] + same, side="right"))
        values[start:end] = values[start]
        start = end
    best = np.lexsort((*states[order].T[::-1], -values))[:k]
    return list(zip(states[order[best]], values[best].tolist(), strict=True))
