"""Hybrid structure learning: tests choose the pairs that may be adjacent, a score chooses the graph among them."""

from collections.abc import Callable, Collection, Hashable, Iterator, Sequence
from contextlib import contextmanager
from math import inf
from numbers import Integral, Real
from pathlib import Path
from typing import Any, Literal

import networkx as nx
import numpy as np
from numpy.typing import ArrayLike
from pgmpy.base import DAG, PDAG, UndirectedGraph
from pgmpy.causal_discovery import ExpertKnowledge

from pgmx.estimators.base import (
    BaseStructureLearner,
    Interval,
    Options,
    StrOptions,
    clone_learner,
)
from pgmx.estimators.bayesian.dag_learner import InputTable, NetworkResults
from pgmx.estimators.bayesian.hill_climb import HillClimbSearch
from pgmx.estimators.bayesian.pgmpy_interface import BaseStructureScore
from pgmx.estimators.bayesian.search_learner import SearchLearner
from pgmx.estimators.constraint_based.candidates import (
    Candidates,
    check_hybrid_choice,
    drop_rows_once,
    find_candidates,
    name_hybrid_choices,
    open_learner_tests,
    read_pair_knowledge,
    run_tests,
)
from pgmx.runs.progress import SearchProgress, SkeletonProgress
from pgmx.runs.run import Run
from pgmx.scores.priors import StructurePrior
from pgmx.search.constraint_based.blankets import METHODS
from pgmx.search.constraint_based.skeleton import read_pairs
from pgmx.search.knowledge import EdgeConstraints

#: Ways to choose the candidates by name.
RESTRICTIONS = ("pc", *METHODS)

_TEST_OPTIONS: dict[str, Any] = {
    "ci_test": "no_validation",  # checked by open_tests
    "significance_level": [Interval(Real, 0, 1, closed="neither")],
    "max_cond_vars": [Interval(Integral, 0, None, closed="left"), Options(Real, {inf})],
}


