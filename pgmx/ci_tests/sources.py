"""From `ci_test`, the name of a test, a test object or a function, to tests of the variables of the data by ids."""

import warnings
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from pgmx.checks import caller_level, check_same_names, is_silent, join_names
from pgmx.ci_tests.base import CITest, order_names, refuse_class
from pgmx.ci_tests.continuous import open_numbers
from pgmx.ci_tests.discrete import read_states
from pgmx.ci_tests.mixed import read_mixed_rows
from pgmx.ci_tests.registry import find_test, name_default
from pgmx.data import DiscreteTable, NumericTable
from pgmx.data.errors import MissingValuesError
from pgmx.data.mixed import MixedTable
from pgmx.data.numeric import TextColumnsError
from pgmx.data.weights import check_row_weights, to_repetitions, weights_of_complete_rows
from pgmx.statistics.collinearity import find_collinearity
from pgmx.statistics.independence.discrete import DiscreteTests, split_marginals
from pgmx.statistics.independence.mixed import MixedTests
from pgmx.statistics.independence.partial_correlation import PartialCorrelationTests
from pgmx.statistics.independence.source import IdArray, IndependenceSource, TestRow
from pgmx.statistics.symmetric import list_blocks

#: The kind of statistic of each name of a test of discrete variables.
_KINDS = {"chi_square": "pearson", "chi_square_moments": "moments", "g_sq": "g_square"}

#: Most columns among which combinations are looked for, in p³ / 3 multiplications.
_MOST_COMBINED = 1_000

#: The statistic of each name of a test of continuous variables.
_STATISTICS: dict[str, Literal["z", "t"]] = {"fisher_z": "z", "pearsonr": "t"}


class NamedTests(NamedTuple):
    """Tests of variables by ids: `names` in the order of the ids, which is alphabetical.

    `label` names the test, and `has_p_values` is False for a function that only says whether variables are independent.
    `table` has the rows of a test by name.
    """

    names: tuple
    source: IndependenceSource
    label: str
    has_p_values: bool
    n_rows: int
    table: DiscreteTable | NumericTable | MixedTable | None = None


def open_tests(
    data: Any,
    ci_test: Any = None,
    *,
    state_names: Mapping[Hashable, Sequence] | None = None,
    missing: str = "error",
    sample_weight: ArrayLike | None = None,
    significance_level: float = 0.05,
    n_jobs: int | None = None,
) -> NamedTests:
    """Return the tests that `ci_test` means for `data`, a table that `pgmx.data.open_for_scores` returns.

    None means the default for the kind of the data. `significance_level` is what a function is asked with. Row i counts
    as ``sample_weight[i]`` rows. Constant and deterministic columns cause a warning.
    """
    weights = None if sample_weight is None else check_row_weights(sample_weight, data.n_rows)
    if isinstance(ci_test, CITest):
        return _open_instance(ci_test, data, weights, n_jobs)
    if not (ci_test is None or isinstance(ci_test, str)):
        return _open_function(ci_test, data, weights, significance_level)
    name = name_default_test(data) if ci_test is None else find_test(ci_test).name
    if weights is not None and missing == "drop":
        weights = weights_of_complete_rows(weights, data)
    repetitions = None if weights is None else _repeat(weights)
    if name in _STATISTICS:
        options: dict[str, Any] = {"missing": missing, "weights": repetitions, "n_jobs": n_jobs}
        with _name_choices(name):
            numbers = open_numbers(data, _STATISTICS[name], **options)
        warn_of_constant(numbers.constant)
        n_rows = int(data.n_rows if repetitions is None else repetitions.sum())
        if isinstance(numbers.source, PartialCorrelationTests):
            n_rows = int(numbers.source.n_rows)
            _warn_of_equal(numbers.source.correlation, numbers.names)
            _warn_of_combination(numbers.source.correlation, numbers.names, n_rows)
        return NamedTests(tuple(numbers.names), numbers.source, name, True, n_rows, numbers.table)
    if name == "mixed":
        with _name_choices(name):
            mixed = read_mixed_rows(data, state_names=state_names, missing=missing, repetitions=repetitions)
        warn_of_constant(_list_constant_columns(mixed))
        _warn_of_mixed(mixed)
        order = order_names(mixed.columns)
        source: IndependenceSource = MixedTests(mixed, kind="moments", order=order, n_jobs=n_jobs)
        return NamedTests(tuple(mixed.columns[v] for v in order), source, name, True, mixed.n_rows, mixed)
    table = read_states(data, name, state_names=state_names, missing=missing, n_jobs=n_jobs)
    if repetitions is not None:
        table = table.repeat_rows(repetitions)
    order = order_names(table.columns)
    tests = DiscreteTests(table, _KINDS[name], order=order, n_jobs=n_jobs)
    warn_of_constant(_list_constant(table, tests.marginals))
    return NamedTests(tuple(table.columns[v] for v in order), tests, name, True, table.n_rows, table)


