"""Search for dynamic Bayesian networks."""

import warnings
from collections.abc import Callable, Collection, Hashable, Iterator, Sequence
from contextlib import contextmanager
from numbers import Integral
from pathlib import Path
from typing import Any, Literal, Self

import networkx as nx
import numpy as np
from numpy.typing import ArrayLike
from pgmpy.base import DAG
from pgmpy.causal_discovery import ExpertKnowledge
from pgmpy.structure_score import BaseStructureScore

from pgmx._ext._dag_moves import ADD
from pgmx.checks import caller_level, check_weights, join_names
from pgmx.data import DiscreteTable
from pgmx.data.few_values import warn_of_few_values
from pgmx.data.series import LaggedSeries, open_lagged
from pgmx.estimators.base import Interval, StrOptions
from pgmx.estimators.bayesian.dag_learner import KNOWLEDGE_OPTIONS, ONE_PSEUDO_ROW
from pgmx.estimators.bayesian.hill_climb import HillClimbSearch
from pgmx.estimators.bayesian.search_learner import SearchLearner
from pgmx.estimators.cost import LearningCost
from pgmx.estimators.time_series.dynamic.columns import LaggedColumns, bind_object
from pgmx.estimators.time_series.dynamic.knowledge import (
    find_common_order,
    keep_order,
    list_first_nodes,
    order_first_nodes,
    read_slice_constraints,
)
from pgmx.estimators.time_series.dynamic.resampler import ResampledNetwork
from pgmx.models import TimeSeriesGraph
from pgmx.models.time_series.dynamic.network import DynamicBayesianNetwork
from pgmx.models.time_series.dynamic.two_slice_network import choose_class
from pgmx.runs.progress import SearchProgress
from pgmx.runs.run import Run
from pgmx.scores.binding.resolve import resolve_scoring
from pgmx.scores.binding.scoring import Scoring
from pgmx.scores.chance_edges import EdgePrice, expect_chance_edges
from pgmx.scores.priors import StructurePrior
from pgmx.search.dag.state import DagProblem, DagState
from pgmx.search.dag.tracker import SearchTracker
from pgmx.search.knowledge import EdgeConstraints

#: Fewer groups do not give a network of the first rows.
LEAST_GROUPS = 30

#: Options of the search for the network of the first rows.
FIRST_ROWS_OPTIONS = (
    *("scoring_method", "penalty", "gamma", "structure_prior", "discrete_children", "strategy", "max_indegree"),
    *("equivalent_sample_size", "pseudo_counts", "max_time", "n_jobs", "random_state"),
)