class MMHC(HillClimbSearch):
    r"""Hybrid search: tests of conditional independence choose candidate pairs, and a score chooses among them.

    The pairs that remain adjacent in the skeleton of PC with sets of at most `max_cond_vars` variables are candidates.
    The search of :class:`HillClimbSearch` then maximises

    .. math:: \mathrm{score}(G) = \sum_x s(x \mid \Pi_x^G) + \ln P(G)

    over the graphs whose edges join candidates, in both directions. The result is often closer to the true graph than
    that of the free search, because weak edges must pass the tests, too; its score is not higher. The published max-min
    hill climbing [1]_ chooses candidates by MMPC: ``HybridSearch(restrict="mmpc")``.

    Parameters
    ----------
    data : DataFrame, array, DiscreteTable, path or iterator of frames, optional
        Data for ``estimate()``. ``fit(X)`` does not use it.
    scoring_method : str or BaseStructureScore, default=None
        Name of a score (see the Notes of :class:`HillClimbSearch`), or a score object of pgmx or pgmpy made from the
        same data. The default is BIC, in the form for discrete, continuous or mixed data.
    penalty : float, default=1.0
        Multiplier of what a parameter costs under BIC and AIC, above 0. It is Tetrad's penalty discount and FLOP's
        lambda; bnlearn's ``k`` is `penalty` · ln N / 2 for BIC.
    gamma : float, default=1.0
        Multiplier of ln C(p - 1, k), which an EBIC score subtracts for a variable with k of p - 1 possible parents, 0
        or more. Only for EBIC scores, see :class:`pgmx.scores.EBIC`.
    structure_prior : UniformPrior, EdgePrior or ParameterPrior, default=None
        Prior of the graph, from :mod:`pgmx.scores`. The default is uniform.
    discrete_children : {"forbidden", "allowed"}, default="forbidden"
        Whether conditional linear Gaussian scores allow edges from continuous to discrete variables, see
        :class:`pgmx.scores.BICCondLinearGauss`. If such an edge is learned, `model_` raises an error.
    ci_test : str, CITest or function, default=None
        Test of conditional independence: a name ("chi_square", "chi_square_moments", "g_sq", "fisher_z", "pearsonr"),
        an object from :mod:`pgmx.ci_tests`, or a function ``(X, Y, Z, significance_level=) -> bool``. The default is
        "chi_square" for discrete and "fisher_z" for continuous data.
    significance_level : float, default=0.05
        Level of the tests, between 0 and 1. A pair is a candidate if no test has a p-value of this level or more.
    max_cond_vars : int, default=2
        Largest number of variables given in a test. May be infinite.
    strategy : {"greedy", "thorough", "best", "exact"}, default="thorough"
        Strategy of the search over the candidates, as in :class:`HillClimbSearch`.
    start_dag : DAG or {"tree", "random"}, default=None
        Start graph: a DAG, a Chow-Liu forest of the score, or a random graph. The default has no edges.
    max_indegree : int, default=None
        Largest number of parents that a move may give a node. The default is unlimited.
    expert_knowledge : ExpertKnowledge, default=None
        Prior knowledge as an object of pgmpy, combined with the next five options; contradictions are an error.
        ``root_nodes`` and ``orientations`` of later versions of pgmpy are read too.
    required_edges, forbidden_edges : collection of (tail, head), default=None
        Edges that the graph must have, and edges that it must not have.
    tiers : list of collections, default=None
        Groups of variables from the earliest to the latest. No edge leads to an earlier group.
    root_nodes : collection, default=None
        Variables without parents.
    candidate_edges : collection of (tail, head), default=None
        The only edges that the graph may have.
    equivalent_sample_size : float, default=None
        Number of rows that the Dirichlet prior of `model_` represents, divided equally among the cells of a CPT. The
        default is maximum likelihood. `score` then uses 1, unless `pseudo_counts` is given.
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
        Time limit in seconds for tests and search, after which the best graph found is returned. Coding the data and
        counting are not interrupted.
    checkpoint : path-like, default=None
        File of snapshots of the search. If it exists, ``fit`` tests again, resumes from it and returns the same graph.
        It is deleted when the search has converged.
    checkpoint_every : float, default=60.0
        Seconds between two snapshots. 0 writes one per move.
    show_progress : bool, default=True
        Whether runs of more than one second show a progress bar. ``pgmpy.config.SHOW_PROGRESS`` can switch it off too.
    callback : callable, default=None
        Called with the named tuple (n_iter, score, n_edges, seconds) after each move, and after each trial that led to
        a better graph. If it returns a true value, the search ends.
    state_names : dict, default=None
        States of some or all variables, in order. States that do not occur in the data are allowed.
    missing : {"error", "drop", "category", "pairwise"}, default="error"
        Treatment of missing values: raise an error; drop the row; add a state ``"missing"``; or test and score each set
        of variables on the rows complete in it (discrete data with BIC, AIC, log-likelihood).
    na_values : scalar, str, list-like or dict, default=None
        Additional markers of missing values in a CSV file, such as "?", per column if a dict, as in
        ``pandas.read_csv``. Any value, even an empty list, switches off the warning about possible markers.
    discrete_columns : list of hashable, default=None
        Numeric columns that are discrete. Their states are the distinct values, as integers if all values are whole.
    n_jobs : int, default=None
        Number of threads for coding, tests and search. The result does not depend on it.
    random_state : int, RandomState, Generator or None, default=0
        Seed or generator for the permutation of the variables that decides ties, and for reinsertions.

    Attributes
    ----------
    skeleton_ : pgmpy.base.UndirectedGraph
        The candidates: pairs that the tests have left.
    n_tests_ : int
        Number of tests.
    graph_, causal_graph_ : pgmpy.base.PDAG or pgmpy.base.DAG
        The learned graph, of the type given by `return_type`.
    dag_ : pgmpy.base.DAG
        The learned DAG, independent of `return_type`.
    model_ : DiscreteBayesianNetwork, LinearGaussianBayesianNetwork or ConditionalGaussianNetwork
        The network of `dag_`, made on first access.
    score_ : float
        Score of `dag_`, in nats, including the log prior of the graph.
    expected_chance_edges_ : float
        NaN, since tests have chosen the pairs, see :class:`HillClimbSearch`.
    n_iter_ : int
        Number of moves, including moves that were later undone.
    n_em_iter_, observed_log_likelihood_ : int, float
        0 and NaN, since there is no structural EM.
    converged_, stopped_by_ : bool, str
        Whether the search converged, and why it ended, as in :class:`HillClimbSearch`.
    proven_, optimality_gap_ : bool, float
        Whether ``strategy="exact"`` has proven that no graph of the candidates has a higher score, and a bound.
    history_ : dict of ndarray
        ``"score"``, ``"n_edges"`` and ``"seconds"`` of the search.
    edges_ : ndarray of shape (n_edges, 2), int64
        Edges (tail, head) of `dag_` as positions in `variables_`.
    adjacency_matrix_ : DataFrame
        Adjacency matrix of `graph_`, made on access.
    variables_, n_features_in_, feature_names_in_ : list, int, ndarray
        Names of the columns, and their number and names as in scikit-learn.

    Raises
    ------
    ValueError, TypeError
        For the same reasons as :class:`HillClimbSearch`, and for a test that is unknown or does not fit to the data.

    Notes
    -----
    Knowledge applies to both steps. Pairs that are forbidden in both directions are not tested, and required edges are
    always candidates. Tiers restrict the sets of the tests to variables no later than the later of the two. Row weights
    must be integers. The candidates do not depend on the order of the columns.

    On dense graphs (average degree 8 and more) tests miss many pairs: use :class:`HillClimbSearch` there.

    Cost: the tests of PC up to sets of `max_cond_vars` variables, then a search in which a variable has few possible
    parents.

    References
    ----------
    .. [1] Tsamardinos, I., Brown, L. E. and Aliferis, C. F. (2006). The max-min hill-climbing Bayesian network
       structure learning algorithm. Machine Learning 65, 31-78.

    Examples
    --------
    >>> import numpy as np
    >>> import pandas as pd
    >>> rng = np.random.default_rng(0)
    >>> rain = rng.integers(0, 2, 500)
    >>> wet = np.where(rng.random(500) < 0.9, rain, 1 - rain)
    >>> data = pd.DataFrame({"rain": rain, "wet": wet, "coin": rng.integers(0, 2, 500)})
    >>> search = MMHC().fit(data)
    >>> sorted(sorted(edge) for edge in search.graph_.undirected_edges)
    [['rain', 'wet']]
    >>> sorted(sorted(edge) for edge in search.skeleton_.edges())
    [['rain', 'wet']]
    """

    n_tests_: int
    _candidates: Candidates

    _tags = {"name": "max_min_hill_climbing"}

    # options of HillClimbSearch that this learner does not have
    max_candidates = None
    tabu_length = 100
    patience = 0
    n_restarts = 0
    n_restart_moves = 10
    n_em_restarts = 0

    _parameter_constraints: dict[str, Any] = {
        **HillClimbSearch._parameter_constraints,
        **_TEST_OPTIONS,
        "missing": [StrOptions({"error", "drop", "category", "pairwise"})],
    }
    for _absent in (
        "max_candidates",
        "tabu_length",
        "patience",
        "n_restarts",
        "n_restart_moves",
        "n_em_restarts",
        "interventions",
    ):
        del _parameter_constraints[_absent]
    del _absent

    def __init__(
        self,
        data: Any = None,
        *,
        scoring_method: str | BaseStructureScore | None = None,
        penalty: float = 1.0,
        gamma: float = 1.0,
        structure_prior: StructurePrior | None = None,
        discrete_children: Literal["forbidden", "allowed"] = "forbidden",
        ci_test: Any = None,
        significance_level: float = 0.05,
        max_cond_vars: float = 2,
        strategy: Literal["greedy", "thorough", "best", "exact"] = "thorough",
        start_dag: nx.DiGraph | Literal["tree", "random"] | None = None,
        max_indegree: float | None = None,
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
        missing: Literal["error", "drop", "category", "pairwise"] = "error",
        na_values: Any = None,
        discrete_columns: Sequence[Hashable] | None = None,
        n_jobs: int | None = None,
        random_state: int | np.random.RandomState | np.random.Generator | None = 0,
    ) -> None:
        self.data = data
        self.scoring_method = scoring_method
        self.penalty = penalty
        self.gamma = gamma
        self.structure_prior = structure_prior
        self.discrete_children = discrete_children
        self.ci_test = ci_test
        self.significance_level = significance_level
        self.max_cond_vars = max_cond_vars
        self.strategy = strategy
        self.start_dag = start_dag
        self.max_indegree = max_indegree
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
        self.n_jobs = n_jobs
        self.random_state = random_state

    # ---- learning ----

    @contextmanager
    def _name_all_choices(self) -> Iterator[None]:
        with name_hybrid_choices():
            yield

    def _fit(self, opened: InputTable, sample_weight: ArrayLike | None) -> Run:
        opened, sample_weight = drop_rows_once(opened, self.missing, sample_weight)
        with run_tests(type(self).__name__, "pc", self, self._start) as run:
            self._candidates = _test_pairs(self, self, opened, sample_weight, "pc", run)
        self.n_tests_ = self._candidates.n_tests
        return super()._fit(opened, sample_weight)

    def _read_constraints(self, names: Sequence) -> EdgeConstraints:
        constraints = super()._read_constraints(names)
        allowed = self._candidates.place(names).astype(np.uint8)
        if constraints.allowed is not None:
            allowed &= constraints.allowed
        return EdgeConstraints(constraints.n, constraints.required, allowed)

    def _expect_chance_edges(self, price: Any) -> float:
        return np.nan  # the tests have chosen the pairs

    # ---- results ----

    @property
    def skeleton_(self) -> UndirectedGraph:
        """The candidates, without directions."""
        return self._make_once("skeleton", lambda: _make_graph(self._names, self._candidates.place(self._names)))


