"""A test object by its name, or for the kind of the data."""

from collections.abc import Callable, Hashable, Iterable
from importlib import import_module
from typing import Any

from pgmpy.independencies import IndependenceAssertion, Independencies

from pgmx.ci_tests.base import CITest, check_level, refuse_class
from pgmx.ci_tests.registry import TESTS, find_test, name_default
from pgmx.data import open_any


def get_ci_test(test: Any = None, data: Any = None) -> Any:
    """Return the test object that a name means, or the default for the kind of the data.

    Parameters
    ----------
    test : str, CITest, function or None, default=None
        The name of a test, in any case: "chi_square", "chi_square_moments", "g_sq", "pearsonr", "fisher_z", "mixed" or
        "independence_match". A test object or a function is returned as it is. None means the default for the data:
        "chi_square" for discrete, "fisher_z" for continuous, "mixed" for mixed data.
    data : DataFrame, array or table, optional
        The data; not needed for a test object, a function, or "independence_match".

    Returns
    -------
    CITest or function
        The test.

    Raises
    ------
    TypeError
        If `test` is a class.
    ValueError
        If the name is unknown, data are needed but missing, or `test` is none of these.

    Examples
    --------
    >>> import pandas as pd
    >>> from pgmx.ci_tests import get_ci_test
    >>> type(get_ci_test("G_sq", pd.DataFrame({"a": [0, 1], "b": [1, 0]}))).__name__
    'GSquare'
    """
    if isinstance(test, str) and test.lower() == "independence_match":
        return IndependenceMatch()
    if isinstance(test, str):
        name = find_test(test).name
    elif test is None:
        name = ""
    elif callable(test):
        refuse_class(test)
        return test
    else:
        raise ValueError(f"test must be a name, a test object or a function, got {test!r}")
    if data is None:
        raise ValueError("a test by name, or for the kind of the data, needs data: give the table as data")
    if not name:
        data = open_any(data)
        name = name_default(len(data.float_columns), data.n_columns)
    entry = next(entry for entry in TESTS if entry.name == name)
    make: Callable[..., CITest] = getattr(import_module(entry.module), entry.class_name)
    return make(data, calibration="moments") if name == "chi_square_moments" else make(data)


class IndependenceMatch:
    """Test that looks up independences that are known, as in pgmpy.

    Parameters
    ----------
    independencies : pgmpy.independencies.Independencies, optional
        The known independences.

    Attributes
    ----------
    p_value_ : float
        1 if the last independence is known, else 0.
    statistic_ : None
        There is no statistic.

    Examples
    --------
    >>> from pgmpy.independencies import Independencies
    >>> from pgmx.ci_tests import IndependenceMatch
    >>> test = IndependenceMatch(Independencies(["a", "b", ["c"]]))
    >>> test("a", "b", ["c"]), test("a", "b", [])
    (True, False)
    """

    statistic_: None
    p_value_: float

    def __init__(self, independencies: Independencies | None = None):
        self.independencies = independencies

    def __repr__(self) -> str:
        known = self.independencies
        shown = "" if known is None else f"independencies: {len(known.get_assertions())}"
        return f"{type(self).__name__}({shown})"

    def __call__(self, X: Hashable, Y: Hashable, Z: Iterable[Hashable] = (), significance_level: float = 0.05) -> bool:
        """Return whether the independence of X and Y given Z is known."""
        check_level(significance_level)
        return self.run_test(X, Y, Z)[1] == 1.0

    def run_test(self, X: Hashable, Y: Hashable, Z: Iterable[Hashable] = ()) -> tuple[None, float]:
        """Look up the independence of X and Y given Z.

        Parameters
        ----------
        X, Y : hashable
            Two variables.
        Z : list or tuple of hashable, default=()
            Further variables.

        Returns
        -------
        statistic : None
            There is no statistic.
        p_value : float
            1 if the independence is known, else 0.

        Raises
        ------
        ValueError
            If the test was made without independences.
        """
        if self.independencies is None:
            raise ValueError("there are no independencies to look up: give them to the constructor")
        self.statistic_, self.p_value_ = None, float(IndependenceAssertion(X, Y, list(Z)) in self.independencies)
        return self.statistic_, self.p_value_
