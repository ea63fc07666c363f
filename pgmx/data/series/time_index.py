"""Times of the rows of a series: whether they increase and are regular, and the position of each row on their grid."""

from dataclasses import dataclass
from numbers import Number
from typing import Any

import numpy as np
import pandas as pd

#: Frequencies that are not multiples of a fixed time, tried if rows are missing; the sparsest that fits is used.
_CALENDAR = (
    *("D", "B", "MS", "ME", "BMS", "BME"),
    *(f"{kind}-{month}" for kind in ("QS", "QE", "BQS", "BQE") for month in ("JAN", "FEB", "MAR")),
    *(
        f"{kind}-{month}"
        for kind in ("YS", "YE")
        for month in ("JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC")
    ),
)
#: Share of the step by which floating-point times may miss their grid.
_ROUNDING = 1e-6
#: If rows are closer to each other on average, no calendar is tried.
_SHORTEST_DAY = pd.Timedelta(hours=20)


@dataclass(frozen=True)
class TimeIndex:
    """A regular index: its first and last label, and the step from one row to the next.

    `step` is a pandas offset or timedelta for dates, and a number for numeric labels and periods.
    """

    first: Any
    last: Any
    step: Any

    def count_steps(self, label: Any) -> int | None:
        """Return how many steps a label lies after the first one, negative before it; None off the grid.

        ValueError for periods of another frequency, and for dates if only one of the two has a time zone.
        """
        self._check_unit(label)
        if isinstance(self.first, pd.Period):
            return _divide(label.ordinal - self.first.ordinal, self.step)
        if isinstance(self.first, pd.Timestamp) and isinstance(self.step, pd.offsets.BaseOffset):
            label = label.tz_convert(self.first.tzinfo) if self.first.tzinfo is not None else label
            low, high = min(self.first, label), max(self.first, label)
            grid: Any = pd.date_range(low, high, freq=self.step)
            if not len(grid) or grid[0] != low or grid[-1] != high:
                return None
            return (len(grid) - 1) * (1 if label == high else -1)
        return _divide(label - self.first, self.step)

    def _check_unit(self, label: Any) -> None:
        if isinstance(self.first, pd.Period) and label.freqstr != self.first.freqstr:
            raise ValueError(
                f"the period {label} has the frequency {label.freqstr!r}, and the learned series {self.first.freqstr!r}"
                f", from {self.first} on: convert the index with asfreq({self.first.freqstr!r})"
            )
        if isinstance(self.first, pd.Timestamp) and (label.tzinfo is None) != (self.first.tzinfo is None):
            zone = None if self.first.tzinfo is None else str(self.first.tzinfo)
            raise ValueError(
                f"the time {label} has {'no' if label.tzinfo is None else 'a'} time zone, and the learned series "
                f"{'none' if zone is None else repr(zone)}, from {self.first} on: convert the index with "
                f"tz_localize({zone!r})"
            )


@dataclass(frozen=True)
class RowTimes:
    """Positions of rows on the grid, int64 (n_rows,), increasing from 0, and the index if it is regular."""

    positions: np.ndarray
    index: TimeIndex | None


def read_times(
    labels: pd.Index, *, irregular: str, missing: str, where: str = "", step: Any = None, row: int = 0
) -> RowTimes:
    """Place rows by their labels, raising ValueError at the first time that does not increase or is off the step.

    With ``missing="drop"`` a gap of whole steps leaves positions out; with ``irregular="ignore"`` rows are equidistant.
    `step` is the step of earlier rows, if it is known; `row` is the number of the first row, for messages.
    """
    numbers = _read_numbers(labels, where, row)
    _check_increase(labels, numbers, where, row)
    if irregular == "ignore" or len(labels) < 2:
        return RowTimes(np.arange(len(labels)), None)
    positions, step = _place_rows(labels, numbers, step)
    if positions is not None and (missing == "drop" or positions[-1] == len(labels) - 1):
        # two times have a distance, which need not be the step of the series
        index = TimeIndex(labels[0], labels[-1], step) if len(labels) > 2 else None
        return RowTimes(positions, index)
    late = _find_irregular_row(numbers, positions)
    remedy = "irregular='ignore' treats the rows as equidistant"
    if positions is not None:
        remedy += ", missing='drop' treats the steps between them as unobserved rows"
    raise ValueError(
        f"the times{where} are irregular: {labels[late]} (row {row + late}) does not follow {labels[late - 1]} by the "
        f"step of the other rows; {remedy}"
    )


def count_positions(labels: pd.Index) -> np.ndarray:
    """Return the positions of rows on the grid of their times, consecutive if there is no grid."""
    try:
        return read_times(labels, irregular="error", missing="drop").positions
    except ValueError:
        return read_times(labels, irregular="ignore", missing="drop").positions


def make_labels(values: Any, where: str = "") -> pd.Index:
    """Return the values of a time column as an index; text is read as dates."""
    cells = values.to_pandas() if hasattr(values, "to_pandas") else values
    index = pd.Index(cells)
    if not pd.api.types.is_object_dtype(index) and not pd.api.types.is_string_dtype(index):
        return index
    try:
        return pd.Index(pd.to_datetime(index))
    except (ValueError, TypeError) as error:
        raise ValueError(f"the time column{where} holds invalid times: {error}; give dates or numbers") from None


def _infer_offset(index: pd.DatetimeIndex | pd.TimedeltaIndex) -> Any:
    """Return the frequency that pandas infers, as an offset; None for fewer than three times or irregular ones."""
    return type(index)(index, freq="infer").freq if len(index) > 2 else None


