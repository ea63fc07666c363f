"""Grafting that looks at all pairs each round: edge by edge, or feature by feature."""

from numbers import Real

import numpy as np

from pgmx.estimators._documented import documented
from pgmx.estimators._options import with_options
from pgmx.estimators.base import Interval
from pgmx.estimators.markov.learner import MarkovLearner
from pgmx.search.edges.sources import BestEdge, BestFeature, FeatureScores


@documented
class EdgeGrafting(MarkovLearner):
    r"""Markov network by exhaustive edge grafting.

    {markov_objective}

    Each round activates the edge whose gradient violates the condition of optimality most,
    :math:`s_e / c_e > \lambda` with :math:`s_e = \|\nabla_e L\|_2 / d_e`, and optimises around it, until no pair does.

    Parameters
    ----------
    data : DataFrame, array or DiscreteTable, optional
        What ``estimate()`` learns from; ``fit(X)`` needs none.
    batch : bool, default=False
        Whether a round activates all edges from the threshold of `alpha` on, in decreasing order of their scores, which
        share no variable with one activated before in the round: the rule of best-choice grafting with an unlimited
        reservoir. It comes to the same optimum in far fewer rounds.
    alpha : float, default=0.0
        With `batch`, the threshold (1 - α) mean + α max of the scores of all violators.
    {penalty}
    {markov_run}
    random_state : int, RandomState, Generator or None, default=0
        Not used: nothing is drawn.

    Attributes
    ----------
    {markov_attributes}

    Raises
    ------
    ValueError, TypeError
        For unusable data, unknown options and contradictory knowledge. The message names the culprit.

    Notes
    -----
    Scores are kept with bounds on how far they may have moved, so that a round scores a few hundred pairs anew instead
    of all; the edge found is the same. Cost: all n² / 2 pair tables, once; for the pseudolikelihood, about
    N (s_i - 1)(s_j - 1) / 8 additions in vectors of 16 a score, and 4 N bytes for each state of a variable with an
    edge.

    References
    ----------
    .. [1] Chaabene, W. and Huang, B. (2017). Best-choice edge grafting for efficient structure learning of Markov
       random fields, algorithm 1, equations 2 to 5; the condition of optimality (3) is corrected to
       :math:`\nabla_g L + \lambda d_g w_g / \|w_g\| + l_2 w_g = 0` where :math:`w_g \ne 0`.
    .. [2] Lee, S.-I., Ganapathi, V. and Koller, D. (2006). Efficient structure learning of Markov networks using
       L1-regularization. Advances in Neural Information Processing Systems 19, 817-824.

    Examples
    --------
    >>> from pgmx.datasets import preferential_attachment_network, sample_markov_network
    >>> network = preferential_attachment_network(6, n_states=3, random_state=1)
    >>> rows = sample_markov_network(network, 2000, random_state=1)
    >>> learner = EdgeGrafting(lam_ratio=0.2).fit(rows)
    >>> learner.converged_, learner.kkt_residual_ <= 1e-4
    (True, True)
    >>> recovered = [tuple(edge) for edge in learner.graph_.edges()]
    >>> sum(network.has_edge(*edge) for edge in recovered) >= 6
    True
    """

    _parameter_constraints = {
        **MarkovLearner._parameter_constraints,
        "batch": ["boolean"],
        "alpha": [Interval(Real, 0, 1, closed="both")],
    }

    __init__ = with_options(MarkovLearner.__init__, batch=False, alpha=0.0)

    def _source(self, problem, loss, lam, edges, seed):
        edges.remove(loss.edges)
        return BestEdge(edges, lam, self._local_tol(problem, lam), float(self.alpha) if self.batch else None)


