"""The base class of tests of conditional independence, with the interface of pgmpy's tests."""

from abc import ABC, abstractmethod
from collections.abc import Hashable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from pgmx.checks import is_number, join_names
from pgmx.data.errors import MissingValuesError
from pgmx.statistics.independence.source import IndependenceSource, TestRow


def check_level(significance_level: object) -> float:
    """Return a significance level; TypeError or ValueError unless it is a number between 0 and 1."""
    if isinstance(significance_level, str | bool) or not hasattr(significance_level, "__float__"):
        raise TypeError(f"significance_level must be a number between 0 and 1, got {significance_level!r}")
    if not is_number(significance_level) or not 0 < float(significance_level) < 1:
        raise ValueError(f"significance_level must be above 0 and below 1, got {significance_level!r}")
    return float(significance_level)


def refuse_class(test: object) -> None:
    """Raise a TypeError for a class, which a user gives in place of an object of it."""
    if isinstance(test, type):
        name = test.__name__
        raise TypeError(f"the test is the class {name}: give an object that is bound to the data, {name}(data)")


def order_names(names: Sequence[Hashable]) -> np.ndarray:
    """Return the positions of names in alphabetical order, in which tests number their variables."""
    return np.array(sorted(range(len(names)), key=lambda v: (str(names[v]), type(names[v]).__name__)), dtype=np.int64)


@contextmanager
def spell_missing(option: str) -> Iterator[None]:
    """Let an error about missing values say how the data of a test are given without them."""
    try:
        yield
    except MissingValuesError as error:
        raise error.for_tests(error.choices).with_option(option) from None