class HybridSearch(NetworkResults):
    r"""Hybrid search with a chosen method for candidate pairs and a chosen search among them.

    The method `restrict` chooses the set C of pairs that may be adjacent. The learner `maximize` then searches for

    .. math:: \operatorname{argmax}_G \; \mathrm{score}(G) \quad
        \text{with all edges of } G \text{ between pairs in } C,

    see :class:`MMHC`, which is this search with the skeleton of PC.

    Parameters
    ----------
    maximize : SearchLearner, default=None
        The search: :class:`HillClimbSearch`, :class:`GreedyEquivalenceSearch` or another learner with the option
        `candidate_edges`. Its options for the data, prior knowledge, limits, progress bar and parameters apply to the
        tests, too. The default is ``HillClimbSearch(strategy="thorough")``.
    restrict : {"pc", "mmpc", "iamb", "inter-iamb", "fast-iamb", "gs"} or learner, default="pc"
        The method for the candidates. ``"pc"``: the skeleton of PC. ``"mmpc"``: pairs in each other's set of parents
        and children, as in max-min hill climbing [1]_. The others: pairs in each other's Markov blanket, which contain
        pairs with a common child. A learner, such as ``PC(...)`` or ``MarkovBlanket(...)``: the pairs that are adjacent
        in its `skeleton_`, else in its `graph_`; its own options then apply to the tests.
    ci_test : str, CITest or function, default=None
        Test of conditional independence, as in :class:`MMHC`. The default for discrete data is "chi_square" with PC,
        and "chi_square_moments" with the other methods, whose sets are larger.
    significance_level : float, default=0.05
        Level of the tests, between 0 and 1.
    max_cond_vars : int, default=2
        Largest number of variables given in a test of PC and of MMPC. May be infinite.

    Attributes
    ----------
    maximize_ : SearchLearner
        The fitted search. It has further results, such as `history_`.
    restrict_ : learner or None
        The fitted learner of the candidates, if `restrict` is a learner.
    skeleton_ : pgmpy.base.UndirectedGraph
        The candidates.
    n_tests_ : int
        Number of tests; 0 if `restrict` is a learner.
    graph_, causal_graph_ : pgmpy.base.PDAG or pgmpy.base.DAG
        The learned graph, of the type that `maximize` returns.
    dag_ : pgmpy.base.DAG
        The learned DAG.
    model_ : DiscreteBayesianNetwork, LinearGaussianBayesianNetwork or ConditionalGaussianNetwork
        The network of `dag_`, made on first access.
    score_ : float
        Score of `dag_`, in nats.
    converged_, stopped_by_ : bool, str
        Whether the search converged, and why it ended.
    edges_ : ndarray of shape (n_edges, 2), int64
        Edges (tail, head) of `dag_` as positions in `variables_`.
    adjacency_matrix_ : DataFrame
        Adjacency matrix of `graph_`, made on access.
    variables_, n_features_in_, feature_names_in_ : list, int, ndarray
        Names of the columns, and their number and names as in scikit-learn.

    Raises
    ------
    ValueError, TypeError
        If `restrict` is unknown, `maximize` has no candidate edges, or for the reasons of the learners.

    Notes
    -----
    A time limit of `maximize` applies to tests and search together. Blankets are corrected for symmetry before they
    become candidates: a pair needs both variables in each other's set.

    References
    ----------
    .. [1] Tsamardinos, I., Brown, L. E. and Aliferis, C. F. (2006). The max-min hill-climbing Bayesian network
       structure learning algorithm. Machine Learning 65, 31-78.

    Examples
    --------
    >>> import numpy as np
    >>> import pandas as pd
    >>> from pgmx.estimators import HillClimbSearch
    >>> rng = np.random.default_rng(0)
    >>> rain = rng.integers(0, 2, 500)
    >>> wet = np.where(rng.random(500) < 0.9, rain, 1 - rain)
    >>> data = pd.DataFrame({"rain": rain, "wet": wet, "coin": rng.integers(0, 2, 500)})
    >>> search = HybridSearch(HillClimbSearch(scoring_method="bdeu"), restrict="mmpc").fit(data)
    >>> sorted(sorted(edge) for edge in search.graph_.undirected_edges)
    [['rain', 'wet']]
    """

    _candidates: Candidates
    maximize_: SearchLearner
    restrict_: BaseStructureLearner | None
    n_tests_: int
    score_: float
    converged_: bool
    stopped_by_: str

    _tags = {"name": "hybrid_search"}

    _parameter_constraints: dict[str, Any] = {
        "maximize": [SearchLearner, None],
        "restrict": [StrOptions(set(RESTRICTIONS)), BaseStructureLearner],
        **_TEST_OPTIONS,
    }

    def __init__(
        self,
        maximize: SearchLearner | None = None,
        *,
        restrict: str | BaseStructureLearner = "pc",
        ci_test: Any = None,
        significance_level: float = 0.05,
        max_cond_vars: float = 2,
    ) -> None:
        self.maximize = maximize
        self.restrict = restrict
        self.ci_test = ci_test
        self.significance_level = significance_level
        self.max_cond_vars = max_cond_vars

    # ---- options of the search ----

    def _make_search(self) -> Any:
        return HillClimbSearch(strategy="thorough") if self.maximize is None else clone_learner(self.maximize)

    @property
    def data(self) -> Any:
        """The data of the search, used by ``estimate()``."""
        return getattr(self.maximize, "data", None)

    @property
    def state_names(self) -> dict | None:  # type: ignore[override]  # the search holds it
        """States declared in the search."""
        return getattr(self.maximize, "state_names", None)

    @property
    def missing(self) -> str:  # type: ignore[override]  # the search holds it
        """The search's treatment of missing values."""
        return getattr(self.maximize, "missing", "error")

    @property
    def na_values(self) -> Any:
        """The search's additional markers of missing values in files."""
        return getattr(self.maximize, "na_values", None)

    @property
    def discrete_columns(self) -> Sequence[Hashable] | None:  # type: ignore[override]  # the search holds it
        """Columns declared discrete in the search."""
        return getattr(self.maximize, "discrete_columns", None)

    @property
    def n_jobs(self) -> int | None:  # type: ignore[override]  # the search holds it
        """The search's number of threads."""
        return getattr(self.maximize, "n_jobs", None)

    def _reads_continuous(self, opened: Any) -> bool:
        return self._make_search()._reads_continuous(opened)

    # ---- learning ----

    def _fit(self, opened: InputTable, sample_weight: ArrayLike | None) -> Run | None:
        search = self._make_search()
        if search.missing == "em":
            raise ValueError(
                "HybridSearch does not support missing='em', because tests need observed values: use 'drop', "
                "'category' or 'pairwise', or the search alone"
            )
        names, clock = list(opened.names), Run(SkeletonProgress, start=self._start)
        self.restrict_ = None
        if isinstance(self.restrict, BaseStructureLearner):
            self.restrict_ = clone_learner(self.restrict).fit(opened, sample_weight=sample_weight)
            self._candidates = _read_pairs_of(self.restrict_, names)
        else:
            opened, sample_weight = drop_rows_once(opened, search.missing, sample_weight)
            with run_tests(type(self).__name__, self.restrict, search, self._start) as run:
                self._candidates = _test_pairs(self, search, opened, sample_weight, self.restrict, run)
        self.n_tests_ = self._candidates.n_tests
        constraints = search._read_constraints(names)
        adjacent = self._candidates.place(names) | read_pairs(constraints).required
        if constraints.allowed is not None:
            adjacent = adjacent & constraints.allowed.astype(bool)
        arcs = [(names[tail], names[head]) for head, tail in np.argwhere(adjacent).tolist()]
        left = None if search.max_time is None else max(0.0, search.max_time - clock.seconds)
        search.set_params(candidate_edges=arcs, max_time=left)
        with name_hybrid_choices():
            self.maximize_ = search.fit(opened, sample_weight=sample_weight)
        self.edges_, self._names, self._scoring = search.edges_, search._names, search._scoring
        self._prior, self._results = search._prior, {}
        self.score_, self.converged_, self.stopped_by_ = search.score_, search.converged_, search.stopped_by_
        return None

    # ---- results ----

    @property
    def graph_(self) -> DAG | PDAG:
        """The learned graph, of the type that the search returns."""
        self._require_fit()
        return self.maximize_.graph_

    @property
    def skeleton_(self) -> UndirectedGraph:
        """The candidates, without directions."""
        return self._make_once("skeleton", lambda: _make_graph(self._names, self._candidates.place(self._names)))


