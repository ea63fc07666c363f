"""The PC algorithm: Bayesian networks from tests of conditional independence."""

import logging
from collections.abc import Callable, Collection, Hashable, Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike
from pgmpy.base import DAG, PDAG
from pgmpy.causal_discovery import ExpertKnowledge

from pgmx.ci_tests.sources import NamedTests
from pgmx.estimators.base import StrOptions
from pgmx.estimators.bayesian.dag_learner import NetworkResults
from pgmx.estimators.constraint_based.learner import ConstraintLearner, check_effect_sizes
from pgmx.estimators.constraint_based.network import keep_data
from pgmx.graphs.pattern import Pattern
from pgmx.models import to_pdag
from pgmx.runs.progress import SkeletonProgress
from pgmx.runs.run import Run
from pgmx.search.constraint_based.colliders import Rule, orient_skeleton
from pgmx.search.constraint_based.skeleton import PairKnowledge, Skeleton
from pgmx.search.knowledge import EdgeConstraints
from pgmx.statistics.independence.false_discoveries import find_threshold, read_fdr

logger = logging.getLogger(__name__)

#: Forms of the learned graph, and whether they are DAGs.
_FORMS = {"pdag": False, "cpdag": False, "dag": True}


class PC(ConstraintLearner, NetworkResults):
    r"""Bayesian network structure from tests of conditional independence (the PC algorithm).

    Two variables are adjacent unless some set Z of neighbours of one of them separates them:

    .. math:: x - y \quad\Longleftrightarrow\quad
        \max_{Z \subseteq \mathrm{adj}(x) \setminus y,\ Z \subseteq \mathrm{adj}(y) \setminus x,\ |Z| \le k}
        p(x, y \mid Z) < \alpha

    with p the p-value of a test, α the `significance_level` and k `max_cond_vars`. Sets grow from size 0. Unshielded
    triples x - z - y are then colliders x → z ← y if z is not in the set that separates x and y, and Meek's rules
    direct further edges.

    Parameters
    ----------
    data : DataFrame, array, DiscreteTable, path or iterator of frames, optional
        Data for ``estimate()``. ``fit(X)`` does not use it.
    variant : {"stable", "parallel", "orig"}, default="stable"
        "stable" freezes the neighbours at the start of each size and tests all sets, so that the result does not
        depend on the order of the columns. "parallel" is another name for it. "orig" removes an edge at its first
        separating set, at once. It needs fewer tests, and its result depends on the order of the columns.
    ci_test : str, CITest, object or callable, default=None
        The test: "chi_square", "chi_square_moments" or "g_sq" (discrete), "fisher_z" or "pearsonr" (continuous),
        "mixed", "independence_match" (with `independencies` of ``fit``), a test object of :mod:`pgmx.ci_tests` or of
        pgmpy, or a function ``(X, Y, Z, significance_level=) -> bool``. The default is "chi_square" for discrete,
        "fisher_z" for continuous and "mixed" for mixed data.
    return_type : {"pdag", "cpdag", "dag"}, default="pdag"
        Whether `graph_` has directed and undirected edges, or is one DAG of this class. "cpdag" means "pdag".
    significance_level : float, default=0.01
        Level α of the tests, between 0 and 1. Variables are separated by a set if the p-value is at least α.
    max_cond_vars : int, default=5
        Size of the largest sets. May be infinite.
    orient_rule : {"pvalue", "effect", "majority", "conservative"}, default=None
        Which sets decide about a collider. None: the set of the largest p-value found for the skeleton. The others test
        all sets of up to three neighbours of x or y: the set of the largest p-value ("pvalue") or of the smallest
        effect ("effect") among them, more than half of the separating sets ("majority"), or all of them
        ("conservative").
    expert_knowledge : ExpertKnowledge, default=None
        Prior knowledge as an object of pgmpy, combined with `required_edges` and the options after it; contradictions
        are an error. ``root_nodes`` and ``orientations`` of later versions of pgmpy are read too.
    enforce_expert_knowledge : bool, default=False
        Accepted for compatibility. Knowledge always holds: see the Notes.
    n_jobs : int, default=None
        Number of threads that test. The result does not depend on it.
    show_progress : bool, default=True
        Whether runs of more than one second show a progress bar. ``pgmpy.config.SHOW_PROGRESS`` can switch it off too.
    required_edges, forbidden_edges : collection of (tail, head), default=None
        Edges that the graph must have, and edges that it must not have.
    tiers : list of collections, default=None
        Groups of variables from the earliest to the latest. No edge leads to an earlier group. If each variable is in
        a group, two variables are tested given variables that are not later than both of them.
    root_nodes : collection, default=None
        Variables without parents.
    candidate_edges : collection of (tail, head), default=None
        The only edges that the graph may have.
    fdr : float or tuple, default=None
        False discovery rate of the edges: q, or ("bh", q), keeps the edges whose largest p-values pass the procedure of
        Benjamini and Hochberg at rate q, ("by", q) the procedure of Benjamini and Yekutieli.
    missing : {"error", "drop", "category", "pairwise"}, default="error"
        Treatment of missing values: raise an error; drop the row; add a state ``"missing"``; or use in each test the
        rows in which all of its variables are observed.
    na_values : scalar, str, list-like or dict, default=None
        Additional markers of missing values in a CSV file, such as "?", per column if a dict, as in
        ``pandas.read_csv``. Any value, even an empty list, switches off the warning about possible markers.
    state_names : dict, default=None
        States of some or all variables, in order. States that do not occur in the data are allowed.
    discrete_columns : list of hashable, default=None
        Numeric columns that are discrete. Their states are the distinct values, as integers if all values are whole.
    max_tests : int, default=None
        Number of tests after which no larger sets are tested.
    max_time : float, default=None
        Time limit in seconds, after which pairs that were not separated are adjacent.
    checkpoint : path-like, default=None
        File of snapshots, one for each size of the sets. If it exists, ``fit`` resumes from it and returns the same
        graph. It is deleted when the search has converged.
    checkpoint_every : float, default=60.0
        Accepted as by other learners. A snapshot is written after each size, whatever the time.
    callback : callable, default=None
        Called with the named tuple (n_iter, n_tests, n_edges, seconds) after each size. If it returns a true value, the
        search ends.

    Attributes
    ----------
    graph_, causal_graph_ : pgmpy.base.PDAG or pgmpy.base.DAG
        The learned graph, of the type given by `return_type`.
    skeleton_ : pgmpy.base.UndirectedGraph
        Its adjacencies.
    separating_sets_ : dict of frozenset to tuple
        For each pair that tests have separated, the set with the largest p-value; of several the smallest, then the
        first by name. It is made on access and has an entry for most pairs.
    edge_p_values_ : dict of frozenset to float
        For each edge, the largest p-value of all tests of the pair.
    n_tests_ : list of int
        Number of tests for each size of the sets, from 0.
    ambiguous_triples_ : list of tuple
        Unshielded triples (x, z, y) about which the rule did not decide: z may be a collider or not.
    conflicts_ : list of tuple
        Colliders (x, z, y) that were left out because stronger evidence, knowledge or a cycle is against them.
    ci_test_ : str
        Name of the test.
    dag_ : pgmpy.base.DAG
        A DAG with the directed edges of the graph and its colliders, see the Notes.
    model_ : DiscreteBayesianNetwork, LinearGaussianBayesianNetwork or ConditionalGaussianNetwork
        The network of `dag_`, with maximum likelihood estimates, made on first access.
    converged_, stopped_by_ : bool, str
        Whether all sizes were tested, and why the search ended: "converged", "max_tests", "max_time", "callback" or
        "interrupt" (Ctrl-C or an error in a callback).
    history_ : dict of ndarray
        ``"n_tests"``, ``"n_edges"`` and ``"seconds"`` after each size.
    edges_ : ndarray of shape (n_edges, 2), int64
        Edges (tail, head) of `dag_` as positions in `variables_`.
    adjacency_matrix_ : DataFrame
        Adjacency matrix of `graph_`, made on access.
    variables_, n_features_in_, feature_names_in_ : list, int, ndarray
        Names of the columns, and their number and names as in scikit-learn.

    Raises
    ------
    TypeError
        If the test is no test, does not apply to the data, or is a function that does not return a bool.
    ValueError
        If an option is unknown or out of range, values are missing or infinite, knowledge contradicts itself,
        `sample_weight` are not integers, or `fdr` is given with a function that has no p-values.

    Warns
    -----
    UserWarning
        If a column is constant (it gets no edges), or columns determine each other.
    ConvergenceWarning
        If `max_tests` ends the search.

    Notes
    -----
    With a test that never errs and data without hidden common causes, the graph is the equivalence class of the true
    DAG under every rule. On samples, "pvalue" is the best rule for continuous and "majority" for discrete variables.

    Knowledge: a pair whose edge is forbidden in both directions is never tested. A required edge is never removed. Both
    hold before any test decides. If the allowed directions of some edges form a cycle, the one with the largest p-value
    is removed. Tests may contradict each other. Colliders are then drawn from the strongest to the weakest evidence,
    and one against an arrow that is already drawn is listed in `conflicts_`. The graph has no directed cycle, but there
    may be no DAG with exactly its colliders. `dag_` then has as few further colliders as a greedy choice finds.

    A function counts as a p-value of 1 or 0. Cost: for each variable with d neighbours, the sets of size k are
    :math:`\binom{d}{k}` rows of d tests. Memory: 10 n² bytes for n variables, and 8 n² for correlations. Dense graphs
    are the weakness of PC: with few rows or many neighbours true edges are separated by chance, and a score search is
    better.

    References
    ----------
    .. [1] Spirtes, P., Glymour, C. and Scheines, R. (2000). Causation, Prediction, and Search, second edition. MIT
       Press. Section 5.4.2.
    .. [2] Colombo, D. and Maathuis, M. H. (2014). Order-independent constraint-based causal structure learning. Journal
       of Machine Learning Research 15, 3921-3962. Algorithms 4.1 and 4.2.
    .. [3] Ramsey, J. (2016). Improving accuracy and scalability of the PC algorithm by maximizing p-value.
       arXiv:1610.00378.
    .. [4] Meek, C. (1995). Causal inference and causal explanation with background knowledge. UAI, 403-410.
    .. [5] Benjamini, Y. and Hochberg, Y. (1995). Controlling the false discovery rate. Journal of the Royal Statistical
       Society B 57, 289-300.

    Examples
    --------
    >>> import numpy as np
    >>> import pandas as pd
    >>> rng = np.random.default_rng(0)
    >>> rain, sprinkler = rng.integers(0, 2, (2, 1000))
    >>> wet = np.where(rng.random(1000) < 0.9, rain | sprinkler, 0)
    >>> pc = PC(show_progress=False).fit(pd.DataFrame({"rain": rain, "sprinkler": sprinkler, "wet": wet}))
    >>> sorted(pc.graph_.directed_edges)
    [('rain', 'wet'), ('sprinkler', 'wet')]
    >>> pc.separating_sets_[frozenset(["rain", "sprinkler"])]
    ()
    """

    _tags = {"name": "pc", "assumption:faithfulness": True}

    variant: str
    return_type: str
    orient_rule: Rule | None
    fdr: Any

    ambiguous_triples_: list[tuple]
    conflicts_: list[tuple]
    _pattern: Pattern

    _parameter_constraints: dict[str, Any] = {
        **ConstraintLearner._parameter_constraints,
        "variant": [StrOptions({"stable", "parallel", "orig"})],
        "return_type": [str],  # any case, checked by _check_options
        "orient_rule": [StrOptions({"pvalue", "effect", "majority", "conservative"}), None],
        "fdr": "no_validation",  # checked by read_fdr
    }

    def __init__(
        self,
        data: Any = None,
        *,
        variant: Literal["stable", "parallel", "orig"] = "stable",
        ci_test: Any = None,
        return_type: str = "pdag",
        significance_level: float = 0.01,
        max_cond_vars: float = 5,
        orient_rule: Rule | None = None,
        expert_knowledge: ExpertKnowledge | None = None,
        enforce_expert_knowledge: bool = False,
        n_jobs: int | None = None,
        show_progress: bool = True,
        required_edges: Collection[Sequence[Hashable]] | None = None,
        forbidden_edges: Collection[Sequence[Hashable]] | None = None,
        tiers: Sequence[Collection[Hashable]] | None = None,
        root_nodes: Collection[Hashable] | None = None,
        candidate_edges: Collection[Sequence[Hashable]] | None = None,
        fdr: float | tuple[str, float] | None = None,
        missing: Literal["error", "drop", "category", "pairwise"] = "error",
        na_values: Any = None,
        state_names: dict | None = None,
        discrete_columns: Sequence[Hashable] | None = None,
        max_tests: float | None = None,
        max_time: float | None = None,
        checkpoint: str | Path | None = None,
        checkpoint_every: float = 60.0,
        callback: Callable[[SkeletonProgress], object] | None = None,
    ) -> None:
        self.data = data
        self.variant = variant
        self.ci_test = ci_test
        self.return_type = return_type
        self.significance_level = significance_level
        self.max_cond_vars = max_cond_vars
        self.orient_rule = orient_rule
        self.expert_knowledge = expert_knowledge
        self.enforce_expert_knowledge = enforce_expert_knowledge
        self.n_jobs = n_jobs
        self.show_progress = show_progress
        self.required_edges = required_edges
        self.forbidden_edges = forbidden_edges
        self.tiers = tiers
        self.root_nodes = root_nodes
        self.candidate_edges = candidate_edges
        self.fdr = fdr
        self.missing = missing
        self.na_values = na_values
        self.state_names = state_names
        self.discrete_columns = discrete_columns
        self.max_tests = max_tests
        self.max_time = max_time
        self.checkpoint = checkpoint
        self.checkpoint_every = checkpoint_every
        self.callback = callback

    # ---- learning ----

    def _check_options(self) -> None:
        if self.return_type.lower() not in _FORMS:
            raise ValueError(f"the option 'return_type' must be 'pdag', 'cpdag' or 'dag', got {self.return_type!r}")
        read_fdr(self.fdr)

    def _takes_order(self) -> bool:
        return self.variant == "orig"

    def _fit(self, opened: Any, sample_weight: ArrayLike | None) -> Run:
        self._opened, self._weights = opened, sample_weight
        try:
            return super()._fit(opened, sample_weight)
        finally:
            del self._opened, self._weights

    def _orient(
        self, tests: NamedTests, skeleton: Skeleton, constraints: EdgeConstraints, knowledge: PairKnowledge, run: Run
    ) -> None:
        if self.orient_rule == "effect":
            check_effect_sizes(tests)
        self._control_rate(tests, skeleton, knowledge)
        directions = orient_skeleton(
            skeleton,
            tests.source,
            constraints,
            rule=self.orient_rule,
            significance_level=self._separation_level,
            max_size=int(min(self.max_cond_vars, len(tests.names))),
            tiers=knowledge.tiers,
        )
        self._pattern = directions.pattern
        self.ambiguous_triples_ = [tuple(tests.names[v] for v in triple) for triple in directions.ambiguous]
        self.conflicts_ = [tuple(tests.names[v] for v in triple) for triple in directions.conflicts]
        self._is_dag = _FORMS[self.return_type.lower()]
        self._prior = {}
        self._scoring = keep_data(
            self._opened,
            tests,
            missing=self.missing,
            state_names=self.state_names,
            sample_weight=self._weights,
        )

    def _control_rate(self, tests: NamedTests, skeleton: Skeleton, knowledge: PairKnowledge) -> None:
        """Remove the edges that do not pass the control of false discoveries."""
        control = read_fdr(self.fdr)
        if control is None:
            return
        if not tests.has_p_values:
            raise ValueError(f"fdr={self.fdr!r} needs p-values, which the function {tests.label} does not give")
        kind, rate = control
        tested = np.triu(knowledge.possible & ~knowledge.required, 1)
        edges = tested & skeleton.adjacent
        p_values = skeleton.evidence.p_values[edges]
        threshold = find_threshold(p_values, int(np.count_nonzero(tested)), kind, rate)
        if (p_values > threshold).any():
            # what separates the removed pairs is the set of their largest p-value
            self._separation_level = float(p_values[p_values > threshold].min())
            skeleton.remove(self._separation_level, knowledge.required)

    # ---- results ----

    @property
    def graph_(self) -> DAG | PDAG:
        """The learned graph, a PDAG or a DAG as given by `return_type`."""
        self._require_fit()
        return self.dag_ if self._is_dag else self._make_once("pdag", self._make_pdag)

    def _make_pdag(self) -> PDAG:
        order = self._order.tolist()
        directed = [(order[u], order[v]) for u, v in self._pattern.list_directed()]
        undirected = [(order[u], order[v]) for u, v in self._pattern.list_undirected()]
        return to_pdag(self._names, directed, undirected)

    @property
    def edges_(self) -> np.ndarray:  # type: ignore[override]
        """Edges (tail, head) of `dag_`, as positions in `variables_`."""
        return self._make_once("edges", self._make_edges)

    def _make_edges(self) -> np.ndarray:
        edges, n_new = self._pattern.find_dag()
        if n_new:
            logger.warning("no DAG has exactly the colliders of the graph of PC: dag_ has %d more", n_new)
        positions = self._order[np.array(edges, dtype=np.int64).reshape(-1, 2)]
        return positions[np.lexsort((positions[:, 1], positions[:, 0]))]
