"""Grafting that tests a stream of edges and activates the best it has seen."""

from math import isqrt
from numbers import Integral, Real

import numpy as np

from pgmx.estimators._documented import documented
from pgmx.estimators._options import with_options
from pgmx.estimators.base import Interval
from pgmx.estimators.markov.learner import MarkovLearner
from pgmx.search.edges.random_pairs import RandomPairs
from pgmx.search.edges.sources import StreamedEdges
from pgmx.search.edges.stream import EdgeStream

#: The smallest penalty without edges is worked out for as many pairs at most.
MOST_PAIRS = 20_000_000
_BLOCK = 1 << 16


class StreamLearner(MarkovLearner):
    """Base of the learners that test edges one after another."""

    _parameter_constraints = {
        **MarkovLearner._parameter_constraints,
        "structure_heuristics": ["boolean"],
        "hub_threshold": [Interval(Real, 0, 1, closed="both"), None],
    }
    _looks_at_all = False
    _mode = "sampled"

    __init__ = with_options(MarkovLearner.__init__, structure_heuristics=True, hub_threshold=None)

    def _sizes(self, n: int) -> tuple[int, int, float]:
        """Return the size of the reservoir, the most tests of a round and alpha."""
        return 1, 1, 1.0

    def _all_edges(self, problem):
        return None

    def _largest_score(self, problem, loss, edges):
        if problem.n_pairs > MOST_PAIRS:
            raise ValueError(
                f"lam_ratio is a share of the largest score of all pairs, but {problem.n} variables have "
                f"{problem.n_pairs:,} pairs, more than {MOST_PAIRS:,}: give the penalty itself, lam=..."
            )
        order, allowed, weight = RandomPairs(problem.n, 0), problem.allowed(), problem.knowledge.weight
        largest = 0.0
        for first in range(0, len(order), _BLOCK):  # nothing quadratic is held
            pairs = order.pair(np.arange(first, min(first + _BLOCK, len(order))))
            pairs = pairs[allowed(pairs)]
            scores = loss.scores(pairs)
            largest = max(largest, float(np.max(scores if weight is None else scores / weight(pairs), initial=0.0)))
        return largest

    def _source(self, problem, loss, lam, edges, seed):
        reservoir_size, max_tests, alpha = self._sizes(problem.n)
        allowed = problem.allowed()
        stream = EdgeStream(
            problem.n,
            reservoir_size=reservoir_size,
            max_tests=max_tests,
            alpha=alpha,
            lam=lam,
            penalty_weight=problem.knowledge.weight,
            structure_heuristics=bool(self.structure_heuristics),
            hub_threshold=self.hub_threshold,
            mode=self._mode,
            seed=seed,
            skip=lambda pairs: ~allowed(pairs),
            lookahead=64,
        )
        if len(loss.edges):
            stream.add_active(loss.edges)
        return StreamedEdges(stream, self._local_tol(problem, lam))


class _ReservoirLearner(StreamLearner):
    """Base of the learners with a reservoir."""

    _parameter_constraints = {
        **StreamLearner._parameter_constraints,
        "alpha": [Interval(Real, 0, 1, closed="both")],
        "reservoir_size": [Interval(Integral, 1, None, closed="left"), None],
        "max_tests": [Interval(Integral, 1, None, closed="left"), None],
    }

    __init__ = with_options(StreamLearner.__init__, alpha=0.5, reservoir_size=None, max_tests=None)

    def _sizes(self, n):
        most = max(1, isqrt(n)) if self.max_tests is None else int(self.max_tests)
        return n if self.reservoir_size is None else int(self.reservoir_size), most, float(self.alpha)