def _test_pairs(
    learner: Any, search: Any, opened: Any, sample_weight: ArrayLike | None, method: str, run: Run
) -> Candidates:
    """Return the candidates by the tests of a learner, with the options of a search for data and knowledge."""
    level = learner.significance_level
    check_hybrid_choice(opened, search.missing)
    with name_hybrid_choices(opened):
        tests = open_learner_tests(search, opened, sample_weight, method, learner.ci_test, level)
    knowledge = read_pair_knowledge(search, tests.names)
    options: dict[str, Any] = {"significance_level": level, "max_cond_vars": learner.max_cond_vars}
    with run.limit_runs():
        return find_candidates(tests, method, run, knowledge=knowledge, **options)


def _read_pairs_of(learner: Any, names: list) -> Candidates:
    """Return the adjacent pairs of a fitted learner."""
    graph = learner.skeleton_ if hasattr(learner, "skeleton_") else learner.graph_
    places = {name: i for i, name in enumerate(names)}
    adjacent = np.zeros((len(names), len(names)), dtype=bool)
    for u, v in graph.edges():
        adjacent[places[u], places[v]] = adjacent[places[v], places[u]] = True
    return Candidates(tuple(names), adjacent, 0)


def _make_graph(names: Sequence, adjacent: np.ndarray) -> UndirectedGraph:
    graph = UndirectedGraph()
    graph.add_nodes_from(names)
    graph.add_edges_from((names[u], names[v]) for u, v in np.argwhere(np.triu(adjacent, 1)).tolist())
    return graph