@documented
class FeatureGrafting(MarkovLearner):
    r"""Markov network by grafting single features.

    .. math::

        \min_{\theta, W} \; L(\theta, W) + \lambda \sum_e c_e \|W_e\|_1 + \frac{l_2}{2} \|(\theta, W)\|_2^2

    Each round activates the entry of an edge's table whose derivative violates the condition of optimality most,
    :math:`|\partial_k L| > \lambda c_e`, and optimises around it, until none does.

    Parameters
    ----------
    data : DataFrame, array or DiscreteTable, optional
        What ``estimate()`` learns from; ``fit(X)`` needs none.
    {penalty}
    {markov_run}
    random_state : int, RandomState, Generator or None, default=0
        Not used: nothing is drawn.

    Attributes
    ----------
    {markov_attributes}

    Raises
    ------
    ValueError, TypeError
        For unusable data, unknown options and contradictory knowledge. The message names the culprit.

    Notes
    -----
    `max_edges` and `n_activated_` count features here. An edge is in the graph when a feature of it is not zero. Node
    features are active from the start. This is the oldest and slowest of the methods: it takes a round a feature.

    References
    ----------
    .. [1] Perkins, S., Lacker, K. and Theiler, J. (2003). Grafting: fast, incremental feature selection by gradient
       descent in function space. Journal of Machine Learning Research 3, 1333-1356.
    .. [2] Chaabene, W. (2017). Thesis, Virginia Tech, algorithm 5.

    Examples
    --------
    >>> from pgmx.datasets import preferential_attachment_network, sample_markov_network
    >>> rows = sample_markov_network(preferential_attachment_network(5, n_states=2, random_state=1), 1000)
    >>> FeatureGrafting(lam_ratio=0.3).fit(rows).converged_
    True
    """

    _parameter_constraints = MarkovLearner._parameter_constraints
    _feature_wise = True
    _max_sweeps: int | None = None

    def _scored(self, loss):
        return FeatureScores(loss, {})

    def _source(self, problem, loss, lam, edges, seed):
        for i, j in problem.knowledge.required.tolist():
            cells = np.argwhere(np.ones(problem.table.cardinalities[[i, j]]))
            loss.activate_features(np.full((len(cells), 2), (i, j)), cells)
        source = BestFeature(edges, lam, self._local_tol(problem, lam), self._max_sweeps)
        source.restore({}, loss)
        return source


@documented
class GraftingLight(FeatureGrafting):
    r"""Markov network by grafting single features with one step for each.

    .. math::

        \min_{\theta, W} \; L(\theta, W) + \lambda \sum_e c_e \|W_e\|_1 + \frac{l_2}{2} \|(\theta, W)\|_2^2

    The objective is that of :class:`FeatureGrafting`. After each activation the blocks around the new feature take one
    proximal step instead of coming to their optimum; the last optimisation is complete, and rounds follow until no
    feature violates the condition of optimality, so that the result is the same.

    Parameters
    ----------
    data : DataFrame, array or DiscreteTable, optional
        What ``estimate()`` learns from; ``fit(X)`` needs none.
    {penalty}
    {markov_run}
    random_state : int, RandomState, Generator or None, default=0
        Not used: nothing is drawn.

    Attributes
    ----------
    {markov_attributes}

    Raises
    ------
    ValueError, TypeError
        For unusable data, unknown options and contradictory knowledge. The message names the culprit.

    Notes
    -----
    As :class:`FeatureGrafting`; it takes less time a round and activates more features that end at zero. Under Bethe's
    loss one step leaves messages unsettled, so that the objective may rise between rounds; the end is optimised
    in full.

    References
    ----------
    .. [1] Zhu, J., Lao, N. and Xing, E. P. (2010). Grafting-light: fast, incremental feature selection and structure
       learning of Markov random fields. KDD, 303-312.
    .. [2] Chaabene, W. (2017). Thesis, Virginia Tech, section 3.2.2.

    Examples
    --------
    >>> from pgmx.datasets import preferential_attachment_network, sample_markov_network
    >>> rows = sample_markov_network(preferential_attachment_network(5, n_states=2, random_state=1), 1000)
    >>> GraftingLight(lam_ratio=0.3).fit(rows).converged_
    True
    """

    _max_sweeps = 1