@contextmanager
def _name_choices(name: str) -> Iterator[None]:
    """Let an error about missing values or text in continuous columns name what tests can do."""
    try:
        yield
    except MissingValuesError as error:
        raise error.for_tests(("drop", "pairwise")) from None
    except TextColumnsError as error:
        raise TextColumnsError(
            f"{error}. The test {name!r} is of continuous variables; 'chi_square' and 'g_square' are tests of states"
        ) from None


def name_default_test(data: Any) -> str:
    """Return the name of the default test for opened data."""
    n_continuous = data.n_columns if isinstance(data, NumericTable) else len(data.float_columns)
    return name_default(n_continuous, data.n_columns)


def _list_constant(table: DiscreteTable, marginals: Sequence[np.ndarray]) -> list:
    """Return the names of the columns of which one state occurs."""
    return [
        name
        for name, counts, missing in zip(table.columns, marginals, table.missing_codes.tolist(), strict=True)
        if np.count_nonzero(counts if missing < 0 else counts[:missing]) < 2
    ]


def _list_constant_columns(mixed: MixedTable) -> list:
    """Return the names of the columns with one value."""
    floats = zip(mixed.continuous_columns, mixed.numbers, strict=True)
    constant = [name for name, row in floats if np.nanmax(row) == np.nanmin(row)]
    return constant if mixed.table is None else constant + _list_constant(mixed.table, split_marginals(mixed.table))


def _warn_of_mixed(mixed: MixedTable) -> None:
    """Warn of continuous columns that determine each other, in the rows that are complete in all of them."""
    order = order_names(mixed.continuous_columns)
    rows = mixed.numbers[order][:, ~np.isnan(mixed.numbers).any(axis=0)]
    if len(rows) < 2 or rows.shape[1] < 2 or is_silent():
        return
    rows = rows - rows.mean(axis=1, keepdims=True)
    lengths = np.sqrt(np.square(rows).sum(axis=1))
    varies = np.flatnonzero(lengths > 0)
    rows = rows[varies] / lengths[varies, None]
    names = [mixed.continuous_columns[v] for v in order[varies].tolist()]
    correlation = rows @ rows.T
    _warn_of_equal(correlation, names)
    _warn_of_combination(correlation, names, rows.shape[1])


def _warn_of_equal(correlation: np.ndarray, names: list) -> None:
    """Warn of pairs of columns with the correlation 1 or -1."""
    found = []
    for rows in list_blocks(len(correlation)):
        i, j = np.nonzero(np.square(correlation[rows]) > 1.0 - 1e-10)
        found += [pair for pair in zip((i + rows.start).tolist(), j.tolist(), strict=True) if pair[0] < pair[1]]
    if found and not is_silent():
        pairs = [(names[i], names[j]) for i, j in found]
        warnings.warn(
            f"pairs of columns with the correlation 1 or -1: {join_names(pairs)}. Given one of a pair, the other is "
            "constant, so that tests cannot see its other edges, and true edges are lost. Leave out one column of each "
            "pair",
            stacklevel=caller_level(),
        )


def _warn_of_combination(correlation: np.ndarray, names: list, n_rows: int) -> None:
    """Warn of a smallest set of three or more columns that determine each other linearly."""
    if len(correlation) > _MOST_COMBINED or is_silent():
        return
    found = find_collinearity(correlation, n_rows)
    if found is not None:
        warnings.warn(
            f"columns that determine each other linearly: {join_names([names[v] for v in found.smallest])}. Given all "
            "but two of them, these two have the correlation 1 or -1, so that tests cannot see their other edges, and "
            "true edges are lost. Leave out one of them",
            stacklevel=caller_level(),
        )


