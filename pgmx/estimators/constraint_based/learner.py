"""Base class of the learners that test conditional independence: options, tests, skeleton, and their results."""

import warnings
from collections.abc import Callable, Collection, Hashable, Sequence
from functools import partial
from math import inf
from numbers import Integral, Real
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from pgmpy.base import UndirectedGraph
from pgmpy.causal_discovery import ExpertKnowledge
from pgmpy.ci_tests import get_ci_test as get_pgmpys_test
from sklearn.exceptions import ConvergenceWarning

from pgmx.checks import caller_level, is_silent
from pgmx.ci_tests import IndependenceMatch
from pgmx.ci_tests.registry import find_test
from pgmx.ci_tests.sources import NamedTests, open_tests
from pgmx.data import DiscreteTable, Frame
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
from pgmx.estimators.constraint_based.candidates import warn_of_functions
from pgmx.runs.checkpoint import Checkpoint, open_checkpoint
from pgmx.runs.progress import ProgressBar, SkeletonProgress
from pgmx.runs.run import Run
from pgmx.search.constraint_based.skeleton import PairKnowledge, Skeleton, find_skeleton, read_pairs, run_level_in_order
from pgmx.search.knowledge import EdgeConstraints, read_constraints, read_knowledge


class ConstraintLearner(BaseStructureLearner):
    """Base of the learners that begin with the skeleton of PC. A subclass orients it in `_orient`."""

    _parameter_constraints: dict[str, Any] = {
        "ci_test": "no_validation",  # checked by open_tests
        "significance_level": [Interval(Real, 0, 1, closed="neither")],
        "max_cond_vars": [Interval(Integral, 0, None, closed="left"), Options(Real, {inf})],
        **dict.fromkeys(KNOWLEDGE_OPTIONS, "no_validation"),
        "enforce_expert_knowledge": ["boolean"],
        "n_jobs": [Integral, None],
        "show_progress": ["boolean"],
        "missing": [StrOptions({"error", "drop", "category", "pairwise"})],
        "na_values": NA_VALUES,
        "state_names": [dict, None],
        "discrete_columns": DISCRETE_COLUMNS,
        "max_tests": [Interval(Integral, 0, None, closed="left"), Options(Real, {inf}), None],
        "max_time": [Interval(Real, 0, None, closed="left"), None],
        "checkpoint": [str, Path, None],
        "checkpoint_every": [Interval(Real, 0, None, closed="left")],
        "callback": [callable, None],
    }

    ci_test: Any
    significance_level: float
    max_cond_vars: float
    expert_knowledge: ExpertKnowledge | None
    required_edges: Collection[Sequence[Hashable]] | None
    forbidden_edges: Collection[Sequence[Hashable]] | None
    tiers: Sequence[Collection[Hashable]] | None
    root_nodes: Collection[Hashable] | None
    candidate_edges: Collection[Sequence[Hashable]] | None
    show_progress: bool
    max_tests: float | None
    max_time: float | None
    checkpoint: str | Path | None
    checkpoint_every: float
    callback: Callable[[SkeletonProgress], object] | None

    ci_test_: str
    n_tests_: list[int]
    converged_: bool
    stopped_by_: str
    history_: dict[str, np.ndarray]

    _open_input = staticmethod(open_for_scores)
    _independencies: Any = None
    #: Whether no tests follow the tests for the skeleton.
    _ends_with_skeleton = True
    _skeleton: Skeleton
    _order: np.ndarray  # position in variables_ of each id
    _separation_level: float

    # ---- what a subclass defines ----

    def _orient(
        self, tests: NamedTests, skeleton: Skeleton, constraints: EdgeConstraints, knowledge: PairKnowledge, run: Run
    ) -> None:
        """Direct the edges and set the results. The run may have ended."""
        raise NotImplementedError

    def _takes_order(self) -> bool:
        """Return whether the skeleton depends on the order of the columns, as in the original PC."""
        return False

    # ---- learning ----

    def fit(  # type: ignore[override]  # the third argument is pgmpy's
        self, X: Any, y: object = None, independencies: Any = None, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Learn the structure from `X`.

        Parameters
        ----------
        X : DataFrame, array or DiscreteTable of shape (n_samples, n_features), path, or iterator of frames
            The data, one column per variable: a pandas, polars or Arrow table, a numpy array (columns ``x0``, ``x1``,
            ...), a distributed table, or the path of a CSV, Parquet or plane file or of a folder of Parquet files. The
            data are never changed.
        y : None
            Ignored; scikit-learn's convention. A named Series that is not a column of a frame `X` causes a warning.
        independencies : pgmpy.independencies.Independencies, optional
            Known independences, which replace tests, as in pgmpy. `X` then gives the variables only.
        sample_weight : array of shape (n_samples,), optional
            How often each row occurs: non-negative integers.

        Returns
        -------
        self
            The fitted learner.
        """
        self._independencies = independencies
        try:
            return super().fit(X, y, sample_weight)
        finally:
            del self._independencies

    def _reads_continuous(self, opened: Any) -> bool:
        from_names = self.ci_test is None or isinstance(self.ci_test, str)
        return super()._reads_continuous(opened) and from_names and self._independencies is None

    def _fit(self, opened: Any, sample_weight: ArrayLike | None) -> Run:
        with ProgressBar(
            self.show_progress and config.SHOW_PROGRESS,
            self.callback,
            type(self).__name__,
            unit="levels",
            figure="n_tests",
        ) as bar:
            run = Run(SkeletonProgress, max_time=self.max_time, callback=bar.callback, start=self._start)
            bar.follow(run)
            with run.limit_runs():
                self._check_options()
                tests = self._open_tests(opened, sample_weight)
                options = {option: getattr(self, option) for option in KNOWLEDGE_OPTIONS}
                constraints = read_constraints(tests.names, **options)
                knowledge = read_pairs(constraints, self._read_tiers(tests.names, options))
                if self.checkpoint is not None:
                    run.checkpoint = self._open_checkpoint(tests, constraints, knowledge)
                names = list(opened.names)
                places = {name: i for i, name in enumerate(names)}
                self._order = np.array([places[name] for name in tests.names], dtype=np.int64)
                in_order = partial(run_level_in_order, tests.source, np.argsort(self._order))
                skeleton = find_skeleton(
                    tests.source,
                    run,
                    significance_level=self.significance_level,
                    max_size=int(min(self.max_cond_vars, len(names))),
                    knowledge=knowledge,
                    max_tests=self.max_tests,
                    run_level=in_order() if self._takes_order() else None,
                    ends_run=self._ends_with_skeleton,
                )
                warn_of_functions(tests, skeleton.adjacent)
                _warn_of_few_rows(tests, skeleton, knowledge)
                self._results = {}
                self._names, self.ci_test_ = names, tests.label
                self._skeleton, self._separation_level = skeleton, self.significance_level
                self._orient(tests, skeleton, constraints, knowledge, run)
        self.n_tests_ = skeleton.count_tests()
        self.stopped_by_ = run.stopped_by
        self.converged_ = run.stopped_by == "converged"
        self.history_ = run.history
        self._warn_of_limits()
        return run

    def _check_options(self) -> None:
        """Raise an error for options that depend on each other."""

    def _open_tests(self, opened: Any, sample_weight: ArrayLike | None) -> NamedTests:
        test = self.ci_test
        if self._independencies is not None:
            if not hasattr(self._independencies, "get_assertions"):
                raise TypeError(
                    "independencies must be an Independencies object of pgmpy.independencies, got "
                    f"{self._independencies!r}"
                )
            test = IndependenceMatch(self._independencies)
        elif isinstance(test, str) and test.lower() == "independence_match":
            raise ValueError("ci_test='independence_match' needs independencies: fit(X, independencies=...)")
        elif isinstance(test, str):
            test = _find_test(test, opened)
        return open_tests(
            opened,
            test,
            state_names=self.state_names,
            missing=self.missing,
            sample_weight=sample_weight,
            significance_level=self.significance_level,
            n_jobs=self.n_jobs,
        )

    def _read_tiers(self, names: Sequence, options: dict[str, Any]) -> np.ndarray | None:
        """Return the tier of each id; None if some have none, since these may be later or earlier than any other."""
        statements = read_knowledge(names, **options).tiers
        whole = [tiers for _, tiers in statements if (tiers >= 0).all()]
        return whole[0] if whole else None

    def _open_checkpoint(self, tests: NamedTests, constraints: EdgeConstraints, knowledge: PairKnowledge) -> Checkpoint:
        table: Any = tests.table
        is_coded = isinstance(table, DiscreteTable)
        rows = table.identify_rows() if is_coded else getattr(tests.source, "correlation", None)
        facts = (tests.names, tests.n_rows, rows, constraints.required, constraints.allowed, knowledge.tiers)
        return open_checkpoint(self, *facts, **dict.fromkeys(KNOWLEDGE_OPTIONS), ci_test=tests.label)

    def _warn_of_limits(self) -> None:
        """Warn if the tests have ended before the last level."""
        level = len(self.n_tests_) - 1
        if self.stopped_by_ == "max_tests":
            warnings.warn(
                f"max_tests={self.max_tests} ended {type(self).__name__} after the tests "
                f"{_describe_sets(level)} ({sum(self.n_tests_):,} tests): larger sets would remove further edges. Give "
                "a larger max_tests",
                ConvergenceWarning,
                stacklevel=caller_level(),
            )
        elif self.stopped_by_ == "max_time" and level < 1:
            self._warn_of_time("pairs that were not tested are adjacent")

    # ---- results ----

    @property
    def skeleton_(self) -> UndirectedGraph:
        """The adjacencies, without directions."""
        return self._make_once("skeleton", self._make_skeleton)

    def _make_skeleton(self) -> UndirectedGraph:
        graph = UndirectedGraph()
        graph.add_nodes_from(self._names)
        graph.add_edges_from((self._names[u], self._names[v]) for u, v in self._list_pairs(self._skeleton.adjacent))
        return graph

    def _list_pairs(self, mask: np.ndarray) -> list[tuple[int, int]]:
        """Return the pairs of a symmetric matrix by ids, as sorted pairs of positions."""
        pairs = np.sort(self._order[np.argwhere(np.triu(mask, 1))], axis=1)
        return sorted((u, v) for u, v in pairs.tolist())

    @property
    def separating_sets_(self) -> dict[frozenset, tuple]:
        """The set with the largest p-value of each pair that tests have separated."""
        return self._make_once("separating_sets", self._make_sets)

    def _make_sets(self) -> dict[frozenset, tuple]:
        evidence, names = self._skeleton.evidence, [self._names[v] for v in self._order.tolist()]
        separated = (evidence.p_values >= self._separation_level) & ~self._skeleton.adjacent
        return {
            frozenset((names[x], names[y])): tuple(names[v] for v in evidence.get_set(x, y))
            for x, y in np.argwhere(np.triu(separated, 1)).tolist()
        }

    @property
    def edge_p_values_(self) -> dict[frozenset, float]:
        """The largest p-value of all tests of each adjacent pair."""
        return self._make_once("edge_p_values", self._make_p_values)

    def _make_p_values(self) -> dict[frozenset, float]:
        evidence, names = self._skeleton.evidence, [self._names[v] for v in self._order.tolist()]
        pairs = np.argwhere(np.triu(self._skeleton.adjacent, 1)).tolist()
        return {frozenset((names[x], names[y])): evidence.get_p_value(x, y) for x, y in pairs}


def _describe_sets(size: int) -> str:
    if size == 0:
        return "of pairs given no other variable"
    return f"given {size} variable{'s' * (size > 1)}"


def _find_test(name: str, opened: Any) -> Any:
    """Return the name of a test, or pgmpy's test object if only pgmpy has a test of this name."""
    try:
        return find_test(name).name
    except ValueError:
        if not isinstance(opened, Frame):
            raise
        try:
            return get_pgmpys_test(name, opened.to_pandas())
        except ValueError:
            pass  # the first error lists the names
        raise


def check_effect_sizes(tests: NamedTests) -> None:
    """Raise an error if the test of `orient_rule="effect"` has no effect sizes; one variable has no test."""
    if len(tests.names) > 1 and np.isnan(tests.source.test_row(0, [1], ()).effect_size).any():
        raise ValueError(f"orient_rule='effect' needs effect sizes, which {tests.label} does not have: use 'pvalue'")


def _warn_of_few_rows(tests: NamedTests, skeleton: Skeleton, knowledge: PairKnowledge) -> None:
    """Warn if there are too few rows for any test, so that all pairs stay adjacent."""
    n_tests = skeleton.n_tests
    if n_tests and not sum(n_tests) and (skeleton.adjacent & ~knowledge.required).any() and not is_silent():
        warnings.warn(
            f"{tests.n_rows} rows are too few for a test by {tests.label}, so all pairs that may be adjacent stay "
            "adjacent: give more rows",
            stacklevel=caller_level(),
        )