class DynamicBayesianNetworkSearch(ResampledNetwork, HillClimbSearch):
    r"""Search for a dynamic Bayesian network: each row of a series depends on the rows before it.

    The transition network has an edge ((source, l), (target, 0)) if the present of the target depends on the source l
    rows before, for lags l from 1 to L. With `instantaneous` variables also depend on others in the same row. Discrete,
    continuous and mixed variables are allowed, in one series or in a panel of series.

    >>> import numpy as np
    >>> import pandas as pd
    >>> rng = np.random.default_rng(0)
    >>> rain = rng.integers(0, 2, 300)
    >>> river = np.roll(rain, 1) ^ (rng.random(300) < 0.1)
    >>> search = DynamicBayesianNetworkSearch().fit(pd.DataFrame({"rain": rain, "river": river.astype(int)}))
    >>> list(search.graph_.edges())
    [(('rain', 1), ('river', 0))]

    Parameters
    ----------
    data : DataFrame, array, path, iterator of frames, or a list or dict of tables, optional
        Data for ``estimate()``. ``fit(X)`` does not use it.
    lags : int, default=1
        The order L: the number of previous rows on which a row may depend.
    instantaneous : bool, default=False
        Whether a variable may depend on others in the same row.
    groups : hashable, default=None
        Column with the key of the series of each row, for panels in one table. No lag crosses the border of two series.
    time_column : hashable, default=None
        Column with the times of the rows. They must increase in each series. By default rows are equidistant, or the
        index of a pandas frame has the times.
    irregular : {"error", "ignore"}, default="error"
        Treatment of times without a common step: raise an error, or use the rows as equidistant.
    static_columns : list of hashable, default=None
        Columns that are constant in each series. They have no lags and no parents, and may be parents of all variables.
    scoring_method : str or structure score, default=None
        Name of a score, see the Notes of :class:`HillClimbSearch`. The default is BIC, in the form for discrete,
        continuous or mixed data. An object is accepted for its options, if it is one of pgmx's discrete scores
        without a prior network, made from the columns of the series: ``BDeu(series, equivalent_sample_size=5)``.
    penalty : float, default=1.0
        Multiplier of what a parameter costs under BIC and AIC, above 0.
    gamma : float, default=1.0
        Multiplier of ln C(p - 1, k), which an EBIC score subtracts for a variable with k of p - 1 possible parents.
    structure_prior : UniformPrior, EdgePrior or ParameterPrior, default=None
        Prior of the graph, from :mod:`pgmx.scores`. The default is uniform.
    discrete_children : {"forbidden", "allowed"}, default="forbidden"
        Whether conditional linear Gaussian scores allow edges from continuous to discrete variables.
    strategy : {"greedy", "thorough", "best", "exact"}, default="greedy"
        The search, as in :class:`HillClimbSearch`.
    start_dag : DAG or {"tree", "random"}, default=None
        Start graph: a DAG over the columns of the lagged table, a Chow-Liu forest, or a random graph. The default has
        no edges.
    max_indegree : int, default=None
        Largest number of parents that a move may give a variable. The default is unlimited.
    max_candidates : int, default=None
        Number of candidate parents of each variable, chosen by the score of the pair. By default all are candidates.
    tabu_length : int, default=100
        Number of last moves that may not be undone.
    patience : int, default=0
        Number of moves without a new best score after which the search ends (tabu search). 0 ends it at the first local
        optimum.
    n_restarts : int, default=0
        Number of restarts. Each restart makes random legal moves away from the optimum and climbs again.
    n_restart_moves : int, default=10
        Number of random moves per restart.
    expert_knowledge : ExpertKnowledge, default=None
        Prior knowledge as an object of pgmpy over the nodes (variable, lag), combined with the next five options.
    required_edges, forbidden_edges : collection of ((source, lag), (target, 0)), default=None
        Edges that the graph must have, and edges that it must not have.
    tiers : list of collections of (variable, lag), default=None
        Groups of nodes from the earliest to the latest, in addition to the order of the lags.
    root_nodes : collection of (variable, lag), default=None
        Nodes without parents.
    candidate_edges : collection of ((source, lag), (target, 0)), default=None
        The only edges that the graph may have.
    equivalent_sample_size : float, default=None
        Number of rows that the Dirichlet prior of `model_` represents, divided equally among the cells of a CPT. The
        default is maximum likelihood.
    pseudo_counts : float, default=None
        Number of rows that the prior of `model_` adds to each cell of a CPT, in place of `equivalent_sample_size`.
    return_type : {"pdag", "dag"}, default="pdag"
        Whether instantaneous edges that both directions explain equally well are undirected in `graph_`.
    epsilon : float, default=1e-4
        Smallest increase of the score, in nats, that counts as an improvement.
    max_iter : int, default=1_000_000
        Largest number of moves, including moves that are later undone. May be infinite.
    max_time : float, default=None
        Time limit in seconds, after which the best graph found is returned.
    checkpoint : path-like, default=None
        File of snapshots. If it exists, ``fit`` resumes from it and returns the same graph.
    checkpoint_every : float, default=60.0
        Seconds between two snapshots. 0 writes one per move.
    show_progress : bool, default=True
        Whether runs of more than one second show a progress bar. ``pgmpy.config.SHOW_PROGRESS`` can switch it off too.
    callback : callable, default=None
        Called with the named tuple (n_iter, score, n_edges, seconds) after each move. If it returns a true value, the
        search ends.
    state_names : dict, default=None
        States of some or all variables, in order. States that do not occur in the data are allowed.
    missing : {"error", "drop", "category", "pairwise"}, default="error"
        Treatment of missing values: raise an error; treat the row as unobserved, so that no row uses it as a lag; add a
        state ``"missing"``; or score each family on the rows complete in it (BIC, AIC, log-likelihood).
    na_values : scalar, str, list-like or dict, default=None
        Additional markers of missing values in a CSV file.
    discrete_columns : list of hashable, default=None
        Numeric columns that are discrete.
    n_jobs : int, default=None
        Number of threads for coding, counting and gains. The result does not depend on it.
    random_state : int, RandomState, Generator or None, default=0
        Seed or generator for the order that decides ties, for restarts and for reinsertions.

    Attributes
    ----------
    graph_, causal_graph_ : TimeSeriesGraph
        The learned graph over (variable, lag). The attribute ``strength`` of an edge is the decrease of the score, in
        nats, if the edge is removed.
    dag_ : pgmpy.base.DAG
        The transition network over the columns of the lagged table, such as ``x@t-1`` for ``(x, 1)``.
    model_ : DynamicBayesianNetwork
        The network with its parameters, made on first access. For lag 1 and discrete variables it is a
        :class:`pgmx.models.TwoSliceBayesianNetwork`, which is pgmpy's ``DynamicBayesianNetwork`` too. Without a network
        of the first rows it has their marginal distributions, and a warning says so.
    prior_dag_ : pgmpy.base.DAG or None
        The network of the first L rows, learned from the first rows of the series if there are at least 30 of them. The
        column ``x@t-L`` is the first row. None if there are fewer series: the first rows are then given. For lag 1 and
        discrete variables its edges and the instantaneous ones form no cycle together, as pgmpy's class requires.
    nodes_ : list of (variable, lag)
        Nodes of the transition network: all series at lag 0, at lag 1 and so on, then the static columns at lag 0.
    edges_ : ndarray of shape (n_edges, 2), int64
        Edges (tail, head) of the transition network as positions in `nodes_`.
    score_ : float
        Score of the families of the present, in nats, including the log prior of the graph.
    n_rows_ : int
        Number of rows that are scored: rows that L observed rows of the same series precede. All families are counted
        on these rows, so that scores of graphs with few and with many lags can be compared.
    n_groups_ : int
        Number of series.
    expected_chance_edges_ : float
        Expected number of edges that BIC or AIC adds between independent variables, see :class:`HillClimbSearch`.
    n_iter_, converged_, stopped_by_, proven_, optimality_gap_, history_
        As in :class:`HillClimbSearch`.
    n_em_iter_, observed_log_likelihood_ : int, float
        0 and NaN: structural EM is not available for series.
    adjacency_matrix_ : DataFrame
        Adjacency matrix of `graph_`, made on access.
    variables_, n_features_in_, feature_names_in_ : list, int, ndarray
        Names of the series and static columns, and their number and names as in scikit-learn.

    Raises
    ------
    ValueError, TypeError
        If times do not increase, a group has one row, no series is longer than `lags`, a static column changes in a
        series, required edges lead back in time, or an option is invalid. The message names the cause.

    Warns
    -----
    UserWarning
        If some series have at most L rows, which do not count.

    Notes
    -----
    The search maximises the conditional score of the present rows given the rows before them,

    .. math:: \sum_x s(x_t \mid \Pi_x), \qquad \Pi_x \subseteq \{y_{t-l} : 1 \le l \le L\} \cup \{y_t\} \cup S,

    with the local scores s of `scoring_method` and the static columns S. Parents at lag 0 need `instantaneous`. Edges
    from later to earlier rows are forbidden. The graph is acyclic because the edges of one row are.

    Instantaneous edges have a direction if the equivalence class of the transition network, with all directions of
    lagged edges known, decides it.

    *Weights*. `sample_weight` has one weight per row of the data, which is the weight of this row given the rows before
    it, or one weight per series in the order of their first rows.

    *Cost* is that of :class:`HillClimbSearch` on a table of the n series at L + 1 lags, of which only n are children.

    References
    ----------
    .. [1] Friedman, N., Murphy, K. and Russell, S. (1998). Learning the structure of dynamic probabilistic networks.
       UAI, sections 2 and 3.
    .. [2] Murphy, K. (2002). Dynamic Bayesian Networks: Representation, Inference and Learning. Thesis, University of
       California, Berkeley, section 2.2.

    Examples
    --------
    A panel of two series with a time column:

    >>> panel = pd.DataFrame({"id": [0] * 150 + [1] * 150, "day": [*range(150)] * 2, "rain": rain, "river": river})
    >>> search = DynamicBayesianNetworkSearch(groups="id", time_column="day").fit(panel)
    >>> search.n_rows_, search.graph_.lagged_edges
    (298, [(('rain', 1), ('river', 0))])
    """

    _tags = {"name": "dynamic_bayesian_network_search"}

    _parameter_constraints: dict[str, Any] = {
        **{
            name: constraint
            for name, constraint in HillClimbSearch._parameter_constraints.items()
            if name not in ("n_em_restarts", "interventions")
        },
        "missing": [StrOptions({"error", "drop", "category", "pairwise"})],
        "lags": [Interval(Integral, 1, None, closed="left")],
        "instantaneous": ["boolean"],
        "groups": "no_validation",  # the names of columns are checked with the data
        "time_column": "no_validation",
        "irregular": [StrOptions({"error", "ignore"})],
        "static_columns": "no_validation",
    }

    nodes_: list[tuple[Hashable, int]]
    n_rows_: int
    n_groups_: int

    _first_rows: "FirstRowsSearch | None"
    _method: str
    _strengths: np.ndarray
    _n_series: int
    _constraints: EdgeConstraints
    _state: DagState

    def __init__(
        self,
        data: Any = None,
        *,
        lags: int = 1,
        instantaneous: bool = False,
        groups: Hashable | None = None,
        time_column: Hashable | None = None,
        irregular: Literal["error", "ignore"] = "error",
        static_columns: Sequence[Hashable] | None = None,
        scoring_method: str | BaseStructureScore | None = None,
        penalty: float = 1.0,
        gamma: float = 1.0,
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
        missing: Literal["error", "drop", "category", "pairwise"] = "error",
        na_values: Any = None,
        discrete_columns: Sequence[Hashable] | None = None,
        n_jobs: int | None = None,
        random_state: int | np.random.RandomState | np.random.Generator | None = 0,
    ) -> None:
        self.data = data
        self.lags = lags
        self.instantaneous = instantaneous
        self.groups = groups
        self.time_column = time_column
        self.irregular = irregular
        self.static_columns = static_columns
        self.scoring_method = scoring_method
        self.penalty = penalty
        self.gamma = gamma
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
        self.n_jobs = n_jobs
        self.random_state = random_state

    # ---- reading ----

    def fit(self, X: Any, y: object = None, sample_weight: ArrayLike | None = None) -> Self:  # type: ignore[override]
        """Learn the structure from series.

        Parameters
        ----------
        X : DataFrame or array of shape (n_times, n_variables), path, iterator of frames, or a list or dict of tables
            One row per time, oldest first, and one column per variable: tables of pandas, polars or Arrow, numpy arrays
            (columns ``x0``, ``x1``, ...), CSV or Parquet files. Several tables are series of the same variables. The
            data are never changed.
        y : None
            Ignored; scikit-learn's convention.
        sample_weight : array of shape (n_times,) or (n_groups,), optional
            Non-negative weights of the rows given the rows before them, or of the series in the order of their first
            rows.

        Returns
        -------
        self
            The fitted learner.
        """
        if self.missing == "em":
            raise ValueError(
                "missing='em' is not supported for series, because a missing value belongs to its own row and to the "
                "lagged columns of later rows, which EM would complete as different values: use 'pairwise' or "
                "'category' for discrete variables, or 'drop'"
            )
        return super().fit(X, y, sample_weight)

    def _open(self, X: Any) -> LaggedSeries:
        series = open_lagged(
            X,
            lags=self.lags,
            time_column=self.time_column,
            groups=self.groups,
            irregular=self.irregular,
            static_columns=self.static_columns,
            discrete_columns=self.discrete_columns,
            missing=self.missing,
            na_values=self.na_values,
        )
        if SearchLearner._reads_continuous(self, series.frame):
            warn_of_few_values(series.frame)
        return series

    def _reads_continuous(self, opened: Any) -> bool:
        return False  # `_open` has warned of columns with few values

    @contextmanager
    def _name_all_choices(self) -> Iterator[None]:
        """Leave errors about missing values as they are: structural EM is not available."""
        yield

    # ---- learning ----

    def _fit(self, opened: LaggedSeries, sample_weight: ArrayLike | None) -> Run:  # type: ignore[override]
        nodes = opened.nodes
        weights = None if sample_weight is None else _spread_weights(sample_weight, opened)
        columns = self._read_columns(opened, weights is not None)
        self.nodes_, self._n_series, self._method = nodes, len(opened.series), columns.method
        rows = opened.targets
        if weights is not None and weights.any() and not weights[rows].any():
            raise ValueError(
                f"all rows that follow {self.lags} observed rows of their series have the sample_weight zero: no "
                "transition is left to learn from"
            )
        run = super()._fit(columns.shift(nodes, rows, self._n_series), None if weights is None else weights[rows])
        self.history_["score"] = self.history_["score"] - self._past_score
        self.n_rows_, self.n_groups_ = len(rows), len(opened.keys)
        self._static = opened.static
        self._first_rows = None if run.error is not None else self._learn_first_rows(columns, weights)
        return run

    def _read_columns(self, series: LaggedSeries, weighted: bool) -> LaggedColumns:
        options = {name: getattr(self, name) for name in ("state_names", "missing", "n_jobs")}
        return LaggedColumns.read(series, self.scoring_method, weighted=weighted, **options)

    def _bind_scoring(self, opened: Any, sample_weight: ArrayLike | None) -> Scoring:
        missing = "error" if self.missing == "drop" else self.missing  # incomplete rows are no targets
        score: Any = self.scoring_method
        return resolve_scoring(
            self._method if score is None or isinstance(score, str) else bind_object(score, opened),
            opened,
            state_names=None,  # the columns have their states
            missing=missing,
            n_jobs=self.n_jobs,
            sample_weight=sample_weight,
            structure_prior=self.structure_prior,
            discrete_children=self.discrete_children,
            penalty=self.penalty,
            gamma=self.gamma,
        )

    def _read_constraints(self, names: Sequence) -> EdgeConstraints:
        options = {option: getattr(self, option) for option in KNOWLEDGE_OPTIONS}
        self._constraints = read_slice_constraints(
            self.nodes_, self._n_series, instantaneous=self.instantaneous, **options
        )
        return self._constraints

    def _search(self, problem: DagProblem, state: DagState, tracker: SearchTracker, seed: int) -> None:
        self._state = state
        super()._search(problem, state, tracker, seed)

    def _find_best_graph(self, *arguments: Any, **options: Any) -> np.ndarray:
        edges = super()._find_best_graph(*arguments, **options)
        state = self._state
        del self._state
        n = self._n_series
        score = state.source.family_score
        parents = [np.sort(edges[edges[:, 1] == v, 0]).astype(np.int32) for v in range(n)]
        families = [score(v, of_v) for v, of_v in enumerate(parents)]
        strengths = {
            (int(u), v): families[v] - score(v, of_v[of_v != u]) for v, of_v in enumerate(parents) for u in of_v
        }
        self._strengths = np.array([max(strengths[tail, head], 0.0) for tail, head in edges.tolist()])
        # rows before the present are given: their scores, which no move changes, are no part of the score
        past = float(np.sum([score(v, np.empty(0, dtype=np.int32)) for v in range(n, state.n)]))
        self.score_ = float(np.sum(families)) + state.offset + len(edges) * state.bonus[ADD]
        self._past_score = past
        return edges

    def _expect_chance_edges(self, price: EdgePrice | None) -> float:
        expected = expect_chance_edges(price)
        if price is None or np.isnan(expected):
            return expected
        past = price._replace(
            widths=price.widths[self._n_series :],
            is_continuous=None if price.is_continuous is None else price.is_continuous[self._n_series :],
        )
        present = price._replace(
            widths=price.widths[: self._n_series],
            is_continuous=None if price.is_continuous is None else price.is_continuous[: self._n_series],
        )
        same_row = 0.0 if self.instantaneous else expect_chance_edges(present)
        return expected - expect_chance_edges(past) - same_row

    def _learn_first_rows(self, columns: LaggedColumns, weights: np.ndarray | None) -> "FirstRowsSearch | None":
        """Learn the network of the first rows from their values in each series; None if there are too few series."""
        series = columns.series
        rows = series.beginnings
        if len(rows) < LEAST_GROUPS:
            return None
        nodes = list_first_nodes(series)
        constant = columns.list_constants(nodes, rows)
        if constant:
            warnings.warn(
                f"the first rows of all series have the same value of {join_names(constant)}, so that there is no "
                "network of the first rows: they are given",
                UserWarning,
                stacklevel=caller_level(),
            )
            return None
        given = {name: value for name, value in self.get_params(deep=False).items() if name in FIRST_ROWS_OPTIONS}
        missing: Any = "error" if self.missing == "drop" else self.missing
        table, of_rows = columns.take(nodes, rows), None if weights is None else weights[rows - 1]
        constraints = order_first_nodes(nodes, len(series.static))

        def learn(constraints: EdgeConstraints) -> FirstRowsSearch:
            search = FirstRowsSearch(**given, missing=missing)
            search.constraints = constraints
            search._start = self._start
            return search.learn(table, of_rows)

        if isinstance(table, DiscreteTable) and not isinstance(self.scoring_method, str | None):
            given["scoring_method"] = bind_object(self.scoring_method, table)
        search = learn(constraints)
        if self.lags == 1 and not columns.numbers:
            # pgmpy's slices have the same inner edges: those of both networks must not form a cycle
            present = self.edges_[(self.edges_ < self._n_series).all(axis=1)]
            first = search.edges_ - len(series.static)
            order = find_common_order(present, first[(first >= 0).all(axis=1)], self._n_series)
            search = search if order is None else learn(keep_order(constraints, order))
        return search

    def estimate_cost(
        self,
        X: Any = None,
        *,
        n_rows: int | None = None,
        cardinalities: ArrayLike | None = None,
        n_floats: int = 0,
        weighted: bool = False,
        missing_share: float = 0.0,
    ) -> LearningCost:
        """Estimate the memory required for learning.

        Parameters
        ----------
        X : anything that ``fit`` takes, optional
            The series, which are coded to count their states. An iterator is consumed.
        n_rows : int, optional
            Number of rows, in place of `X`.
        cardinalities : array-like of int, optional
            Number of states of each discrete variable, in place of `X`.
        n_floats : int, default=0
            Number of continuous variables, in place of `X`.
        weighted : bool, default=False
            Whether the rows will have non-integer weights.
        missing_share : float, default=0.0
            Must be 0: structural EM is not available.

        Returns
        -------
        LearningCost
            Bytes per component and their sum, as for :class:`HillClimbSearch` on the table of all variables at all
            lags. Discrete variables and Gaussian scores need less: rows are not copied per lag, unless whole weights
            repeat discrete rows.

        Raises
        ------
        ValueError
            If neither `X` nor its shape is given, or `missing_share` is not 0.
        """
        cards = None if cardinalities is None else np.asarray(cardinalities)
        if X is not None:
            series = self._open(X)
            columns = self._read_columns(series, weighted)
            table = columns.coded if columns.of_rows is None else columns.of_rows.table
            cards = None if table is None else table.cardinalities
            n_rows, n_floats = len(series.targets), len(columns.numbers)
        n = self.lags + 1
        cards = None if cards is None else np.tile(cards, n)
        options: dict[str, Any] = {"weighted": weighted, "missing_share": missing_share}
        return super().estimate_cost(n_rows=n_rows, cardinalities=cards, n_floats=n_floats * n, **options)

    # ---- results ----

    @property
    def graph_(self) -> TimeSeriesGraph:
        """The learned graph over (variable, lag), computed on first access."""
        return self._make_once("graph", self._make_graph)

    def _make_graph(self) -> TimeSeriesGraph:
        nodes = self.nodes_
        strengths = dict(zip(map(tuple, self.edges_.tolist()), self._strengths.tolist(), strict=True))
        directed, undirected = self._class_edges() if self._kind == "pdag" else (self.edges_.tolist(), [])
        arrows: list[tuple[int, int, dict]] = [(tail, head, {}) for tail, head in directed]
        arrows += [(u, v, {"undirected": True}) for pair in undirected for u, v in (pair, pair[::-1])]
        graph = TimeSeriesGraph()
        graph.add_nodes_from(nodes)
        graph.add_edges_from(
            (nodes[u], nodes[v], {"strength": strengths[(u, v) if (u, v) in strengths else (v, u)], **mark})
            for u, v, mark in sorted(arrows, key=lambda arrow: (nodes[arrow[0]][1], *arrow[:2]))
        )
        return graph

    @property
    def prior_dag_(self) -> DAG | None:
        """The network of the first rows over the columns of the lagged table, None if they are given."""
        self._require_fit()
        return None if self._first_rows is None else self._first_rows.dag_

    @property
    def model_(self) -> DynamicBayesianNetwork:  # type: ignore[override]
        """The dynamic Bayesian network of the learned graph; an object of pgmpy's class for lag 1 and discrete data."""
        return self._make_once("model", self._make_fitted_model)

    def _make_fitted_model(self) -> DynamicBayesianNetwork:
        if self._first_rows is None:
            warnings.warn(
                f"fewer than {LEAST_GROUPS} series give their first rows, so that model_ has the marginal "
                "distributions of the variables there: likelihoods are conditional on the first rows",
                UserWarning,
                stacklevel=caller_level(),
            )
        return choose_class(self._make_model(self._prior).parts())

    def _make_model(self, prior: dict[str, float]) -> DynamicBayesianNetwork:  # type: ignore[override]
        return DynamicBayesianNetwork(
            super()._make_model(prior),
            self.lags,
            static_columns=self._static,
            prior=None if self._first_rows is None else self._first_rows._make_model(prior),
            names=[name for name, _ in self.nodes_[: self._n_series]],
            groups=self.groups,
            time_column=self.time_column,
        )

    def score(self, X: Any = None, y: object = None) -> float:  # type: ignore[override]
        r"""Return the mean log-density of rows given the rows before them, in nats; higher is better.

        .. math:: \frac1N \sum_t \sum_v \ln p(x_{tv} \mid \mathrm{pa}(x_{tv}))

        Parameters
        ----------
        X : DataFrame, array, path, or a list or dict of tables
            Series with the columns and states of the training data. The default is the data of the constructor.
        y : None
            Ignored; scikit-learn's convention.

        Returns
        -------
        float
            The mean over the rows, see :meth:`pgmx.models.DynamicBayesianNetwork.log_likelihood`. Probabilities are
            estimated with the options `equivalent_sample_size` and `pseudo_counts`, or with one equivalent row if
            neither is given, so that known states are never impossible.

        Raises
        ------
        ValueError
            If there are no data, or `X` has other columns.
        """
        self._require_fit()
        if X is None:
            self._require_data()
        rows = self.data if X is None else X
        if not {self.groups, self.time_column} - {None}:
            self._check_n_features(rows)
        network: Any = self._make_once("predictive", lambda: self._make_model(self._prior or ONE_PSEUDO_ROW))
        return network.score(rows)


class FirstRowsSearch(HillClimbSearch):
    """Search for the network of the first rows: the order of time is its only knowledge of edges."""

    constraints: EdgeConstraints

    def learn(self, table: Any, sample_weight: np.ndarray | None) -> "FirstRowsSearch":
        """Learn from the lagged columns of the first rows."""
        self._fit(table, sample_weight).raise_error()
        return self

    def _read_constraints(self, names: Sequence) -> EdgeConstraints:
        return self.constraints


def _spread_weights(sample_weight: ArrayLike, series: LaggedSeries) -> np.ndarray:
    """Return one weight per row of the series from weights per row of the input or per series."""
    given = np.asarray(sample_weight)
    of_groups = given.shape == (len(series.keys),) != (series.n_rows,)
    weights = check_weights(given, "sample_weight", len(series.keys) if of_groups else series.n_rows)
    return weights[series.group_of] if of_groups else weights[series.order]
