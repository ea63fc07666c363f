"""Hill climbing for Bayesian networks."""

from numbers import Integral
from typing import Any

from pgmx.estimators._documented import documented
from pgmx.estimators.base import Interval, StrOptions
from pgmx.estimators.bayesian.search_learner import SearchLearner
from pgmx.search.dag.course import Course
from pgmx.search.dag.hill_climb import climb
from pgmx.search.dag.problem import DagProblem
from pgmx.search.dag.restarts import restart
from pgmx.search.dag.state import DagState
from pgmx.search.dag.thorough import search_thoroughly


@documented
class HillClimbSearch(SearchLearner):
    r"""Greedy search for the directed acyclic graph of best score.

    From a start graph, the single-arc addition, deletion or reversal that raises

    .. math:: \mathrm{score}(G) = \sum_x s(x \mid \Pi_x^G) + \ln P(G)

    most is made, until none gains `epsilon`. It takes the place of ``pgmpy.causal_discovery.HillClimbSearch``: the same
    parameters, fitted attributes and ``score`` method; the Notes list the differences.

    Parameters
    ----------
    data : DataFrame, array, DiscreteTable, path or iterator of frames, optional
        What ``estimate()`` learns from; ``fit(X)`` needs none.
    {score}
    strategy : {"greedy", "thorough"}, default="greedy"
        ``"greedy"`` ends at the first local optimum, as pgmpy's search does. ``"thorough"`` goes on by optimal
        reinsertion: nodes and small groups of neighbours are taken out with all their arcs and put back by a climb, as
        long as that raises the score; it does so twice, equal gains decided the other way round the second time. It
        takes about ten to twenty times as long and mostly ends far higher; under BDeu, where graphs grow dense, it can
        take eighty times as long: set `max_time` or `max_indegree` there.
    {search}
    tabu_length : int, default=100
        The last `tabu_length` moves may not be undone. The list is emptied where no other move improves the best graph,
        so that the result is a local optimum of all moves.
    patience : int, default=0
        Moves without a new best score that the search walks through before it ends (a tabu search); 0 ends it at the
        first local optimum. The best graph seen is the result.
    n_restarts : int, default=0
        Climbs that begin again some random legal moves away from the optimum; the best graph is kept.
    n_restart_moves : int, default=10
        Random moves of a restart.
    {knowledge}
    {run}
    {data}
    n_jobs : int, default=None
        Threads that code the data and count the pairs of variables, and restarts that run at the same time, through
        joblib and its backends; the result is the same for any number.
    random_state : int, RandomState, Generator or None, default=0
        Draws the permutation of the variables that decides equal gains, see the Notes, restarts and reinsertions.

    Attributes
    ----------
    {attributes}

    Raises
    ------
    ValueError, TypeError
        For data that are empty, have missing or unhashable cells or duplicate columns; for unknown scores and options;
        for contradictory or cyclic knowledge; for a start graph over other variables; for a checkpoint of another
        search. The message names the culprit.

    Notes
    -----
    With n variables and N rows the first step counts n²/2 pair tables, each move re-scores one child (two for a
    reversal) against n candidates; a table takes about cells · N / 512 vector operations with AVX-512.

    Under a score-equivalent score the two directions of the first arc between two variables tie exactly. Such ties go
    to the head, then the tail, that stands first in one permutation of the variables: those with more partners
    (variables that gain as their only parent) first, `random_state` drawing the order among equals.

    Memory beside the data, with S states in all: N n bytes of codes, N S / 8 of bit planes, 8 n² of gains, 4 (S - n)²
    of pair counts (left out above 256 MB), at most 64 MB of counts kept between moves, and scratch for one child that
    grows with its cells, mostly far below 64 MB.

    Differences from pgmpy 1.1.2:

    - Integer and boolean columns are states; pgmpy scores them as Gaussian. Discrete scores refuse floats.
    - K2 and BDeu follow their formulas where pgmpy departs from them (states and configurations that never occur).
    - Ties are decided by `random_state`, pgmpy's by the hash seed.
    - The tabu list is emptied at a local optimum, see `tabu_length`.
    - Required edges, the temporal order and forbidden directions stay directed in the PDAG, and the knowledge object is
      not changed; contradictory knowledge is an error.
    - A variable with one state gets no edges.
    - A score made from other data is refused.
    - ``score`` takes scikit-learn's `y` second: give `true_graph` by keyword.

    References
    ----------
    .. [1] Koller, D. and Friedman, N. (2009). Probabilistic Graphical Models, section 18.4.3.
    .. [2] Moore, A. and Wong, W.-K. (2003). Optimal reinsertion: a new search operator for accelerated and more
       accurate Bayesian network structure learning. ICML.
    .. [3] Meek, C. (1995). Causal inference and causal explanation with background knowledge. UAI, 403-410.

    Examples
    --------
    >>> import numpy as np
    >>> import pandas as pd
    >>> rng = np.random.default_rng(0)
    >>> rain = rng.integers(0, 2, 500)
    >>> wet = np.where(rng.random(500) < 0.9, rain, 1 - rain)
    >>> data = pd.DataFrame({"rain": rain, "wet": wet, "coin": rng.integers(0, 2, 500)})
    >>> search = HillClimbSearch(scoring_method="bic", return_type="dag").fit(data)
    >>> sorted(sorted(edge) for edge in search.graph_.edges())
    [['rain', 'wet']]
    >>> search.model_.check_model()
    True
    """

    _parameter_constraints: dict[str, Any] = {
        **SearchLearner._parameter_constraints,
        "strategy": [StrOptions({"greedy", "thorough"})],
        "tabu_length": [Interval(Integral, 0, None, closed="left")],
        "patience": [Interval(Integral, 0, None, closed="left")],
        "n_restarts": [Interval(Integral, 0, None, closed="left")],
        "n_restart_moves": [Interval(Integral, 1, None, closed="left")],
    }

    def __init__(
        self,
        data=None,
        *,
        scoring_method=None,
        structure_prior=None,
        strategy="greedy",
        start_dag=None,
        max_indegree=None,
        max_candidates=None,
        tabu_length=100,
        patience=0,
        n_restarts=0,
        n_restart_moves=10,
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
        self.strategy = strategy
        self.start_dag = start_dag
        self.max_indegree = max_indegree
        self.max_candidates = max_candidates
        self.tabu_length = tabu_length
        self.patience = patience
        self.n_restarts = n_restarts
        self.n_restart_moves = n_restart_moves
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

    def _walks(self) -> bool:
        return self.patience > 0

    def _goes_back(self) -> bool:
        return self.strategy == "thorough" or self.n_restarts > 0

    def _spreads(self) -> bool:
        return self.n_restarts > 0

    def _search(self, problem: DagProblem, state: DagState, course: Course, seed: int) -> None:
        if course.enter(0):
            climb(state, course, patience=self.patience)
        if self.n_restarts and course.enter(1):
            restart(
                problem,
                state,
                course,
                n_restarts=self.n_restarts,
                n_moves=self.n_restart_moves,
                seed=seed,
                n_jobs=self.n_jobs,
            )
        if self.strategy == "thorough":
            search_thoroughly(problem, state, course, seed=seed, first_stage=2)
