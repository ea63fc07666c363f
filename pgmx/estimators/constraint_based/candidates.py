"""The pairs of variables that tests of conditional independence leave as candidates of a search."""

import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from math import inf
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from pgmx.checks import caller_level, is_silent, join_names
from pgmx.ci_tests.sources import NamedTests, name_default_test, open_tests
from pgmx.data import DiscreteTable, Frame, NumericTable
from pgmx.data.errors import ChoiceError, StatesChoiceError
from pgmx.data.mixed import MixedTable
from pgmx.data.weights import check_row_weights, weights_of_complete_rows
from pgmx.estimators.base import config
from pgmx.estimators.bayesian.dag_learner import KNOWLEDGE_OPTIONS
from pgmx.runs.progress import ProgressBar, SkeletonProgress
from pgmx.runs.run import Run, StartTime
from pgmx.search.constraint_based.blankets import BlanketSearch
from pgmx.search.constraint_based.skeleton import PairKnowledge, find_skeleton, read_pairs
from pgmx.search.knowledge import read_constraints, read_knowledge

#: Rows on which columns are compared before all rows are.
_FIRST_ROWS = 256


class Candidates(NamedTuple):
    """Pairs by ids, a symmetric matrix, with the names in the order of the ids, and the number of tests."""

    names: tuple
    adjacent: np.ndarray
    n_tests: int

    def place(self, names: Sequence) -> np.ndarray:
        """Return the matrix in the order of `names`."""
        places = {name: i for i, name in enumerate(self.names)}
        order = np.array([places[name] for name in names], dtype=np.int64)
        return self.adjacent[np.ix_(order, order)]


@contextmanager
def name_hybrid_choices(opened: Any = None) -> Iterator[None]:
    """Let errors about missing values name what both tests and scores can do, with `opened` for its columns."""
    try:
        yield
    except ChoiceError as error:
        choices = ("drop",) if opened is not None and _list_continuous(opened) else ("drop", "category", "pairwise")
        raise error.among(choices, marks=False) from None


def _list_continuous(opened: Any) -> list:
    return list(opened.names) if isinstance(opened, NumericTable) else list(opened.float_columns)


def check_hybrid_choice(opened: Any, missing: str) -> None:
    """Refuse the values of `missing` that a score of continuous variables cannot have, before any test."""
    if missing in ("category", "pairwise") and (names := _list_continuous(opened)):
        raise StatesChoiceError(names, missing)


def drop_rows_once(opened: Any, missing: str, sample_weight: ArrayLike | None) -> tuple[Any, ArrayLike | None]:
    """Return the rows, and their weights, that tests and search both use; one warning has the number of the others."""
    if missing != "drop" or not isinstance(opened, Frame) or not opened.missing_columns():
        return opened, sample_weight
    weights = None if sample_weight is None else check_row_weights(sample_weight, opened.n_rows)
    return opened.enough_complete_rows(), None if weights is None else weights_of_complete_rows(weights, opened)


@contextmanager
def run_tests(title: str, method: str, search: Any, start: StartTime | None) -> Iterator[Run]:
    """Enter a run of tests with the limit of time of a search, and with a bar if the search shows its progress."""
    show = search.show_progress and config.SHOW_PROGRESS
    unit = "levels" if method == "pc" else "variables"
    with ProgressBar(show, None, f"{title}, tests", unit=unit, figure="n_tests") as bar:
        run = Run(SkeletonProgress, max_time=search.max_time, callback=bar.callback, start=start)
        bar.follow(run)
        yield run


def open_learner_tests(
    learner: Any, opened: Any, sample_weight: ArrayLike | None, method: str, ci_test: Any, significance_level: float
) -> NamedTests:
    """Return the tests of an opened table, with the options of a learner for reading it.

    The default for discrete data, except for PC, is the test with exact moments: the sets of the other methods have
    many sparse strata, in which the asymptotic test rejects too often.
    """
    if ci_test is None and method != "pc" and name_default_test(opened) == "chi_square":
        ci_test = "chi_square_moments"
    names = ("state_names", "missing", "n_jobs")
    options = {name: getattr(learner, name) for name in names}
    return open_tests(opened, ci_test, sample_weight=sample_weight, significance_level=significance_level, **options)


