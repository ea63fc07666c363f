"""Options for reading series, common to all learners of time series."""

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from pgmx.checks import check_missing_option, check_natural, join_names

_SERIES_MISSING = ("error", "drop")
IRREGULAR = ("error", "ignore")


@dataclass(frozen=True)
class SeriesOptions:
    """The options by their names; `check_columns` compares them with the columns of a table."""

    lags: int
    time_column: Hashable | None = None
    groups: Hashable | None = None
    missing: str = "error"
    irregular: str = "error"
    exogenous_columns: tuple = ()
    seasonal_period: int | None = None
    na_values: Any = None

    def __post_init__(self) -> None:
        check_missing_option(self.missing, _SERIES_MISSING, " for series")
        if self.irregular not in IRREGULAR:
            raise ValueError(f"irregular must be one of {join_names(IRREGULAR)}, got {self.irregular!r}")
        columns = () if self.exogenous_columns is None else self.exogenous_columns
        if isinstance(columns, set | frozenset):  # the order of a set of texts differs between processes
            columns = sorted(columns, key=repr)
        if isinstance(columns, str) or not isinstance(columns, Iterable):
            raise TypeError(f"exogenous_columns must be a list of columns, as [{columns!r}]; got {columns!r}")
        # the class is frozen
        object.__setattr__(self, "exogenous_columns", tuple(columns))
        if self.seasonal_period is not None:
            check_natural(self.seasonal_period, "seasonal_period", 2)

    @property
    def exogenous_names(self) -> tuple:
        """Names of the exogenous columns, followed by the seasonal ones."""
        seasons = range(1, self.seasonal_period or 1)
        return (*self.exogenous_columns, *(f"season {season}" for season in seasons))

    def check_columns(self, names: Sequence, index_name: Hashable | None) -> set:
        """Return the columns that are not series; raise if an option names an unknown one, or two name the same."""
        columns = [
            *(("time_column", name) for name in [self.time_column] if name is not None and name != index_name),
            *(("groups", name) for name in [self.groups] if name is not None),
            *(("exogenous_columns", name) for name in self.exogenous_columns),
        ]
        special: dict[Hashable, str] = {}
        for option, name in columns:
            if name not in names:
                raise ValueError(f"{option} names {name!r}, which is not a column: the columns are {join_names(names)}")
            if name in special:
                raise ValueError(f"{option} names {name!r}, which {special[name]} names too: give it in one of them")
            special[name] = option
        if len(special) == len(names):
            raise ValueError(f"options name all columns ({join_names(names)}), and no series is left to learn from")
        return set(special)


def split_seasons(names: tuple) -> tuple[tuple, int | None]:
    """Return the exogenous names without the seasonal ones, and the period; None without seasons."""
    for number in range(len(names)):
        if names[number:] == tuple(f"season {season}" for season in range(1, len(names) - number + 1)):
            return names[:number], len(names) - number + 1
    return names, None


def make_seasons(positions: np.ndarray, period: int) -> np.ndarray:
    """Return the columns (T, period - 1) of the seasons 1 to period - 1: 1 in that season, minus 1 / period."""
    return (np.asarray(positions)[:, None] % period == np.arange(1, period)) - 1.0 / period
