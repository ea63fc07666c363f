"""Best-first search for Bayesian networks."""

from numbers import Integral
from typing import Any

from pgmx.estimators._documented import documented
from pgmx.estimators.base import Interval
from pgmx.estimators.bayesian.search_learner import SearchLearner
from pgmx.search.dag.best_first import best_first
from pgmx.search.dag.course import Course
from pgmx.search.dag.problem import DagProblem
from pgmx.search.dag.state import DagState


@documented
class BestFirstSearch(SearchLearner):
    r"""Best-first search for the directed acyclic graph of best score.

    Of all graphs reached and not yet expanded, the one of highest

    .. math:: \mathrm{score}(G) = \sum_x s(x \mid \Pi_x^G) + \ln P(G)

    is expanded next: its `width` best single-arc moves lead to new graphs. Where a climb would end, the search goes
    back to the next best graph.

    Parameters
    ----------
    data : DataFrame, array, DiscreteTable, path or iterator of frames, optional
        What ``estimate()`` learns from; ``fit(X)`` needs none.
    {score}
    width : int, default=10
        Moves of a graph that are followed.
    patience : int, default=100
        Expansions without a new best score that the search goes through before it ends, that of the first graph among
        them.
    max_open : int, default=10_000
        Graphs that wait to be expanded; the worst ones beyond are forgotten.
    {search}
    {knowledge}
    {run}
    {data}
    n_jobs : int, default=None
        Threads that code the data and count the pairs of variables; the result is the same for any number.
    random_state : int, RandomState, Generator or None, default=0
        Draws the permutation of the variables that decides equal gains.

    Attributes
    ----------
    {attributes}

    Raises
    ------
    ValueError, TypeError
        As in :class:`HillClimbSearch`.

    Notes
    -----
    An expansion counts as a move in `n_iter_`, `max_iter` and `history_`. Cost: a row of gains for each child in which
    the graph differs from the one expanded before; 8 bytes an arc for each graph that waits.

    References
    ----------
    .. [1] Koller, D. and Friedman, N. (2009). Probabilistic Graphical Models, section 18.4.3.2.
    .. [2] Russell, S. and Norvig, P. (2010). Artificial Intelligence: A Modern Approach, section 3.5.

    Examples
    --------
    >>> import numpy as np
    >>> import pandas as pd
    >>> rng = np.random.default_rng(0)
    >>> rain = rng.integers(0, 2, 500)
    >>> wet = np.where(rng.random(500) < 0.9, rain, 1 - rain)
    >>> data = pd.DataFrame({"rain": rain, "wet": wet, "coin": rng.integers(0, 2, 500)})
    >>> search = BestFirstSearch(scoring_method="bic", return_type="dag").fit(data)
    >>> sorted(sorted(edge) for edge in search.graph_.edges())
    [['rain', 'wet']]
    """

    _parameter_constraints: dict[str, Any] = {
        **SearchLearner._parameter_constraints,
        "width": [Interval(Integral, 1, None, closed="left")],
        "patience": [Interval(Integral, 0, None, closed="left")],
        "max_open": [Interval(Integral, 1, None, closed="left")],
    }

    def __init__(
        self,
        data=None,
        *,
        scoring_method=None,
        structure_prior=None,
        width=10,
        patience=100,
        max_open=10_000,
        start_dag=None,
        max_indegree=None,
        max_candidates=None,
        expert_knowledge=None,
        required_edges=None,
        forbidden_edges=None,
        tiers=None,
        root_nodes=None,
        candidate_edges=None,
        return_type="pdag",
        epsilon=1e-4,
        max_iter=1_000_000,
        max_time=None,
        checkpoint=None,
        checkpoint_every=60.0,
        show_progress=True,
        callback=None,
        state_names=None,
        missing="error",
        n_jobs=None,
        random_state=0,
    ):
        self.data = data
        self.scoring_method = scoring_method
        self.structure_prior = structure_prior
        self.width = width
        self.patience = patience
        self.max_open = max_open
        self.start_dag = start_dag
        self.max_indegree = max_indegree
        self.max_candidates = max_candidates
        self.expert_knowledge = expert_knowledge
        self.required_edges = required_edges
        self.forbidden_edges = forbidden_edges
        self.tiers = tiers
        self.root_nodes = root_nodes
        self.candidate_edges = candidate_edges
        self.return_type = return_type
        self.epsilon = epsilon
        self.max_iter = max_iter
        self.max_time = max_time
        self.checkpoint = checkpoint
        self.checkpoint_every = checkpoint_every
        self.show_progress = show_progress
        self.callback = callback
        self.state_names = state_names
        self.missing = missing
        self.n_jobs = n_jobs
        self.random_state = random_state

    def _search(self, problem: DagProblem, state: DagState, course: Course, seed: int) -> None:
        best_first(state, course, width=int(self.width), patience=int(self.patience), max_open=int(self.max_open))
