"""Mixed data: tables with continuous and discrete columns, the input of conditional Gaussian scores and networks."""

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from pgmx.checks import check_missing_option, join_names
from pgmx.data.columns import copy_floats
from pgmx.data.errors import MissingValuesError, refuse_infinite, refuse_unobserved
from pgmx.data.frame import Frame
from pgmx.data.table import DiscreteTable

#: First rows, whose states are searched before those of all rows.
_FIRST_ROWS = 1024


@dataclass(frozen=True, eq=False)
class MixedTable:
    """Continuous and discrete columns of the same rows.

    `columns` are all names, `is_continuous` is bool (n_columns,), `numbers` float64 (n_floats, n_rows) the continuous
    columns, and `table` has the discrete columns, None if there are none; both are in the order of the names.
    """

    columns: tuple
    is_continuous: np.ndarray
    numbers: np.ndarray
    table: DiscreteTable | None

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return self.numbers.shape[1]

    @property
    def continuous_columns(self) -> list[Hashable]:
        """Names of the continuous columns."""
        return [name for name, is_continuous in zip(self.columns, self.is_continuous, strict=True) if is_continuous]

    @property
    def float_columns(self) -> list[Hashable]:
        """Names of the continuous columns, as of a frame."""
        return self.continuous_columns

    @property
    def positions(self) -> np.ndarray:
        """Position of each column among the continuous or among the discrete columns; int64."""
        return np.where(self.is_continuous, np.cumsum(self.is_continuous), np.cumsum(~self.is_continuous)) - 1

    def drop_unseen_states(self) -> "MixedTable":
        """Return the table without the states that do not occur."""
        table = self.table
        if table is None:
            return self
        # unseen states would count as parameters and as configurations of parents
        seen = [_list_seen_states(c, r) for c, r in zip(table.codes, table.cardinalities.tolist(), strict=True)]
        if all(len(s) == r for s, r in zip(seen, table.cardinalities, strict=True)):
            return self
        codes = [np.searchsorted(s, column) for s, column in zip(seen, table.codes, strict=True)]
        states = [[names[s] for s in kept] for names, kept in zip(table.states, seen, strict=True)]
        return replace(self, table=DiscreteTable(table.columns, states, np.array(codes)))

    def refuse_constant(self, weights: np.ndarray | None = None) -> None:
        """Raise naming the continuous columns that hold one value in the rows of positive weight."""
        numbers = self.numbers if weights is None else self.numbers[:, weights > 0]
        ends = np.array([(row.min(initial=np.inf), row.max(initial=-np.inf)) for row in numbers]).reshape(-1, 2)
        # values whose squares overflow are refused below, with their names
        with np.errstate(over="ignore", invalid="ignore"):
            spread, largest = ends[:, 1] - ends[:, 0], np.abs(ends).max(axis=1)
            squares = largest**2
        names = np.array([*self.continuous_columns, None], dtype=object)[:-1]
        # a smaller spread is rounding: float64 has a relative precision of 2.2e-16
        constant = names[spread <= largest * 1e-15]
        if constant.size:
            raise ValueError(
                f"columns {join_names(constant.tolist())} are constant, which a Gaussian score cannot use: drop them"
            )
        # scores add the squares of all rows
        beyond = names[~np.isfinite(squares * max(self.n_rows, 1))]
        if beyond.size:
            raise ValueError(
                f"column(s) {join_names(beyond.tolist())} hold values whose squares are too large: give them another "
                "unit"
            )


def _list_seen_states(codes: np.ndarray, n_states: int) -> np.ndarray:
    """Return the states that occur, ascending; the first rows mostly have all of them."""
    for part in (codes[:_FIRST_ROWS], codes):
        seen = np.flatnonzero(np.bincount(part, minlength=n_states))
        if len(seen) == n_states:
            break
    return seen


def read_mixed(
    data: Frame | DiscreteTable | MixedTable,
    *,
    state_names: Mapping[Hashable, Sequence] | None = None,
    missing: str = "error",
) -> MixedTable:
    """Return the columns of a table as continuous and discrete; missing values are an error, or drop their rows.

    Infinite values, and values that cannot be states, are errors that name the columns.
    """
    if isinstance(data, MixedTable):
        return data
    if isinstance(data, DiscreteTable):
        return MixedTable(data.columns, np.zeros(data.n_variables, bool), np.empty((0, data.n_rows)), data)
    check_missing_option(missing, ("error", "drop"), " for a table with continuous columns")
    incomplete = data.missing_columns()
    if incomplete and missing == "error":
        raise MissingValuesError(incomplete, choices=("drop",), empty=data.empty_columns())
    return _read_columns(data.enough_complete_rows() if incomplete else data, state_names, "error")


def read_incomplete_mixed(data: Frame, *, state_names: Mapping[Hashable, Sequence] | None = None) -> MixedTable:
    """Return continuous columns, NaN for missing values, and discrete columns, which mark missing values."""
    refuse_unobserved(data.empty_columns(), "em")
    return _read_columns(data, state_names, "pairwise")


def _read_columns(data: Frame, state_names: Mapping[Hashable, Sequence] | None, missing: str) -> MixedTable:
    is_continuous = np.isin(np.arange(data.n_columns), [data.names.index(name) for name in data.float_columns])
    numbers = np.empty((int(is_continuous.sum()), data.n_rows))
    floats = [values for values, number in zip(data.columns, is_continuous, strict=True) if number]
    for row, values in zip(numbers, floats, strict=True):
        copy_floats(values, row)
    refuse_infinite([name for name, row in zip(data.float_columns, numbers, strict=True) if np.isinf(row).any()])
    others = [name for name, number in zip(data.names, is_continuous, strict=True) if not number]
    part = data.take_columns(others)
    unknown = [name for name in state_names or () if name not in data.names]
    if unknown:
        raise ValueError(f"state_names holds {join_names(unknown)}, which are not columns of the data")
    declared = {name: states for name, states in (state_names or {}).items() if name in part.names}
    table = part.encode(state_names=declared, missing=missing) if others else None
    return MixedTable(tuple(data.names), is_continuous, numbers, table)
