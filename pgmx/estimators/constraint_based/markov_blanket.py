"""Markov blankets by tests of conditional independence."""

from collections.abc import Callable, Collection, Hashable, Sequence
from math import inf
from numbers import Integral, Real
from typing import Any, Literal

import networkx as nx
import numpy as np
from numpy.typing import ArrayLike
from pgmpy.causal_discovery import ExpertKnowledge

from pgmx.checks import join_names
from pgmx.data.inputs import open_for_scores
from pgmx.estimators.base import (
    DISCRETE_COLUMNS,
    NA_VALUES,
    BaseStructureLearner,
    Interval,
    Options,
    StrOptions,
    config,
)
from pgmx.estimators.bayesian.dag_learner import KNOWLEDGE_OPTIONS
from pgmx.estimators.constraint_based.candidates import (
    make_blanket_search,
    open_learner_tests,
    read_pair_knowledge,
    warn_of_functions,
)
from pgmx.runs.progress import ProgressBar, SkeletonProgress
from pgmx.runs.run import Run
from pgmx.search.constraint_based.blankets import METHODS


class MarkovBlanket(BaseStructureLearner):
    r"""Markov blanket of a variable, or of all variables, by tests of conditional independence.

    The Markov blanket B of a variable T is the smallest set for which

    .. math:: T \perp V \setminus (B \cup \{T\}) \mid B :

    the other variables say nothing more about T. In a Bayesian network it holds the parents, the children, and the
    other parents of the children of T.

    Parameters
    ----------
    data : DataFrame, array, DiscreteTable, path or iterator of frames, optional
        Data for ``estimate()``. ``fit(X)`` does not use it.
    target : hashable, default=None
        Name of the variable. The default is all variables, each in turn.
    method : {"iamb", "inter-iamb", "fast-iamb", "gs", "mmpc"}, default="iamb"
        Algorithm. ``"iamb"`` [1]_ adds the variable with the strongest dependence given the present set until none
        depends, then removes members that are independent given the others. ``"inter-iamb"`` also removes after each
        addition. ``"fast-iamb"`` [2]_ adds several variables at once while there are 5 rows per cell of their table
        (10 rows per continuous variable). ``"gs"``, grow-shrink [3]_, adds the variables in the order of their
        dependence on the target. ``"mmpc"`` [4]_ finds parents and children by tests given subsets of them, and then
        the other parents of the children.
    ci_test : str, CITest or function, default=None
        Test of conditional independence: a name ("chi_square", "chi_square_moments", "g_sq", "fisher_z", "pearsonr"),
        an object from :mod:`pgmx.ci_tests`, or a function ``(X, Y, Z, significance_level=) -> bool``. The default is
        "chi_square_moments" for discrete and "fisher_z" for continuous data.
    significance_level : float, default=0.01
        Level of the tests, between 0 and 1.
    max_cond_vars : int, default=3
        Largest number of variables given in a test of ``"mmpc"``. May be infinite. The sets of the other methods are as
        large as the blanket.
    expert_knowledge : ExpertKnowledge, default=None
        Prior knowledge as an object of pgmpy, combined with the next five options; contradictions are an error. Pairs
        with a required edge are in each other's blanket. Pairs that are forbidden in both directions are in it only by
        a common child.
    required_edges, forbidden_edges : collection of (tail, head), default=None
        Edges that the graph has, and edges that it does not have.
    tiers : list of collections, default=None
        Groups of variables from the earliest to the latest. Tiers alone forbid one direction only.
    root_nodes : collection, default=None
        Variables without parents.
    candidate_edges : collection of (tail, head), default=None
        The only edges that the graph may have.
    max_time : float, default=None
        Time limit in seconds, after which the members found so far are returned.
    show_progress : bool, default=True
        Whether runs of more than one second show a progress bar. ``pgmpy.config.SHOW_PROGRESS`` can switch it off too.
    callback : callable, default=None
        Called with the named tuple (n_iter, n_tests, n_edges, seconds) after the blanket of each variable; `n_edges`
        counts the members so far. If it returns a true value, the search ends.
    state_names : dict, default=None
        States of some or all variables, in order.
    missing : {"error", "drop", "category", "pairwise"}, default="error"
        Treatment of missing values: raise an error; drop the row; add a state ``"missing"``; or test on the rows
        complete in the variables of the test.
    na_values : scalar, str, list-like or dict, default=None
        Additional markers of missing values in a CSV file, such as "?", per column if a dict, as in
        ``pandas.read_csv``. Any value, even an empty list, switches off the warning about possible markers.
    discrete_columns : list of hashable, default=None
        Numeric columns that are discrete. Their states are the distinct values, as integers if all values are whole.
    n_jobs : int, default=None
        Number of threads for coding. The result does not depend on it.

    Attributes
    ----------
    blanket_ : list
        The Markov blanket of `target`, in the order of the columns.
    blankets_ : dict of hashable to list
        The blanket of each variable that was asked for. Without `target`, a pair is in it only if both variables are in
        each other's set (symmetry correction).
    graph_ : networkx.Graph
        All variables, with an edge between a variable and each member of its blanket.
    n_tests_ : int
        Number of tests.
    converged_, stopped_by_ : bool, str
        Whether the search ended by itself, and why it ended: "converged", "max_time", "callback" or "interrupt" (Ctrl-C
        or an error in a callback).
    adjacency_matrix_ : DataFrame
        Adjacency matrix of `graph_`, made on access.
    variables_, n_features_in_, feature_names_in_ : list, int, ndarray
        Names of the columns, and their number and names as in scikit-learn.

    Raises
    ------
    ValueError, TypeError
        If `target` is not a column, an option or a test is unknown, or the data cannot be used.

    Notes
    -----
    All choices are by strength: the smallest p-value, then the largest effect size, then the name. The result does not
    depend on the order of the columns. A test that cannot be made (too few rows) neither adds nor removes a variable.

    If tests answer as the true graph (the distribution is faithful to a directed acyclic graph, and there are many
    rows), all methods return the true blanket, ``"mmpc"`` with a `max_cond_vars` that is large enough.

    Cost: a row of tests (of all variables given one set) per member for the additions; ``"mmpc"`` tests given subsets
    of the members, and repeats this for each member to check that the target is in its set.

    References
    ----------
    .. [1] Tsamardinos, I., Aliferis, C. F. and Statnikov, A. (2003). Algorithms for large scale Markov blanket
       discovery. FLAIRS.
    .. [2] Yaramakala, S. and Margaritis, D. (2005). Speculative Markov blanket discovery for optimal feature selection.
       ICDM.
    .. [3] Margaritis, D. and Thrun, S. (1999). Bayesian network induction via local neighborhoods. NIPS 12.
    .. [4] Tsamardinos, I., Brown, L. E. and Aliferis, C. F. (2006). The max-min hill-climbing Bayesian network
       structure learning algorithm. Machine Learning 65, 31-78, algorithms 1 and 2.

    Examples
    --------
    >>> import numpy as np
    >>> import pandas as pd
    >>> rng = np.random.default_rng(0)
    >>> rain = rng.integers(0, 2, 500)
    >>> wet = np.where(rng.random(500) < 0.9, rain, 1 - rain)
    >>> data = pd.DataFrame({"rain": rain, "wet": wet, "coin": rng.integers(0, 2, 500)})
    >>> MarkovBlanket(target="rain").fit(data).blanket_
    ['wet']
    """

    blankets_: dict[Hashable, list]
    n_tests_: int
    converged_: bool
    stopped_by_: str
    _names: list

    _tags = {"name": "markov_blanket"}

    _parameter_constraints: dict[str, Any] = {
        "target": "no_validation",  # any column name, checked with the data
        "method": [StrOptions(set(METHODS))],
        "ci_test": "no_validation",  # checked by open_tests
        "significance_level": [Interval(Real, 0, 1, closed="neither")],
        "max_cond_vars": [Interval(Integral, 0, None, closed="left"), Options(Real, {inf})],
        **dict.fromkeys(KNOWLEDGE_OPTIONS, "no_validation"),
        "max_time": [Interval(Real, 0, None, closed="left"), None],
        "show_progress": ["boolean"],
        "callback": [callable, None],
        "state_names": [dict, None],
        "missing": [StrOptions({"error", "drop", "category", "pairwise"})],
        "na_values": NA_VALUES,
        "discrete_columns": DISCRETE_COLUMNS,
        "n_jobs": [Integral, None],
    }

    _open_input = staticmethod(open_for_scores)

    def __init__(
        self,
        data: Any = None,
        *,
        target: Hashable | None = None,
        method: Literal["iamb", "inter-iamb", "fast-iamb", "gs", "mmpc"] = "iamb",
        ci_test: Any = None,
        significance_level: float = 0.01,
        max_cond_vars: float = 3,
        expert_knowledge: ExpertKnowledge | None = None,
        required_edges: Collection[Sequence[Hashable]] | None = None,
        forbidden_edges: Collection[Sequence[Hashable]] | None = None,
        tiers: Sequence[Collection[Hashable]] | None = None,
        root_nodes: Collection[Hashable] | None = None,
        candidate_edges: Collection[Sequence[Hashable]] | None = None,
        max_time: float | None = None,
        show_progress: bool = True,
        callback: Callable[[SkeletonProgress], object] | None = None,
        state_names: dict | None = None,
        missing: Literal["error", "drop", "category", "pairwise"] = "error",
        na_values: Any = None,
        discrete_columns: Sequence[Hashable] | None = None,
        n_jobs: int | None = None,
    ) -> None:
        self.data = data
        self.target = target
        self.method = method
        self.ci_test = ci_test
        self.significance_level = significance_level
        self.max_cond_vars = max_cond_vars
        self.expert_knowledge = expert_knowledge
        self.required_edges = required_edges
        self.forbidden_edges = forbidden_edges
        self.tiers = tiers
        self.root_nodes = root_nodes
        self.candidate_edges = candidate_edges
        self.max_time = max_time
        self.show_progress = show_progress
        self.callback = callback
        self.state_names = state_names
        self.missing = missing
        self.na_values = na_values
        self.discrete_columns = discrete_columns
        self.n_jobs = n_jobs

    # ---- learning ----

    def _reads_continuous(self, opened: Any) -> bool:
        by_name = self.ci_test is None or isinstance(self.ci_test, str)
        return super()._reads_continuous(opened) and by_name

    def _fit(self, opened: Any, sample_weight: ArrayLike | None) -> Run:
        names = list(opened.names)
        if self.target is not None and self.target not in names:
            raise ValueError(f"target={self.target!r} is not a column of the data; the columns are {join_names(names)}")
        targets = names if self.target is None else [self.target]
        with ProgressBar(
            self.show_progress and config.SHOW_PROGRESS,
            self.callback,
            type(self).__name__,
            unit="variables",
            figure="n_tests",
            total=len(targets),
        ) as bar:
            run = Run(SkeletonProgress, max_time=self.max_time, callback=bar.callback, start=self._start)
            bar.follow(run)
            self._find_blankets(opened, sample_weight, targets, run)
        return run

    def _find_blankets(self, opened: Any, sample_weight: ArrayLike | None, targets: list, run: Run) -> None:
        names = list(opened.names)
        level = self.significance_level
        tests = open_learner_tests(self, opened, sample_weight, self.method, self.ci_test, level)
        search = make_blanket_search(
            tests,
            self.method,
            run,
            knowledge=read_pair_knowledge(self, tests.names),
            significance_level=level,
            max_size=int(min(self.max_cond_vars, len(names))),
        )
        ids = {name: v for v, name in enumerate(tests.names)}
        found: dict[Hashable, set] = {name: set() for name in targets}
        with run.limit_runs(), run.catch_interrupt():
            for name in targets:
                if run.is_over():
                    break
                found[name] = {tests.names[v] for v in search.find_blanket(ids[name])}
                run.record(n_tests=search.n_tests, n_edges=sum(map(len, found.values())))
        if self.target is None:
            found = {name: {other for other in found[name] if name in found[other]} for name in names}
        pairs = np.zeros((len(names), len(names)), dtype=bool)
        for name, members in found.items():
            pairs[ids[name], [ids[other] for other in members]] = True
        warn_of_functions(tests, pairs | pairs.T)
        self.blankets_ = {name: [other for other in names if other in found[name]] for name in found}
        self.n_tests_ = search.n_tests
        self._names, self._results = names, {}
        if not run.is_over():
            run.end("converged")
        self.stopped_by_, self.converged_ = run.stopped_by, run.stopped_by == "converged"

    # ---- results ----

    @property
    def blanket_(self) -> list:
        """The Markov blanket of `target`, in the order of the columns."""
        self._require_fit()
        if self.target is None:
            raise AttributeError("there is no blanket_ without target: blankets_ has the blankets of all variables")
        return self.blankets_[self.target]

    @property
    def graph_(self) -> nx.Graph:
        """All variables, with an edge between a variable and each member of its blanket."""
        return self._make_once("graph", self._make_graph)

    def _make_graph(self) -> nx.Graph:
        graph = nx.Graph()
        graph.add_nodes_from(self._names)
        graph.add_edges_from((name, other) for name, members in self.blankets_.items() for other in members)
        return graph