def warn_of_constant(constant: list) -> None:
    """Warn of constant columns by their names."""
    if constant and not is_silent():
        warnings.warn(
            f"column(s) {join_names(constant)} are constant: a test finds them independent of all others, and they get "
            "no edges",
            stacklevel=caller_level(),
        )


def _repeat(weights: np.ndarray) -> np.ndarray:
    repetitions = to_repetitions(weights)
    if repetitions is None:
        raise ValueError(
            "sample_weight must be integers: a test counts independent rows, and a weight is the number of times "
            "that a row occurs"
        )
    return repetitions


# ---- objects and functions ----


def _open_instance(test: CITest, data: Any, weights: np.ndarray | None, n_jobs: int | None) -> NamedTests:
    if weights is not None:
        raise ValueError(
            "sample_weight is supported for a test by name ('chi_square', ...), not for an instance of "
            f"{type(test).__name__}, which is bound to its rows"
        )
    names = list(data.names)
    check_same_names(test.variables, names, "the test", "the data", "columns", "Make the test from this data")
    source = test._make_source(test._order, n_jobs)
    ordered = tuple(test.variables[v] for v in test._order.tolist())
    return NamedTests(ordered, source, type(test).__name__, True, data.n_rows)


def _open_function(function: Any, data: Any, weights: np.ndarray | None, level: float) -> NamedTests:
    if not callable(function):
        raise TypeError(
            "ci_test must be the name of a test, a test object, or a function (X, Y, Z, significance_level=) -> bool, "
            f"got {function!r}"
        )
    refuse_class(function)
    if weights is not None:
        raise ValueError("sample_weight is supported for a test by name ('chi_square', ...), not for a function")
    names = tuple(data.names[v] for v in order_names(data.names))
    has_p_values = callable(getattr(function, "run_test", None))
    label = getattr(function, "__name__", type(function).__name__)
    return NamedTests(names, FunctionTests(function, names, level), label, has_p_values, data.n_rows)


class FunctionTests(IndependenceSource):
    """Answers of a function, or of a test object of another library; variable i has the name ``names[i]``.

    A function ``(X, Y, Z, significance_level=)`` returns a bool; the p-value is then 1 or 0. The method `run_test` of
    an object gives p-values; NaN counts as 0, as in pgmpy.
    """

    def __init__(self, function: Callable[..., Any], names: Sequence[Hashable], significance_level: float):
        self.function, self.names, self.significance_level = function, names, significance_level
        self.n_variables = len(names)

    def test_row(self, x: int, ys: Sequence[int] | IdArray, z: Sequence[int]) -> TestRow:
        """Ask about x and each of `ys` given the set `z`."""
        given = tuple(self.names[v] for v in z)
        pairs = [(min(x, int(y)), max(x, int(y))) for y in ys]
        answers = np.array([self._ask(self.names[a], self.names[b], given) for a, b in pairs]).reshape(-1, 3)
        return TestRow(answers[:, 0], np.full(len(answers), np.nan), answers[:, 1], answers[:, 2])

    def _ask(self, X: Hashable, Y: Hashable, Z: tuple) -> tuple[float, float, float]:
        """Return the statistic, the p-value and the effect size, NaN if there is no statistic or effect size."""
        test: Any = self.function
        if hasattr(test, "run_test"):
            statistic, p_value = test.run_test(X, Y, Z)
            values = statistic, p_value, getattr(test, "effect_size_", None)
            statistic, p_value, effect = (np.nan if value is None else float(value) for value in values)
            return statistic, 0.0 if np.isnan(p_value) else p_value, effect
        answer = self.function(X, Y, Z, significance_level=self.significance_level)
        if not isinstance(answer, bool | np.bool_):
            label = getattr(self.function, "__name__", repr(self.function))
            raise TypeError(f"the test {label} must return True or False, got {answer!r}")
        return np.nan, float(answer), np.nan
