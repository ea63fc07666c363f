"""Simulated annealing for Bayesian networks."""

from numbers import Integral, Real
from typing import Any

from pgmx.estimators._documented import documented
from pgmx.estimators.base import Interval
from pgmx.estimators.bayesian.search_learner import SearchLearner
from pgmx.search.dag.annealing import anneal, usual_temperature
from pgmx.search.dag.course import Course
from pgmx.search.dag.hill_climb import climb
from pgmx.search.dag.problem import DagProblem
from pgmx.search.dag.state import DagState

#: Draws for each variable where the user names no number.
DRAWS_PER_VARIABLE = 10_000


@documented
class SimulatedAnnealing(SearchLearner):
    r"""Search for the directed acyclic graph of best score by simulated annealing.

    Additions, deletions and reversals of arcs are drawn at random; one of gain d is made with probability

    .. math:: \min(1, e^{d / T}), \qquad T_i = T_0 \left(\frac{T_L}{T_0}\right)^{i / (L - 1)}

    while the temperature falls geometrically over L = 100 levels of equally many draws. A climb from the best graph
    seen ends the search.

    Parameters
    ----------
    data : DataFrame, array, DiscreteTable, path or iterator of frames, optional
        What ``estimate()`` learns from; ``fit(X)`` needs none.
    {score}
    n_draws : int, default=None
        Moves drawn in all; 10,000 for each variable by default.
    initial_temperature : float, default=None
        T_0 > 0 in nats; by default a tenth of what the best single parent of a variable gains, the median over the
        variables.
    final_temperature : float, default=0.1
        T_L > 0 in nats.
    {search}
    {knowledge}
    {run}
    {data}
    n_jobs : int, default=None
        Threads that code the data and count the pairs of variables; the result is the same for any number.
    random_state : int, RandomState, Generator or None, default=0
        Draws the moves, and the permutation of the variables that decides equal gains in the last climb.

    Attributes
    ----------
    {attributes}

    Raises
    ------
    ValueError, TypeError
        As in :class:`HillClimbSearch`.

    Notes
    -----
    Cost: a draw that is refused costs a look-up, one that is accepted a row of gains (two for a reversal). The best
    score is reached with probability one only under cooling far slower than is practical; on the networks of the
    benchmark the defaults end at or below ``HillClimbSearch(strategy="thorough")``, at ten times its cost and more, and
    now and then below a plain climb.

    References
    ----------
    .. [1] Kirkpatrick, S., Gelatt, C. D. and Vecchi, M. P. (1983). Optimization by simulated annealing. Science 220.
    .. [2] Heckerman, D., Geiger, D. and Chickering, D. M. (1995). Learning Bayesian networks: the combination of
       knowledge and statistical data. Machine Learning 20, 197-243, section 7.

    Examples
    --------
    >>> import numpy as np
    >>> import pandas as pd
    >>> rng = np.random.default_rng(0)
    >>> rain = rng.integers(0, 2, 500)
    >>> wet = np.where(rng.random(500) < 0.9, rain, 1 - rain)
    >>> data = pd.DataFrame({"rain": rain, "wet": wet, "coin": rng.integers(0, 2, 500)})
    >>> search = SimulatedAnnealing(scoring_method="bic", return_type="dag").fit(data)
    >>> sorted(sorted(edge) for edge in search.graph_.edges())
    [['rain', 'wet']]
    """

    _parameter_constraints: dict[str, Any] = {
        **SearchLearner._parameter_constraints,
        "n_draws": [Interval(Integral, 0, None, closed="left"), None],
        "initial_temperature": [Interval(Real, 0, None, closed="neither"), None],
        "final_temperature": [Interval(Real, 0, None, closed="neither")],
    }

    def __init__(
        self,
        data=None,
        *,
        scoring_method=None,
        structure_prior=None,
        n_draws=None,
        initial_temperature=None,
        final_temperature=0.1,
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
        self.n_draws = n_draws
        self.initial_temperature = initial_temperature
        self.final_temperature = final_temperature
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
        given = self.initial_temperature
        if course.enter(0):
            anneal(
                state,
                course,
                seed=seed,
                n_draws=DRAWS_PER_VARIABLE * problem.n if self.n_draws is None else int(self.n_draws),
                initial_temperature=usual_temperature(state) if given is None else float(given),
                final_temperature=float(self.final_temperature),
            )
        if course.enter(1):
            if not course.memo:
                course.return_to_best(state)
            climb(state, course)