class CITest(ABC):
    """Base of the tests whether X and Y are independent given Z.

    A test is an object that is bound to data: ``test(X, Y, Z, significance_level=0.05)`` returns whether X and Y are
    taken to be independent, and :meth:`run_test` returns the statistic and the p-value, as pgmpy's tests do.

    Parameters
    ----------
    data : DataFrame, array or table
        One column per variable. The data are never changed.

    Attributes
    ----------
    variables : list
        Names of the columns.
    statistic_ : float
        Statistic of the last test.
    p_value_ : float
        Its p-value.
    dof_ : float
        Its degrees of freedom.
    effect_size_ : float
        Its effect size.

    Notes
    -----
    A test of X and Y equals the test of Y and X to the last bit. An object serves one thread at a time.
    """

    variables: list
    statistic_: float
    p_value_: float
    dof_: float
    effect_size_: float

    def __init__(self, data: Any):
        self.data = data

    def __repr__(self) -> str:
        shown = [f"data of {len(self.variables)} variables", *self._list_options()]
        return f"{type(self).__name__}({', '.join(shown)})"

    def _list_options(self) -> list[str]:
        """Return the options that differ from their defaults, as in a call."""
        return []

    @abstractmethod
    def _make_source(self, order: np.ndarray, n_jobs: int | None) -> IndependenceSource:
        """Return the tests by ids: variable ``order[i]`` has the id i, see `order_names`."""

    @cached_property
    def _order(self) -> np.ndarray:
        return order_names(self.variables)

    @cached_property
    def _source(self) -> IndependenceSource:
        return self._make_source(self._order, None)

    @cached_property
    def _ids(self) -> dict[Hashable, int]:
        return {self.variables[v]: i for i, v in enumerate(self._order.tolist())}

    def __call__(self, X: Hashable, Y: Hashable, Z: Iterable[Hashable] = (), significance_level: float = 0.05) -> bool:
        """Return whether X and Y are taken to be independent given Z."""
        return self.is_independent(X, Y, Z, significance_level)

    def is_independent(
        self, X: Hashable, Y: Hashable, Z: Iterable[Hashable] = (), significance_level: float = 0.05
    ) -> bool:
        """Return whether X and Y are taken to be independent given Z.

        Parameters
        ----------
        X, Y : hashable
            Two variables.
        Z : list or tuple of hashable, default=()
            Further variables.
        significance_level : float, default=0.05
            Between 0 and 1.

        Returns
        -------
        bool
            Whether the p-value is at least `significance_level`.

        Raises
        ------
        TypeError
            If `significance_level` is not a number, or `Z` is a string.
        ValueError
            If a name is unknown or occurs twice, or `significance_level` is not between 0 and 1.
        """
        level = check_level(significance_level)
        return self.run_test(X, Y, Z)[1] >= level

    def run_test(self, X: Hashable, Y: Hashable, Z: Iterable[Hashable] = ()) -> tuple[float, float]:
        """Test whether X and Y are independent given Z.

        Parameters
        ----------
        X, Y : hashable
            Two variables.
        Z : list or tuple of hashable, default=()
            Further variables.

        Returns
        -------
        statistic : float
            The statistic; also `statistic_`.
        p_value : float
            Its p-value; also `p_value_`. NaN if the data cannot answer, for example because there are too few rows.

        Raises
        ------
        TypeError
            If `Z` is a string.
        ValueError
            If a name is unknown or occurs twice.
        """
        x, (y,), z = self._find_ids(X, [Y], Z)
        row = self._test(min(x, y), [max(x, y)], z)
        self.statistic_, self.p_value_ = float(row.statistic[0]), float(row.p_value[0])
        dof = float(row.dof[0])
        self.dof_ = int(dof) if dof.is_integer() else dof
        self.effect_size_ = float(row.effect_size[0])
        return self.statistic_, self.p_value_

    def test_many(self, X: Hashable, Ys: Iterable[Hashable], Z: Iterable[Hashable] = ()) -> pd.DataFrame:
        """Test X with each of several variables given Z, in one pass over the data.

        Parameters
        ----------
        X : hashable
            A variable.
        Ys : list of hashable
            The other variables.
        Z : list or tuple of hashable, default=()
            Further variables.

        Returns
        -------
        DataFrame of shape (len(Ys), 4)
            The columns statistic, p_value, dof and effect_size; the index has the names of `Ys`.

        Raises
        ------
        TypeError
            If `Ys` or `Z` is a string.
        ValueError
            If a name is unknown or occurs twice.
        """
        names = _list_names(Ys, "Ys")
        x, ys, z = self._find_ids(X, names, Z)
        row = self._test(x, ys, z)
        columns = {name: getattr(row, name) for name in ("statistic", "p_value", "dof", "effect_size")}
        index = pd.Index(np.fromiter(names, dtype=object, count=len(names)), dtype=object, tupleize_cols=False)
        return pd.DataFrame(columns, index=index)

    def _test(self, x: int, ys: list[int], z: list[int]) -> TestRow:
        return self._source.test_row(x, np.array(ys, dtype=np.intp), z)

    def _find_ids(self, X: Hashable, Ys: Iterable[Hashable], Z: Iterable[Hashable]) -> tuple[int, list[int], list[int]]:
        names = _list_names(Z, "Z")
        for Y in (Ys := list(Ys)):
            if X == Y:
                raise ValueError(f"X and Y must be different variables, got {X!r} twice")
        among = [name for name in (X, *Ys) if name in names]
        if among:
            raise ValueError(f"X and Y must not be in Z, but {join_names(among)} is: remove it from Z")
        for what, listed in (("Z", names), ("Ys", Ys)):
            if len(set(listed)) < len(listed):
                raise ValueError(f"{what} holds a variable twice: {join_names(listed)}")
        return self._find_id(X), [self._find_id(name) for name in Ys], sorted(self._find_id(name) for name in names)

    def _find_id(self, name: Hashable) -> int:
        try:
            return self._ids[name]
        except (KeyError, TypeError):
            raise ValueError(
                f"{name!r} is not a variable of the data; the columns are {join_names(self.variables)}"
            ) from None

    def __getstate__(self) -> dict[str, Any]:
        # compiled sources cannot be pickled; the copy makes a new one at its first test
        return {name: value for name, value in self.__dict__.items() if name != "_source"}


def _list_names(names: Iterable[Hashable], what: str) -> list[Hashable]:
    if isinstance(names, str | bytes) or not hasattr(names, "__iter__"):
        raise TypeError(f"{what} must be a list or tuple of variables, got {names!r}")
    return list(names)
