"""Most probable states of all variables together: exactly where memory allows, else by a search with a bound."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from pgmx.inference.approximate.search import search_configuration
from pgmx.inference.engines import BELIEF_OPTIONS, BeliefEngine
from pgmx.inference.exact.elimination import TreewidthError
from pgmx.inference.exact.exact import MostProbable
from pgmx.inference.exact.max_elimination import find_most_probable
from pgmx.inference.partition import MOST_OPERATIONS, warn_approximate
from pgmx.inference.problem import (
    Evidence,
    MapAssignment,
    NetworkLike,
    Problem,
    check_memory,
    check_method,
    check_options,
)

#: Options of the search.
SEARCH_OPTIONS = ("n_passes", "n_sweeps", "random_state")


def compute_map(
    problem: Problem, codes: Mapping[int, int], method: str, memory: int | None, options: Mapping[str, Any]
) -> MapAssignment:
    """Compute the most probable states given evidence by number; the search takes over if the method is "auto"."""
    if method == "loopy":
        best = BeliefEngine(problem, codes, {**options, "maximise": True}).map()
        return _name_states(problem, codes, best.codes, best.log_value, np.inf, "loopy")
    if method == "search":
        return _search(problem, codes, options)
    try:
        best = _maximise_exactly(problem, codes, method, check_memory(memory))
    except TreewidthError as error:
        if method == "exact":
            raise error.with_engines("a search (method='search')") from None
        answer = _search(problem, codes, options)
        if not answer.exact:
            warn_approximate(
                f"the most probable states are those of a search: their score is {answer.log_value:.6g}, and none is "
                f"above {answer.bound:.6g}",
                error,
            )
        return answer
    return _name_states(problem, codes, best.codes, best.log_value, best.log_value, "exact")


def _maximise_exactly(problem: Problem, codes: Mapping[int, int], method: str, memory: int) -> MostProbable:
    try:
        return problem.exact(codes, memory).map()
    except TreewidthError:  # the tree holds all tables at once
        return find_most_probable(problem.model, codes, memory, MOST_OPERATIONS[method])


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
    method: str = "auto",
    memory: int | None = None,
    **options: Any,
) -> MapAssignment:
    r"""Return the most probable states of all variables together, :math:`\arg\max_x p(x \mid e)`.

    Parameters
    ----------
    model : network, fitted learner, PairwisePotentials or LogFactors
        The network.
    evidence : dict of {name: state}, optional
        Observed variables.
    method : {"auto", "exact", "search", "loopy"}, default="auto"
        Exact (by a junction tree, or elimination where that takes too much memory), a search with a bound, max-product
        belief propagation, or the first two as memory allows.
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
    Elimination keeps of each table the states that it chose, a bit per cell for binary variables, and frees the rest: a
    grid of 22 x 22 binary variables takes 99 MB and some 4 s. Where that takes more memory, some variables of a network
    take each of their states in turn (cutset conditioning), for "auto" as long as that is a matter of seconds, for
    "exact" of minutes.

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
    with problem.naming_evidence():
        return compute_map(problem, problem.codes_of(evidence), method, memory, options)