@documented
class BestChoiceEdgeGrafting(_ReservoirLearner):
    r"""Markov network by best-choice edge grafting: pairs are tested as they come, nothing quadratic is stored.

    {markov_objective}

    An edge that passes its test, :math:`s_e = \|\nabla_e L\|_2 / d_e > \lambda c_e`, enters a reservoir that keeps the
    best. A round tests some pairs, then activates edges of the reservoir, no two with a common variable, from
    :math:`\tau_\alpha = (1 - \alpha)\,\text{mean} + \alpha\,\text{max}` of its scores on.
    {stream_rules}

    Parameters
    ----------
    data : DataFrame, array or DiscreteTable, optional
        What ``estimate()`` learns from; ``fit(X)`` needs none.
    {reservoir}
    {heuristics}
    {penalty}
    {markov_run}
    random_state : int, RandomState, Generator or None, default=0
        Draws the order in which pairs are tested.

    Attributes
    ----------
    {markov_attributes}

    Raises
    ------
    ValueError, TypeError
        For unusable data, unknown options and contradictory knowledge, and where `lam` is needed for there are more
        than 20 million pairs. The message names the culprit.

    Notes
    -----
    {stream_notes}

    References
    ----------
    .. [1] Chaabene, W. and Huang, B. (2017). Best-choice edge grafting for efficient structure learning of Markov
       random fields, algorithms 2 to 4.

    Examples
    --------
    >>> from pgmx.datasets import preferential_attachment_network, sample_markov_network
    >>> network = preferential_attachment_network(8, n_states=3, random_state=1)
    >>> learner = BestChoiceEdgeGrafting(lam_ratio=0.2).fit(sample_markov_network(network, 1000))
    >>> learner.converged_
    True
    >>> learner.model_.marginals(evidence={"x0": 1})["x1"].keys()
    dict_keys([0, 1, 2])
    """


@documented
class OnlineEdgeGrafting(_ReservoirLearner):
    r"""Markov network by online edge grafting: all pairs wait in a priority queue from the start.

    {markov_objective}

    An edge that passes its test, :math:`s_e = \|\nabla_e L\|_2 / d_e > \lambda c_e`, enters a reservoir that keeps the
    best. A round tests some pairs, then activates edges of the reservoir, no two with a common variable, from
    :math:`\tau_\alpha = (1 - \alpha)\,\text{mean} + \alpha\,\text{max}` of its scores on.
    {stream_rules}

    Parameters
    ----------
    data : DataFrame, array or DiscreteTable, optional
        What ``estimate()`` learns from; ``fit(X)`` needs none.
    {reservoir}
    {heuristics}
    {penalty}
    {markov_run}
    random_state : int, RandomState, Generator or None, default=0
        Draws the order in which pairs are tested.

    Attributes
    ----------
    {markov_attributes}

    Raises
    ------
    ValueError, TypeError
        For unusable data, unknown options and contradictory knowledge. The message names the culprit.

    Notes
    -----
    {stream_notes}

    The queue takes about 50 bytes a pair, 10 MB for 600 variables; :class:`BestChoiceEdgeGrafting` does the same
    without it.

    References
    ----------
    .. [1] Chaabene, W. (2017). Thesis, Virginia Tech, algorithms 7 to 9.

    Examples
    --------
    >>> from pgmx.datasets import preferential_attachment_network, sample_markov_network
    >>> network = preferential_attachment_network(8, n_states=3, random_state=1)
    >>> learner = OnlineEdgeGrafting(lam_ratio=0.2).fit(sample_markov_network(network, 1000))
    >>> learner.converged_, learner.graph_.number_of_nodes()
    (True, 8)
    """

    _mode = "all"


@documented
class FirstHitEdgeGrafting(StreamLearner):
    r"""Markov network by activating the first edge that passes its test, at once.

    {markov_objective}

    Pairs are tested as they come; one with :math:`s_e = \|\nabla_e L\|_2 / d_e > \lambda c_e` is activated before the
    next is tested: best-choice grafting with a reservoir of one. It is the baseline of the papers, which shows what the
    reservoir is good for: more edges are activated that end at zero or stay for no good reason.

    Parameters
    ----------
    data : DataFrame, array or DiscreteTable, optional
        What ``estimate()`` learns from; ``fit(X)`` needs none.
    {heuristics}
    {penalty}
    {markov_run}
    random_state : int, RandomState, Generator or None, default=0
        Draws the order in which pairs are tested.

    Attributes
    ----------
    {markov_attributes}

    Raises
    ------
    ValueError, TypeError
        For unusable data, unknown options and contradictory knowledge. The message names the culprit.

    Notes
    -----
    {stream_notes}

    References
    ----------
    .. [1] Chaabene, W. and Huang, B. (2017). Best-choice edge grafting for efficient structure learning of Markov
       random fields, section 3.1.

    Examples
    --------
    >>> from pgmx.datasets import preferential_attachment_network, sample_markov_network
    >>> network = preferential_attachment_network(8, n_states=3, random_state=1)
    >>> FirstHitEdgeGrafting(lam_ratio=0.2).fit(sample_markov_network(network, 1000)).converged_
    True
    """
