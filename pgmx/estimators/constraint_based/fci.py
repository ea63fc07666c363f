"""FCI and RFCI: partial ancestral graphs from tests of independence, for data with hidden common causes."""

import warnings
from collections.abc import Callable, Collection, Hashable, Sequence
from math import inf
from numbers import Integral, Real
from pathlib import Path
from typing import Any, Literal

import numpy as np
from pgmpy.causal_discovery import ExpertKnowledge
from sklearn.exceptions import ConvergenceWarning

from pgmx.checks import caller_level
from pgmx.ci_tests.sources import NamedTests
from pgmx.estimators.base import Interval, Options, StrOptions
from pgmx.estimators.constraint_based.learner import ConstraintLearner, check_effect_sizes
from pgmx.graphs.partial_ancestral import ARROW, CIRCLE, TAIL, PartialAncestralGraph
from pgmx.models.pag import PAG, to_pag
from pgmx.runs.progress import SkeletonProgress
from pgmx.runs.run import Run
from pgmx.search.constraint_based.colliders import Rule, find_colliders
from pgmx.search.constraint_based.pag_rules import PagRules, orient_colliders
from pgmx.search.constraint_based.possible_d_sep import refine_skeleton
from pgmx.search.constraint_based.skeleton import PairKnowledge, Skeleton
from pgmx.search.constraint_based.tested_orientations import TestedOrientations
from pgmx.search.knowledge import EdgeConstraints

Triple = tuple[int, int, int]

_MARKS = {CIRCLE: "o", ARROW: ">", TAIL: "-"}


class HiddenCauseLearner(ConstraintLearner):
    """Base of FCI and RFCI: their results, and the marks that follow from knowledge."""

    selection_bias: bool
    orient_rule: Rule | None

    ambiguous_triples_: list[tuple]
    _graph: PartialAncestralGraph
    _is_exceeded: bool

    _ends_with_skeleton = False
    _parameter_constraints: dict[str, Any] = {
        **ConstraintLearner._parameter_constraints,
        "selection_bias": ["boolean"],
        "orient_rule": [StrOptions({"pvalue", "effect", "majority", "conservative"}), None],
    }

    def _orient(
        self, tests: NamedTests, skeleton: Skeleton, constraints: EdgeConstraints, knowledge: PairKnowledge, run: Run
    ) -> None:
        if self.orient_rule == "effect":
            check_effect_sizes(tests)
        self._test_further(tests, skeleton, knowledge, run)
        found, ambiguous = find_colliders(
            skeleton,
            tests.source,
            rule=self.orient_rule,
            significance_level=self.significance_level,
            max_size=int(min(self.max_cond_vars, len(tests.names))),
            tiers=knowledge.tiers,
        )
        self._graph = PartialAncestralGraph.from_adjacency(skeleton.adjacent)
        _apply_knowledge(self._graph, constraints)
        colliders = [(x, z, y) for _, x, z, y in sorted(found, key=lambda collider: collider[1:])]
        self._apply_rules(tests, skeleton, knowledge, colliders, set(ambiguous))
        self.ambiguous_triples_ = [tuple(tests.names[v] for v in triple) for triple in sorted(ambiguous)]
        self._is_exceeded = not run.stopped_by and self._exceeds_limit(skeleton)
        if not run.stopped_by:
            run.end("max_tests" if self._is_exceeded else "converged")

    def _exceeds_limit(self, skeleton: Skeleton) -> bool:
        """Return whether tests that are made in any case exceed the limit."""
        return False

    def _test_further(self, tests: NamedTests, skeleton: Skeleton, knowledge: PairKnowledge, run: Run) -> None:
        """Make the tests that follow the skeleton of PC."""

    def _apply_rules(
        self,
        tests: NamedTests,
        skeleton: Skeleton,
        knowledge: PairKnowledge,
        colliders: list[Triple],
        ambiguous: set[Triple],
    ) -> None:
        """Orient the colliders and apply the rules R1 to R10."""
        raise NotImplementedError

    def _find_set(self, x: int, y: int) -> tuple[int, ...] | None:
        """Return the separating set of a pair of ids, None for a pair that no test has separated."""
        evidence = self._skeleton.evidence
        return evidence.get_set(x, y) if evidence.get_p_value(x, y) >= self.significance_level else None

    # ---- results ----

    @property
    def graph_(self) -> PAG:
        """The learned graph."""
        return self._make_once("graph", self._make_graph)

    @property
    def causal_graph_(self) -> PAG:
        """The learned graph, by pgmpy's name."""
        return self.graph_

    def _make_graph(self) -> PAG:
        order, p_value = self._order.tolist(), self._skeleton.evidence.get_p_value
        edges = []
        for u, v, at_u, at_v in self._graph.list_edges():
            ends = sorted([(order[u], _MARKS[at_u]), (order[v], _MARKS[at_v])])
            edges.append((ends[0][0], ends[1][0], ends[0][1], ends[1][1], p_value(u, v)))
        return to_pag(self._names, edges)


