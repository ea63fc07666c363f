"""Hill climbing for Bayesian networks."""

from collections.abc import Callable, Collection, Hashable, Sequence
from functools import partial
from numbers import Integral
from pathlib import Path
from typing import Any, Literal

import networkx as nx
import numpy as np
from numpy.typing import ArrayLike
from pgmpy.causal_discovery import ExpertKnowledge

from pgmx.estimators.base import Interval, StrOptions
from pgmx.estimators.bayesian.dag_learner import Opened
from pgmx.estimators.bayesian.pgmpy_face import BaseStructureScore
from pgmx.estimators.bayesian.search_learner import SearchLearner
from pgmx.parallel.threads import count_threads
from pgmx.runs.progress import SearchProgress
from pgmx.runs.run import Run
from pgmx.scores.priors import StructurePrior
from pgmx.search.dag.best import MEMBERS, search_for_best
from pgmx.search.dag.course import Course
from pgmx.search.dag.exact.exact import search_exactly
from pgmx.search.dag.hill_climb import climb, estimate_moves_left
from pgmx.search.dag.orders.kicks import TREE_MEMORY
from pgmx.search.dag.restarts import restart
from pgmx.search.dag.state import DagProblem, DagState
from pgmx.search.dag.thorough import search_thoroughly


class HillClimbSearch(SearchLearner):
    r"""Greedy search for the directed acyclic graph of best score.

    From a start graph, the single-arc addition, deletion or reversal that raises

    .. math:: \mathrm{score}(G) = \sum_x s(x \mid \Pi_x^G) + \ln P(G)

    most is made, until none gains `epsilon`. It takes the place of ``pgmpy.causal_discovery.HillClimbSearch``: the same
    parameters and fitted attributes; the Notes list the differences.

    Parameters
    ----------
    data : DataFrame, array, DiscreteTable, path or iterator of frames, optional
        Data for ``estimate()``. ``fit(X)`` does not use it.
    scoring_method : str or BaseStructureScore, default=None
        Name of a score (see the Notes of :class:`HillClimbSearch`), or a score object of pgmx or pgmpy made from the
        same data. The default is BIC, in the form for discrete, continuous or mixed data.
    structure_prior : UniformPrior, EdgePrior or ParameterPrior, default=None
        Prior of the graph, from :mod:`pgmx.scores`. The default is uniform.
    discrete_children : {"forbidden", "allowed"}, default="forbidden"
        Whether conditional linear Gaussian scores allow edges from continuous to discrete variables, see
        :class:`pgmx.scores.BICCondLinearGauss`. If such an edge is learned, `model_` raises an error.
    strategy : {"greedy", "thorough", "best", "exact"}, default="greedy"
        ``"greedy"`` ends at the first local optimum, as pgmpy's search does. ``"thorough"`` goes on by optimal
        reinsertion: nodes and small groups of neighbours are taken out with all their arcs and put back by a climb, as
        long as that raises the score; it does so twice, equal gains decided the other way round the second time. Up to
        24 variables it exchanges single parents and kicks orders besides, as ``"best"`` does, see the Notes. It
        takes about ten to twenty times as long and mostly ends far higher; under BDeu, where graphs grow dense, it can
        take eighty times as long: set `max_time` or `max_indegree` there. ``"best"`` goes on from there over orders of
        the variables, in which each takes its parents from its predecessors: from random orders, that of a greedy graph
        and that of the best one, some variables are moved to random places again and again and all to their best ones.
        In the end parents that gain only together are looked for: all sets of them where these are few, else pairs. It
        never ends below ``"thorough"`` and takes about 5 to 30 times as long, with up to 18 variables as much as a few
        seconds, see the Notes. ``"exact"`` returns the best
        graph of all and proves it, see the Notes.
    start_dag : DAG or {"tree", "random"}, default=None
        Start graph: a DAG, a Chow-Liu forest of the score, or a random graph. The default has no edges.
    max_indegree : int, default=None
        Largest number of parents that a move may give a node. The default is unlimited.
    max_candidates : int, default=None
        Number of candidate parents of each variable, chosen by the score of the pair. Variables that chose it are
        candidates too. By default all variables are candidates.
    tabu_length : int, default=100
        The last `tabu_length` moves may not be undone. The list is emptied where no other move improves the best graph,
        so that the result is a local optimum of all moves.
    patience : int, default=0
        Moves without a new best score that the search makes before it ends (a tabu search); 0 ends it at the
        first local optimum. The best graph seen is the result.
    n_restarts : int, default=0
        Climbs that begin again some random legal moves away from the optimum; the best graph is kept.
    n_restart_moves : int, default=10
        Random moves of a restart.
    expert_knowledge : ExpertKnowledge, default=None
        Prior knowledge as an object of pgmpy. It is combined with the next five options; contradictions are an error.
        ``root_nodes`` and ``orientations`` of later versions of pgmpy are read too. An orientation fixes the direction
        of an edge, if there is one.
    required_edges, forbidden_edges : collection of (tail, head), default=None
        Edges that the graph must have, and edges that it must not have.
    tiers : list of collections, default=None
        Groups of variables from the earliest to the latest. No edge leads to an earlier group.
    root_nodes : collection, default=None
        Variables without parents.
    candidate_edges : collection of (tail, head), default=None
        The only edges that the graph may have.
    equivalent_sample_size : float, default=None
        Number of rows that the Dirichlet prior of the parameters of `model_` represents, divided equally among the
        cells of a CPT. The default is maximum likelihood. `score` uses 1 if neither this option nor `pseudo_counts` is
        given.
    pseudo_counts : float, default=None
        Number of rows that the prior of `model_` adds to each cell of a CPT, in place of `equivalent_sample_size`. 1 is
        the prior of K2.
    return_type : {"pdag", "dag"}, default="pdag"
        Whether `graph_` is the equivalence class of the DAG, which keeps the directions known in advance, or the DAG
        itself.
    epsilon : float, default=1e-4
        Smallest increase of the score, in nats, that counts as an improvement.
    max_iter : int, default=1_000_000
        Largest number of moves, including moves that are later undone. May be infinite.
    max_time : float, default=None
        Time limit in seconds, after which the best graph so far is returned. Coding the data and counting are not
        interrupted.
    checkpoint : path-like, default=None
        File of snapshots. If it exists, ``fit`` resumes from it and returns the same graph. It is deleted when the
        search has converged.
    checkpoint_every : float, default=60.0
        Seconds between two snapshots. 0 writes one per move.
    show_progress : bool, default=True
        Whether runs of more than one second show a progress bar. ``pgmpy.config.SHOW_PROGRESS`` can switch it off too.
    callback : callable, default=None
        Called with the named tuple (n_iter, score, n_edges, seconds) after each move, and after each trial that led to
        a better graph. If it returns a true value, the search ends.
    state_names : dict, default=None
        States of some or all variables, in order. States that do not occur in the data are allowed.
    missing : {"error", "drop", "category", "pairwise", "em"}, default="error"
        Treatment of missing values: raise an error; drop the row; add a state ``"missing"``; score each family on the
        rows complete in it (BIC, AIC, log-likelihood); or structural EM. See the Notes of :class:`HillClimbSearch`.
    na_values : scalar, str, list-like or dict, default=None
        Additional markers of missing values in a CSV file, such as "?", as in ``pandas.read_csv``. A dict gives markers
        per column. Any value, even an empty list, switches off the warning about possible markers. Data in memory are
        not changed.
    discrete_columns : list of hashable, default=None
        Numeric columns that are discrete variables. Their states are the distinct values, as integers if all values are
        whole.
    n_em_restarts : int, default=0
        Additional starts with ``missing="em"``. Each start draws the missing values from the observed values of their
        columns. The graph of highest score is kept.
    n_jobs : int, default=None
        Threads that code the data, count the pairs of variables, compute the gains that a climb will ask for next, or
        count shares of the rows for those that it asks for (four at most; not with `callback`), and make restarts, the
        trials of the thorough strategy and the searches from random orders of the best one, as many as pay; restarts
        also run on joblib's backends. The result is the same for any number. With a checkpoint, and for scores that are
        not compiled, the orders are searched one after the other; with threads they keep up to 128 MB of rows besides.
    random_state : int, RandomState, Generator or None, default=0
        Draws the permutation of the variables that decides equal gains, see the Notes, restarts and reinsertions.

    Attributes
    ----------
    graph_, causal_graph_ : pgmpy.base.PDAG or pgmpy.base.DAG
        The learned graph, of the type given by `return_type`.
    dag_ : pgmpy.base.DAG
        The learned DAG, whatever `return_type`.
    model_ : DiscreteBayesianNetwork, LinearGaussianBayesianNetwork or ConditionalGaussianNetwork
        The network of `dag_`, made on first access. By default its parameters are maximum likelihood estimates, so new
        rows may have probability 0. `equivalent_sample_size` or `pseudo_counts` prevent this.
    score_ : float
        Score of `dag_`, in nats, including the log prior of the graph.
    n_iter_ : int
        Number of moves, including moves that were later undone.
    converged_, stopped_by_ : bool, str
        Whether the search converged, and why it ended: "converged", "max_iter", "max_time", "callback" or "interrupt"
        (Ctrl-C or an error in a callback; the results describe the best graph so far).
    proven_ : bool
        Whether no graph that the options allow has a higher score; False but for ``strategy="exact"``.
    optimality_gap_ : float
        No graph has a higher score than `score_` by more than this, in nats: 0 where that is proven, infinite where
        nothing bounds the score, NaN under the other strategies.
    n_em_iter_ : int
        Number of iterations of structural EM, including the last one, which found no better graph. 0 if no values are
        missing.
    observed_log_likelihood_ : float
        Maximum log-likelihood of the observed values under `dag_`, in nats, with ``missing="em"``. Otherwise NaN.
    history_ : dict of ndarray
        ``"score"``, ``"n_edges"``, ``"seconds"`` wherever `callback` is called; with ``strategy="best"`` also
        ``"member"``, what came to the graph: "greedy", "thorough", "equivalence classes", "random order", "order of a
        greedy graph", "order of the best graph", "last climb", "all sets of parents" or "pairs of parents".
    edges_ : ndarray of shape (n_edges, 2), int64
        Edges (tail, head) of `dag_` as positions in `variables_`.
    adjacency_matrix_ : DataFrame
        Adjacency matrix of `graph_`, made on access.
    variables_, n_features_in_, feature_names_in_ : list, int, ndarray
        Names of the columns, and their number and names as in scikit-learn.

    Raises
    ------
    ValueError, TypeError
        For data that are empty, have missing or unhashable cells or duplicate columns; for unknown scores and options;
        for contradictory or cyclic knowledge; for a start graph over other variables; for a checkpoint of another
        search. The message names the culprit.

    Notes
    -----
    Discrete scores: ``"bic"``, ``"aic"``, ``"ll"``, ``"k2"``, ``"bdeu"``, ``"bds"`` (pgmpy's ``"bic-d"``, ``"aic-d"``
    and ``"ll-d"`` are the same). Continuous: ``"ll-g"``, ``"aic-g"``, ``"bic-g"``, ``"bge"``. Mixed: ``"bic-clg"``, see
    :class:`pgmx.scores.BICCondLinearGauss`: no arcs lead from floats to states, which the PDAG knows; ``"bic-dg"``,
    :class:`pgmx.scores.BICDegenerateGauss`, which takes arcs of all kinds; and pgmpy's ``"ll-cg"``, ``"aic-cg"``,
    ``"bic-cg"``, which reward such arcs. All these are compiled. Integers are states.

    `max_candidates` makes thousands of variables feasible. The time that `callback` takes is not counted.

    With n variables and N rows the first step counts n²/2 pair tables, each move re-scores one child (two for a
    reversal) against n candidates; a table takes about cells · N / 512 vector operations with AVX-512.

    ``strategy="exact"`` climbs, lists for each variable the sets of parents that beat all their subsets, and compares
    the subsets of the variables by dynamic programming. It takes any score that decomposes. Bounds of BIC, AIC and
    the log-likelihood (of states, linear Gaussian too) and of the Dirichlet scores exclude most sets of parents; for
    other scores and for rows with weights under a Dirichlet score all sets up to `max_indegree` are scored, at most 2²⁰
    (16 variables with any number of parents). Memory:
    8 · 2ᵐ bytes, time: m² 2ᵐ operations, m ≤ n being the variables of the largest group that can be in cycles: 8 MB
    and .3 s for 20, .3 GB and 10 s for 25. More than 28, or more than 2²⁴ families, are refused, unless `max_time` is
    given: then the best graph found is returned, and `optimality_gap_` says how far it can be from the optimum.

    Under a score-equivalent score the two directions of the first arc between two variables tie exactly. Such ties go
    to the head, then the tail, that stands first in one permutation of the variables: those with more partners
    (variables that gain as their only parent) first, `random_state` drawing the order among equals.

    The orders of ``strategy="best"`` are those of [5]_, with exchanges of one parent inside grow-shrink. Each search
    over orders ends where 100 kicks, and one more per variable, led to no better order; four begin at random orders.
    Dense graphs make kicks dear: there are no more than 5,000,000 of them over the rows of gains that the first climb
    took. Their trees of parent sets take at most 256 MB: beyond, the sets that were not visited for longest are
    dropped. With up to 18 variables the exact search follows, where it scores no more than 2¹⁹ families of states and
    these times the rows no more than 6·10⁹ (2¹⁶ families of other compiled scores, 2¹² of others), as with 16 variables
    at 10,000 rows; where all are more, of families with so few parents that they are no more than 2¹⁵. With up to 100
    variables of a compiled score, pairs of parents are added that gain together while neither does, where the family
    of the first one has no more than 32 cells. It is no proof: larger sets of parents may be missed.

    ``missing="em"`` is structural EM [6]_. The first graph is that of ``missing="pairwise"``. Then, again and again,
    the rows are completed by the network of the best graph so far (all completions of a row weighted by their
    probabilities, 10 stratified draws from their exact distribution where there are more), the search runs as it does
    on complete rows, and the parameters of its graph are fitted by exact expected counts. The graph is taken where

    .. math:: \ell_{\mathrm{obs}}(\theta) + s(G; D^*) - \ell(\hat\theta; D^*)

    is higher: the log-likelihood of the observed cells, penalised as the score penalises the completed rows D* (BIC and
    AIC: by the same penalty; Dirichlet scores and BGe: the approximation of [7]_). That is `score_`, which never falls.
    Where neither the search nor one from the best graph gains `epsilon`, EM ends. It assumes that whether a cell is
    missing depends on observed cells alone, where ``"drop"`` and ``"pairwise"`` assume that it depends on nothing.
    `callback` is called after each graph that is taken, `max_iter` bounds each search, `checkpoint` holds the graph
    that was taken last. A pass over the rows takes rows times cells of the junction tree: 2 to 6 s in all for 37
    variables and 5,000 rows.

    Of columns of floats the expected moments take the place of completed rows, and are exact: the first graph is that
    of the moments under one normal distribution, fitted to the observed cells, counted for fewer rows by the mean share
    of rows in which two columns are known together. A pass takes N n² multiplications and,
    for each pattern of k missing cells, k³ of them; more than 10¹² are refused. .1 s in all for 20 columns and 2,000
    rows with 30 % of the cells missing.

    Of floats beside states (``"bic-clg"``, ``"aic-clg"``, ``"ll-clg"``) the search scores 10 draws of each row that
    lacks cells, with fixed random numbers, since the expected moments of all families it may try would be too many;
    floats are drawn so that they have exactly their means and covariances given the states. Parameters and likelihood
    are exact. The first graph is that of the moments of floats and indicators of states under one normal distribution.
    A pass takes, for each set of missing variables that families join, a millisecond and its rows times their
    configurations; above 2·10⁹ numbers, or 10⁶ for a row, it is refused. .1 s in all for 10 floats, 10 columns of
    states and 2,000 rows with 10 % of the cells missing, .2 s with 30 %.

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
    - ``score(X)`` is the mean log-likelihood per row, pgmpy's the metric ``"correlation_score"``; its second argument
      is scikit-learn's `y`: give `true_graph` by keyword.

    References
    ----------
    .. [1] Koller, D. and Friedman, N. (2009). Probabilistic Graphical Models, section 18.4.3.
    .. [2] Moore, A. and Wong, W.-K. (2003). Optimal reinsertion: a new search operator for accelerated and more
       accurate Bayesian network structure learning. ICML.
    .. [3] Silander, T. and Myllymaki, P. (2006). A simple approach for finding the globally optimal Bayesian network
       structure. UAI, 445-452.
    .. [4] Meek, C. (1995). Causal inference and causal explanation with background knowledge. UAI, 403-410.
    .. [5] Andrews, B., Ramsey, J., Sanchez-Romero, R., Camchong, J. and Kummerfeld, E. (2023). Fast scalable and
       accurate discovery of DAGs using the best order score search and grow-shrink trees. NeurIPS.
    .. [6] Friedman, N. (1997). Learning belief networks in the presence of missing values and hidden variables. ICML.
    .. [7] Cheeseman, P. and Stutz, J. (1996). Bayesian classification (AutoClass): theory and results. Advances in
       Knowledge Discovery and Data Mining, AAAI Press, section 6.2.

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

    _tags = {"name": "hill_climb_search"}

    _parameter_constraints: dict[str, Any] = {
        **SearchLearner._parameter_constraints,
        "strategy": [StrOptions({"best", "exact", "greedy", "thorough"})],
        "tabu_length": [Interval(Integral, 0, None, closed="left")],
        "patience": [Interval(Integral, 0, None, closed="left")],
        "n_restarts": [Interval(Integral, 0, None, closed="left")],
        "n_restart_moves": [Interval(Integral, 1, None, closed="left")],
    }

    def __init__(
        self,
        data: Any = None,
        *,
        scoring_method: str | BaseStructureScore | None = None,
        structure_prior: StructurePrior | None = None,
        discrete_children: Literal["forbidden", "allowed"] = "forbidden",
        strategy: Literal["greedy", "thorough", "best", "exact"] = "greedy",
        start_dag: nx.DiGraph | Literal["tree", "random"] | None = None,
        max_indegree: float | None = None,
        max_candidates: int | None = None,
        tabu_length: int = 100,
        patience: int = 0,
        n_restarts: int = 0,
        n_restart_moves: int = 10,
        expert_knowledge: ExpertKnowledge | None = None,
        required_edges: Collection[Sequence[Hashable]] | None = None,
        forbidden_edges: Collection[Sequence[Hashable]] | None = None,
        tiers: Sequence[Collection[Hashable]] | None = None,
        root_nodes: Collection[Hashable] | None = None,
        candidate_edges: Collection[Sequence[Hashable]] | None = None,
        equivalent_sample_size: float | None = None,
        pseudo_counts: float | None = None,
        return_type: str = "pdag",
        epsilon: float = 1e-4,
        max_iter: float = 1_000_000,
        max_time: float | None = None,
        checkpoint: str | Path | None = None,
        checkpoint_every: float = 60.0,
        show_progress: bool = True,
        callback: Callable[[SearchProgress], object] | None = None,
        state_names: dict | None = None,
        missing: Literal["error", "drop", "category", "pairwise", "em"] = "error",
        na_values: Any = None,
        discrete_columns: Sequence[Hashable] | None = None,
        n_em_restarts: int = 0,
        n_jobs: int | None = None,
        random_state: int | np.random.RandomState | np.random.Generator | None = 0,
    ) -> None:
        self.data = data
        self.scoring_method = scoring_method
        self.structure_prior = structure_prior
        self.discrete_children = discrete_children
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
        self.equivalent_sample_size = equivalent_sample_size
        self.pseudo_counts = pseudo_counts
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
        self.na_values = na_values
        self.discrete_columns = discrete_columns
        self.n_em_restarts = n_em_restarts
        self.n_jobs = n_jobs
        self.random_state = random_state

    def _fit(self, opened: Opened, sample_weight: ArrayLike | None) -> Run:
        run = super()._fit(opened, sample_weight)
        if "member" in self.history_:
            self.history_["member"] = np.array(MEMBERS)[self.history_["member"]]
        return run

    def _needs_all_moves(self) -> bool:
        return self.patience > 0

    def _revisits_graphs(self) -> bool:
        return self.strategy != "greedy" or self.n_restarts > 0

    def _uses_workers(self) -> bool:
        return self.n_restarts > 0

    def _uses_threads(self) -> bool:
        return self._revisits_graphs()

    def _climbs_ahead(self) -> bool:
        return self.patience == 0 and self.callback is None

    def _limit_trees(self) -> int:
        return TREE_MEMORY if self.strategy == "best" else 0

    def _count_climbs(self) -> float:
        return {"greedy": 1.0, "thorough": 12.0, "best": 400.0}.get(self.strategy, 40.0) + self.n_restarts / 4

    def _last_stage(self) -> int:
        return {"thorough": 7, "exact": 7, "best": 12}.get(self.strategy, int(self.n_restarts > 0))

    def _take_bound(self, upper_bound: float) -> None:
        if self.strategy == "exact" and np.isnan(upper_bound):  # ended before anything was proven
            upper_bound = np.inf
        self.optimality_gap_ = float(np.maximum(upper_bound - self.score_, 0.0))
        self.proven_ = self.optimality_gap_ == 0

    def _search(self, problem: DagProblem, state: DagState, course: Course, seed: int) -> None:
        climb_first = partial(self._climb_first, problem, state, course, seed)
        options: dict[str, Any] = {"seed": seed, "first_stage": 2, "n_jobs": self.n_jobs}
        if self.strategy in ("thorough", "best"):
            course.run.n_stages = self._last_stage() + 1
        if self.strategy == "thorough":
            search_thoroughly(problem, state, course, climb_first, **options)
        elif self.strategy == "best":
            search_for_best(problem, state, course, climb_first, **options)
        else:
            climb_first(count_threads(self.n_jobs))
            if self.strategy == "exact" and not search_exactly(problem, state, course):
                course.run.steps = None
                search_thoroughly(problem, state, course, **options)

    def _climb_first(self, problem: DagProblem, state: DagState, course: Course, seed: int, n_threads: int = 1) -> None:
        """Climb from the first graph, on `n_threads` threads, and again from random moves away."""
        if course.enter(0):
            if self.strategy == "greedy" and not self.n_restarts and not self.patience:
                course.run.estimate_left = partial(estimate_moves_left, state, course)
            options: dict[str, Any] = {"make_source": problem.make_source, "n_threads": n_threads}
            climb(state, course, patience=self.patience, **options)
        if self.n_restarts and course.enter(1):
            options = {"n_restarts": self.n_restarts, "n_moves": self.n_restart_moves, "n_jobs": self.n_jobs}
            restart(problem, state, course, seed=seed, is_last=self.strategy == "greedy", **options)