def _read_numbers(labels: pd.Index, where: str, row: int) -> np.ndarray:
    """Return the labels as numeric values that order them."""
    if isinstance(labels, pd.MultiIndex):
        raise ValueError(f"the index{where} has {labels.nlevels} levels: make the groups a column, and give groups=")
    is_time = isinstance(labels, pd.DatetimeIndex | pd.PeriodIndex | pd.TimedeltaIndex)
    if not is_time and not pd.api.types.is_numeric_dtype(labels.dtype):
        raise ValueError(
            f"the index{where} holds neither times nor numbers ({labels.dtype}): convert it with pandas.to_datetime, "
            "or drop it with reset_index(drop=True)"
        )
    wrong = np.flatnonzero(labels.isna())
    if len(wrong):
        raise ValueError(f"the time of row {row + wrong[0]}{where} is missing: fill it, or drop the row")
    if is_time:
        # integers of pandas, exact for dates and periods
        return labels.asi8
    numbers = labels.to_numpy()
    if numbers.dtype.kind in "iub":
        return numbers.astype(np.int64)
    numbers = numbers.astype(np.float64)
    if not np.isfinite(numbers).all():
        raise ValueError(f"the times{where} hold infinite values: replace them")
    return numbers


def _check_increase(labels: pd.Index, numbers: np.ndarray, where: str, first: int) -> None:
    wrong = np.flatnonzero(numbers[1:] <= numbers[:-1])
    if not len(wrong):
        return
    row = int(wrong[0]) + 1
    if numbers[row] == numbers[row - 1]:
        raise ValueError(
            f"the time {labels[row]}{where} occurs twice (rows {first + row - 1} and {first + row}): keep one row per "
            "time, or give groups= (--groups) if the rows are of several series"
        )
    raise ValueError(
        f"the times{where} do not increase: {labels[row]} (row {first + row}) comes after {labels[row - 1]}; sort the "
        "rows, oldest first, or give groups= (--groups) if the rows are of several series"
    )


def _place_rows(labels: pd.Index, numbers: np.ndarray, step: Any) -> tuple[np.ndarray | None, Any]:
    """Return the positions on the grid that holds all labels with the fewest gaps, and its step; None for no grid."""
    if isinstance(labels, pd.DatetimeIndex):
        if step is None and (offset := _infer_offset(labels)) is not None:
            return np.arange(len(labels)), offset
        return _place_dates(labels, numbers, step)
    at = int(np.argmin(np.diff(numbers)))
    if isinstance(labels, pd.TimedeltaIndex):
        step = labels[at + 1] - labels[at] if step is None else step
        return _count_multiples(labels / step, 1), step
    step = numbers[at + 1] - numbers[at] if step is None else step
    return _count_multiples(numbers, step), step


def _place_dates(labels: Any, numbers: np.ndarray, step: Any) -> tuple[np.ndarray | None, Any]:
    """Return the positions of dates on the sparsest grid of a fixed step or a calendar, or on the grid of `step`."""
    at = int(np.argmin(np.diff(numbers)))
    grids: list[tuple[np.ndarray | None, Any]] = []
    if step is None or isinstance(step, pd.Timedelta):
        width = labels[at + 1] - labels[at] if step is None else step
        grids.append((_count_multiples((labels - labels[0]) / width, 1), width))
    if step is None and (labels[-1] - labels[0]) / len(labels) > _SHORTEST_DAY:
        grids += [_place_on_calendar(labels, frequency) for frequency in _CALENDAR]
    elif isinstance(step, pd.offsets.BaseOffset):
        grids.append(_place_on_calendar(labels, step))
    fitting = [(positions, width) for positions, width in grids if positions is not None]
    return min(fitting, key=lambda grid: int(grid[0][-1]), default=(None, None))


def _place_on_calendar(labels: pd.DatetimeIndex, frequency: Any) -> tuple[np.ndarray | None, Any]:
    grid = pd.date_range(labels[0], labels[-1], freq=frequency)
    places = grid.get_indexer(labels) if len(grid) >= len(labels) else np.array([-1])
    return (None if places.min() < 0 else places.astype(np.int64)), grid.freq


def _count_multiples(numbers: np.ndarray, step: Any) -> np.ndarray | None:
    """Return how many steps the values lie after the first, None if one is off the grid."""
    differences = np.diff(np.asarray(numbers)) / step
    multiples = np.rint(differences)
    # relative to the number of steps, since rounding errors grow with the distance
    if (np.abs(differences - multiples) > _ROUNDING * np.maximum(multiples, 1)).any() or (multiples < 1).any():
        return None
    return np.concatenate([[0], np.cumsum(multiples)]).astype(np.int64)


def _find_irregular_row(numbers: np.ndarray, positions: np.ndarray | None) -> int:
    """Return the first row whose step from the row before is not the commonest step, or not a whole step."""
    if positions is not None:
        return 1 + int(np.argmax(np.diff(positions) != 1))
    # no grid fits: the commonest distance counts as the step, to name the first row that departs from it
    steps, at, counts = np.unique(np.diff(numbers), return_inverse=True, return_counts=True)
    usual = steps[int(np.argmax(counts))]
    return 1 + int(np.argmax(np.abs(steps[at] - usual) > _ROUNDING * usual))


def _divide(distance: Any, step: Any) -> int | None:
    steps = distance / step
    nearest = round(steps)
    return nearest if abs(steps - nearest) < 1e-3 else None


def is_same_kind(one: Any, other: Any) -> bool:
    """Return whether two labels are of one kind: numbers, dates, durations or periods."""
    return type(one) is type(other) or (isinstance(one, Number) and isinstance(other, Number))