def read_pair_knowledge(learner: Any, names: Sequence) -> PairKnowledge:
    """Return what the options of a learner say about pairs, by ids in the order of `names`."""
    options = {option: getattr(learner, option) for option in KNOWLEDGE_OPTIONS}
    tiers = [of for _, of in read_knowledge(names, **options).tiers if (of >= 0).all()]
    return read_pairs(read_constraints(names, **options), tiers[0] if tiers else None)


def find_candidates(
    tests: NamedTests,
    method: str,
    run: Run,
    *,
    knowledge: PairKnowledge,
    significance_level: float,
    max_cond_vars: float,
) -> Candidates:
    """Return the adjacent pairs of PC, or the pairs in each other's sets under another method.

    A limit that ends the run leaves further pairs (PC) or fewer (other methods).
    """
    max_size = int(min(max_cond_vars, len(tests.names)))
    if method == "pc":
        options: dict[str, Any] = {"significance_level": significance_level, "max_size": max_size}
        skeleton = find_skeleton(tests.source, run, knowledge=knowledge, **options)
        warn_of_functions(tests, skeleton.adjacent)
        return Candidates(tests.names, skeleton.adjacent, sum(skeleton.n_tests))
    search = make_blanket_search(
        tests, method, run, knowledge=knowledge, significance_level=significance_level, max_size=max_size
    )
    pairs = search.find_pairs(lambda n_members: run.record(n_tests=search.n_tests, n_edges=n_members))
    warn_of_functions(tests, pairs)
    return Candidates(tests.names, pairs | knowledge.required, search.n_tests)


def make_blanket_search(
    tests: NamedTests, method: str, run: Run, *, knowledge: PairKnowledge, significance_level: float, max_size: int
) -> BlanketSearch:
    """Return a search for blankets that ends with the run."""
    table = tests.table
    cells = None
    if isinstance(table, DiscreteTable):
        places = {name: v for v, name in enumerate(table.columns)}
        cells = table.cardinalities[[places[name] for name in tests.names]]
    return BlanketSearch(
        tests.source,
        method,
        significance_level=significance_level,
        knowledge=knowledge,
        max_size=max_size,
        n_rows=tests.n_rows if table is not None else inf,
        cells=cells,
        should_stop=run.is_over,
    )


# ---- columns that determine others ----


def warn_of_functions(tests: NamedTests, adjacent: np.ndarray) -> None:
    """Warn of discrete variables that are functions of an adjacent variable."""
    table = tests.table.table if isinstance(tests.table, MixedTable) else tests.table
    if not isinstance(table, DiscreteTable) or table.is_remote or is_silent():
        return
    places = {name: v for v, name in enumerate(table.columns)}
    codes = {v: table.codes[places[name]] for v, name in enumerate(tests.names) if name in places}
    pairs = []
    is_discrete = np.isin(np.arange(len(tests.names)), list(codes))
    for x, y in np.argwhere(np.triu(adjacent & is_discrete & is_discrete[:, None], 1)).tolist():
        if all(_is_function(codes[x][:n_rows], codes[y][:n_rows]) for n_rows in (_FIRST_ROWS, table.n_rows)):
            pairs.append((tests.names[x], tests.names[y]))
    if pairs:
        warnings.warn(
            f"pairs of columns of which one is a function of the other: {join_names(pairs)}. Given the other, it is "
            "constant, so that tests cannot see its other edges, and true edges are lost. Leave out one column of each "
            "pair",
            stacklevel=caller_level(),
        )


def _is_function(x: np.ndarray, y: np.ndarray) -> bool:
    """Return whether one of two coded columns determines the other, and neither is constant."""
    n_x, n_y = len(np.unique(x)), len(np.unique(y))
    n_pairs = len(np.unique(x.astype(np.int64) << 32 | y))
    return min(n_x, n_y) > 1 and n_pairs == max(n_x, n_y)