def _apply_knowledge(graph: PartialAncestralGraph, constraints: EdgeConstraints) -> None:
    """Draw the tails and arrowheads of required edges, and an arrowhead at u if u → v is not allowed."""
    for tail, head in constraints.required.tolist():
        graph.orient(head, tail, TAIL)
        graph.orient(tail, head, ARROW)
    for u in range(graph.n) if constraints.allowed is not None else ():
        for v in sorted(graph.marks[u]):
            if not constraints.allows(u, v):
                graph.orient(v, u, ARROW)


class FCI(HiddenCauseLearner):
    r"""Partial ancestral graph from tests of conditional independence (fast causal inference).

    Common causes may be hidden, and the rows may be selected. Two variables are adjacent unless some set Z separates
    them:

    .. math:: x - y \quad\Longleftrightarrow\quad
        \max_{Z \subseteq \mathrm{pds}(x) \setminus y,\ Z \subseteq \mathrm{pds}(y) \setminus x,\ |Z| \le k}
        p(x, y \mid Z) < \alpha

    with p the p-value of a test, α the `significance_level`, k `max_cond_vars`, and pds(x) the possible-d-sep set of x:
    the variables on paths from x whose inner variables are colliders or in a triangle with their neighbours. Sets of
    neighbours are tested first, as by PC. Rules R0 to R10 then draw arrowheads and tails at the ends of the edges.

    :class:`RFCI` needs far fewer tests, and is about as good on samples: try it first.

    Parameters
    ----------
    data : DataFrame, array, DiscreteTable, path or iterator of frames, optional
        Data for ``estimate()``. ``fit(X)`` does not use it.
    ci_test : str, CITest, object or callable, default=None
        The test: "chi_square", "chi_square_moments" or "g_sq" (discrete), "fisher_z" or "pearsonr" (continuous),
        "mixed", "independence_match" (with `independencies` of ``fit``), a test object of :mod:`pgmx.ci_tests` or of
        pgmpy, or a function ``(X, Y, Z, significance_level=) -> bool``. The default is "chi_square" for discrete,
        "fisher_z" for continuous and "mixed" for mixed data.
    significance_level : float, default=0.01
        Level of the tests, between 0 and 1. Variables are separated by a set if the p-value is at least this level.
    max_cond_vars : int, default=5
        Size of the largest sets. May be infinite.
    max_possible_d_sep : int, default=None
        Size of the largest subsets of possible-d-sep sets, if smaller than `max_cond_vars`. Their number grows fast: 0
        leaves these tests out.
    selection_bias : bool, default=True
        Whether rows may have been selected by effects of the variables. If False, the rules R5 to R7 are left out, so
        that no edge is undirected.
    orient_rule : {"pvalue", "effect", "majority", "conservative"}, default=None
        Which sets decide about a collider. None: the set of the largest p-value. The others test all sets of up to
        three neighbours of x or y: the set of the largest p-value ("pvalue") or of the smallest effect ("effect") among
        them, more than half of the separating sets ("majority"), or all of them ("conservative").
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
        Direct causes that the graph must have, and direct causes that it must not have.
    tiers : list of collections, default=None
        Groups of variables from the earliest to the latest: no variable is a cause of an earlier one. If each variable
        is in a group, two variables are tested given variables that are not later than both of them.
    root_nodes : collection, default=None
        Variables that no other variable causes.
    candidate_edges : collection of (tail, head), default=None
        The only direct causes that the graph may have.
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
    graph_, causal_graph_ : pgmx.models.PAG
        The learned graph. Its edges have the attributes ``marks`` and ``p_value``.
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
    ci_test_ : str
        Name of the test.
    converged_, stopped_by_ : bool, str
        Whether all sizes were tested, and why the search ended: "converged", "max_tests", "max_time", "callback" or
        "interrupt" (Ctrl-C or an error in a callback).
    history_ : dict of ndarray
        ``"n_tests"``, ``"n_edges"`` and ``"seconds"`` after each size.
    adjacency_matrix_ : DataFrame
        Adjacency matrix of `graph_`, symmetric and without its marks, made on access.
    variables_, n_features_in_, feature_names_in_ : list, int, ndarray
        Names of the columns, and their number and names as in scikit-learn.

    Raises
    ------
    TypeError
        If the test is no test, does not apply to the data, or is a function that does not return a bool.
    ValueError
        If an option is unknown or out of range, values are missing or infinite, knowledge contradicts itself, or
        `sample_weight` are not whole numbers.

    Warns
    -----
    UserWarning
        If a column is constant (it gets no edges), or columns determine each other.
    ConvergenceWarning
        If `max_tests` ends the search.

    Notes
    -----
    With a test that never errs and no limits, the graph is the PAG of the true graph: all maximal ancestral graphs with
    the same independences share its marks, and each circle is an arrowhead in some of them and a tail in others [2]_.
    A limit of the sets keeps edges that a larger set would remove.

    Knowledge: tiers draw an arrowhead at the later end of an edge, a forbidden edge a → b an arrowhead at a, and a
    required edge its tail and its arrowhead, before any rule. A pair whose edge is forbidden in both directions is not
    joined at all, not even by a hidden common cause, and a required edge is never removed. All marks follow from the
    tests and the knowledge, but the knowledge may imply further ones. If tests contradict each other, a mark that is
    drawn stays.

    Cost: the skeleton of :class:`PC`, and for each variable with m variables in its possible-d-sep set
    :math:`\binom{m}{k}` rows of tests of size k. m is often half of the variables.

    References
    ----------
    .. [1] Spirtes, P., Glymour, C. and Scheines, R. (2000). Causation, Prediction, and Search, second edition. MIT
       Press. Section 6.7.
    .. [2] Zhang, J. (2008). On the completeness of orientation rules for causal discovery in the presence of latent
       confounders and selection bias. Artificial Intelligence 172, 1873-1896. Rules R0 to R10, theorem 4.
    .. [3] Colombo, D. and Maathuis, M. H. (2014). Order-independent constraint-based causal structure learning. Journal
       of Machine Learning Research 15, 3921-3962. Sections 4 and 5.

    Examples
    --------
    >>> import numpy as np
    >>> import pandas as pd
    >>> rng = np.random.default_rng(0)
    >>> rain, sprinkler, hidden = rng.normal(size=(3, 2000))
    >>> wet = rain + sprinkler + hidden + rng.normal(size=2000)
    >>> frame = pd.DataFrame({"rain": rain, "sprinkler": sprinkler, "wet": wet})
    >>> frame["muddy"] = hidden + rng.normal(size=2000)
    >>> pag = FCI(show_progress=False).fit(frame).graph_
    >>> sorted(pag.describe_edge(u, v) for u, v in pag.edges())
    ['rain o-> wet', 'sprinkler o-> wet', 'wet <-o muddy']
    """

    _tags = {"name": "fci"}

    max_possible_d_sep: float | None

    _parameter_constraints: dict[str, Any] = {
        **HiddenCauseLearner._parameter_constraints,
        "max_possible_d_sep": [Interval(Integral, 0, None, closed="left"), Options(Real, {inf}), None],
    }

    def __init__(
        self,
        data: Any = None,
        *,
        ci_test: Any = None,
        significance_level: float = 0.01,
        max_cond_vars: float = 5,
        max_possible_d_sep: float | None = None,
        selection_bias: bool = True,
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
        self.ci_test = ci_test
        self.significance_level = significance_level
        self.max_cond_vars = max_cond_vars
        self.max_possible_d_sep = max_possible_d_sep
        self.selection_bias = selection_bias
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
        self.missing = missing
        self.na_values = na_values
        self.state_names = state_names
        self.discrete_columns = discrete_columns
        self.max_tests = max_tests
        self.max_time = max_time
        self.checkpoint = checkpoint
        self.checkpoint_every = checkpoint_every
        self.callback = callback

    def _test_further(self, tests: NamedTests, skeleton: Skeleton, knowledge: PairKnowledge, run: Run) -> None:
        limits = [self.max_cond_vars, len(tests.names)]
        if self.max_possible_d_sep is not None:
            limits.append(self.max_possible_d_sep)
        if not run.is_over():
            refine_skeleton(
                skeleton,
                tests.source,
                run,
                significance_level=self.significance_level,
                max_size=int(min(limits)),
                knowledge=knowledge,
                max_tests=self.max_tests,
            )

    def _apply_rules(
        self,
        tests: NamedTests,
        skeleton: Skeleton,
        knowledge: PairKnowledge,
        colliders: list[Triple],
        ambiguous: set[Triple],
    ) -> None:
        orient_colliders(self._graph, colliders)
        rules = PagRules(self._graph, self._find_set, ambiguous=ambiguous, selection_bias=self.selection_bias)
        rules.close()


class RFCI(HiddenCauseLearner):
    r"""Partial ancestral graph from few tests of conditional independence (really fast causal inference).

    Common causes may be hidden, and the rows may be selected. The skeleton is that of :class:`PC`. Instead of the
    tests of :class:`FCI` given possible-d-sep sets, each collider and each discriminating path is tested before it
    orients edges, and edges that fail are removed:

    .. math:: x - z - y \ \text{is a collider if}\quad z \notin S_{xy},\quad
        p(x, z \mid S_{xy}) < \alpha,\quad p(y, z \mid S_{xy}) < \alpha

    with p the p-value of a test, α the `significance_level` and S the separating set. Rules R1 to R10 then draw further
    arrowheads and tails.

    Parameters
    ----------
    data : DataFrame, array, DiscreteTable, path or iterator of frames, optional
        Data for ``estimate()``. ``fit(X)`` does not use it.
    ci_test : str, CITest, object or callable, default=None
        The test: "chi_square", "chi_square_moments" or "g_sq" (discrete), "fisher_z" or "pearsonr" (continuous),
        "mixed", "independence_match" (with `independencies` of ``fit``), a test object of :mod:`pgmx.ci_tests` or of
        pgmpy, or a function ``(X, Y, Z, significance_level=) -> bool``. The default is "chi_square" for discrete,
        "fisher_z" for continuous and "mixed" for mixed data.
    significance_level : float, default=0.01
        Level of the tests, between 0 and 1. Variables are separated by a set if the p-value is at least this level.
    max_cond_vars : int, default=5
        Size of the largest sets. May be infinite.
    selection_bias : bool, default=True
        Whether rows may have been selected by effects of the variables. If False, the rules R5 to R7 are left out, so
        that no edge is undirected.
    orient_rule : {"pvalue", "effect", "majority", "conservative"}, default=None
        Which sets decide about a collider. None: the set of the largest p-value. The others test all sets of up to
        three neighbours of x or y: the set of the largest p-value ("pvalue") or of the smallest effect ("effect") among
        them, more than half of the separating sets ("majority"), or all of them ("conservative").
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
        Direct causes that the graph must have, and direct causes that it must not have.
    tiers : list of collections, default=None
        Groups of variables from the earliest to the latest: no variable is a cause of an earlier one. If each variable
        is in a group, two variables are tested given variables that are not later than both of them.
    root_nodes : collection, default=None
        Variables that no other variable causes.
    candidate_edges : collection of (tail, head), default=None
        The only direct causes that the graph may have.
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
        Number of tests of the skeleton after which no larger sets are tested. The tests of colliders and paths that
        follow are always made, as marks that were not tested could be false. If they exceed it, `converged_` is False.
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
    graph_, causal_graph_ : pgmx.models.PAG
        The learned graph. Its edges have the attributes ``marks`` and ``p_value``.
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
    ci_test_ : str
        Name of the test.
    converged_, stopped_by_ : bool, str
        Whether all sizes were tested, and why the search ended: "converged", "max_tests", "max_time", "callback" or
        "interrupt" (Ctrl-C or an error in a callback).
    history_ : dict of ndarray
        ``"n_tests"``, ``"n_edges"`` and ``"seconds"`` after each size.
    adjacency_matrix_ : DataFrame
        Adjacency matrix of `graph_`, symmetric and without its marks, made on access.
    variables_, n_features_in_, feature_names_in_ : list, int, ndarray
        Names of the columns, and their number and names as in scikit-learn.

    Raises
    ------
    TypeError
        If the test is no test, does not apply to the data, or is a function that does not return a bool.
    ValueError
        If an option is unknown or out of range, values are missing or infinite, knowledge contradicts itself, or
        `sample_weight` are not whole numbers.

    Warns
    -----
    UserWarning
        If a column is constant (it gets no edges), or columns determine each other.
    ConvergenceWarning
        If `max_tests` ends the search, or the tests of colliders and paths exceed it.

    Notes
    -----
    With a test that never errs and no limits, all arrowheads and tails are those of the true graph [1]_. There may be
    an edge more than in the graph of :class:`FCI`, and a circle where FCI has a mark; this is rare. On samples both
    make about as many errors, since the further tests of FCI err too.

    Knowledge: tiers draw an arrowhead at the later end of an edge, a forbidden edge a → b an arrowhead at a, and a
    required edge its tail and its arrowhead, before any rule. A pair whose edge is forbidden in both directions is not
    joined at all, not even by a hidden common cause, and a required edge is never removed. All marks follow from the
    tests and the knowledge, but the knowledge may imply further ones. If tests contradict each other, a mark that is
    drawn stays.

    Cost: about that of :class:`PC`. `max_tests` and `max_time` limit the tests of the skeleton only.

    References
    ----------
    .. [1] Colombo, D., Maathuis, M. H., Kalisch, M. and Richardson, T. S. (2012). Learning high-dimensional directed
       acyclic graphs with latent and selection variables. Annals of Statistics 40, 294-321. Lemmas 3.1 and 3.2,
       algorithms 4.4 and 4.5.
    .. [2] Zhang, J. (2008). On the completeness of orientation rules for causal discovery in the presence of latent
       confounders and selection bias. Artificial Intelligence 172, 1873-1896. Rules R0 to R10.

    Examples
    --------
    >>> import numpy as np
    >>> import pandas as pd
    >>> rng = np.random.default_rng(0)
    >>> rain, sprinkler, hidden = rng.normal(size=(3, 2000))
    >>> wet = rain + sprinkler + hidden + rng.normal(size=2000)
    >>> frame = pd.DataFrame({"rain": rain, "sprinkler": sprinkler, "wet": wet})
    >>> frame["muddy"] = hidden + rng.normal(size=2000)
    >>> pag = RFCI(show_progress=False).fit(frame).graph_
    >>> sorted(pag.describe_edge(u, v) for u, v in pag.edges())
    ['rain o-> wet', 'sprinkler o-> wet', 'wet <-o muddy']
    """

    _tags = {"name": "rfci"}

    def __init__(
        self,
        data: Any = None,
        *,
        ci_test: Any = None,
        significance_level: float = 0.01,
        max_cond_vars: float = 5,
        selection_bias: bool = True,
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
        self.ci_test = ci_test
        self.significance_level = significance_level
        self.max_cond_vars = max_cond_vars
        self.selection_bias = selection_bias
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
        self.missing = missing
        self.na_values = na_values
        self.state_names = state_names
        self.discrete_columns = discrete_columns
        self.max_tests = max_tests
        self.max_time = max_time
        self.checkpoint = checkpoint
        self.checkpoint_every = checkpoint_every
        self.callback = callback

    def _apply_rules(
        self,
        tests: NamedTests,
        skeleton: Skeleton,
        knowledge: PairKnowledge,
        colliders: list[Triple],
        ambiguous: set[Triple],
    ) -> None:
        graph = self._graph
        tested = TestedOrientations(
            graph,
            tests.source,
            skeleton.evidence,
            significance_level=self.significance_level,
            required={frozenset(pair) for pair in np.argwhere(knowledge.required).tolist()},
        )
        tested.orient_colliders(colliders)
        rules = PagRules(
            graph,
            self._find_set,
            ambiguous=ambiguous,
            selection_bias=self.selection_bias,
            break_path=tested.break_path,
        )
        rules.close()
        skeleton.adjacent[:] = graph.to_adjacency()
        skeleton.n_later_tests = [tested.n_tests.get(size, 0) for size in range(max(tested.n_tests, default=-1) + 1)]

    def _exceeds_limit(self, skeleton: Skeleton) -> bool:
        limit = inf if self.max_tests is None else self.max_tests
        return sum(skeleton.n_later_tests) > 0 and sum(skeleton.count_tests()) > limit

    def _warn_of_limits(self) -> None:
        if not self._is_exceeded:
            return super()._warn_of_limits()
        warnings.warn(
            f"RFCI made {sum(self.n_tests_):,} tests, more than max_tests={self.max_tests}: the tests of colliders and "
            f"paths, {sum(self._skeleton.n_later_tests):,} here, are always made. The graph is complete",
            ConvergenceWarning,
            stacklevel=caller_level(),
        )
