"""Events with coordinates and times, counted in the cells of a grid and the steps of time."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from pgmx.checks import check_natural, is_number, join_names

if TYPE_CHECKING:
    import pandas as pd

#: The largest table of counts, in values (2 GiB).
MOST_VALUES = 2**28
_NAMES = ("x", "y", "time")


class GriddedEvents(NamedTuple):
    """Counts of events per time step and cell, and the events that are not counted.

    Parameters
    ----------
    counts : pandas.DataFrame of int64, shape (n_steps, n_cells)
        Number of events. The index holds the beginnings of the steps, the columns are "r0c0", "r0c1", ...
    cells : pandas.DataFrame of shape (n_cells, 5)
        ``row`` and ``column`` of each cell of `counts`, its centre ``x`` and ``y``, and its number of events.
    n_outside : int
        Events outside the bounds of the grid.
    n_other_times : int
        Events within the bounds, before `start` or from `end` on.
    n_left_out : int
        Events in cells with fewer than `min_count` events.

    Examples
    --------
    >>> from pgmx.datasets import grid_events
    >>> gridded = grid_events([[0, 0, 0], [1, 1, 2], [9, 9, 3]], (2, 2), bounds=(0, 1, 0, 1), step=1)
    >>> gridded.n_outside, gridded.cells["n_events"].tolist()
    (1, [1, 1])
    """

    counts: pd.DataFrame
    cells: pd.DataFrame
    n_outside: int
    n_other_times: int
    n_left_out: int


class _Grid(NamedTuple):
    """A grid of equal cells: rows are along y and columns along x."""

    shape: tuple[int, int]
    lower: tuple[float, float]
    upper: tuple[float, float]

    def find_places(self, values: np.ndarray, axis: int) -> np.ndarray:
        """Return the row (axis 0, of y) or column (axis 1, of x) of each value; the upper bound is inside."""
        width = self.upper[axis] - self.lower[axis]
        places = np.floor((values - self.lower[axis]) / width * self.shape[axis]).astype(np.int64)
        return np.minimum(places, self.shape[axis] - 1)

    def find_centres(self, places: np.ndarray, axis: int) -> np.ndarray:
        """Return the centres of rows or columns."""
        return self.lower[axis] + (places + 0.5) * (self.upper[axis] - self.lower[axis]) / self.shape[axis]


def grid_events(
    events: Any,
    shape: tuple[int, int] = (99, 99),
    *,
    columns: Sequence[Hashable] = _NAMES,
    bounds: tuple[float, float, float, float] | None = None,
    step: Any = "h",
    start: Any = None,
    end: Any = None,
    min_count: int = 1,
) -> GriddedEvents:
    r"""Count events, such as the pick-ups of taxis, in the cells of a grid and the steps of time.

    .. math:: n_{ct} = \#\{e : (x_e, y_e) \in \text{cell}_c, \; \text{start} + t \, \Delta \le \text{time}_e <
              \text{start} + (t + 1) \Delta\}

    Steps without an event have a count of 0. The counts are a series for the learners of time series.

    Parameters
    ----------
    events : DataFrame, or array_like of float of shape (n_events, 3)
        One row per event, in any order: the two coordinates and the time. The columns of an array are x, y and time.
    shape : tuple of int, default=(99, 99)
        Number of rows (along y) and columns (along x) of the grid, each at least 1.
    columns : sequence of three names, default=("x", "y", "time")
        Columns of a frame: the coordinates x and y (such as longitude and latitude), and the time: dates or floats.
    bounds : tuple of four floats, optional
        x_min, x_max, y_min, y_max of the grid. Row 0 begins at y_min, column 0 at x_min, and the upper bounds belong to
        the last cells. Default: the range of the events, so that no event is outside.
    step : str, Timedelta or float, default="h"
        Length of a step of time: a fixed frequency of pandas, such as "h" or "15min", for dates; else a number above 0,
        in the units of the times.
    start, end : date or float, optional
        First time and end of the counts; `end` itself is not counted. Default: the beginning of the step of the first
        event within the grid, in whole steps since 0 (for dates since 1970, in UTC if they have a time zone), and the
        end of the step of the last event.
    min_count : int, default=1
        Cells with fewer events are left out, at least 1.

    Returns
    -------
    GriddedEvents
        Counts, the cells, and how many events were not counted.

    Raises
    ------
    TypeError, ValueError
        If a column is absent, not numeric, or has missing or infinite values; if there is no event within the grid and
        the times, no cell has `min_count` events, the counts would need more than 2 GiB, or an option is invalid.

    Notes
    -----
    O(n log n) time for n events; memory for the events and the counts. The source counts pick-ups and drop-offs
    together (concatenate both tables) per hour on 99 x 99 cells, keeps the cells with at least 100 events, and divides
    by the maximum of each cell: ``counts / counts.max()``.

    References
    ----------
    .. [1] Chaabene, W. (2017). Thesis, Virginia Tech, section 2.3.2 (data).

    Examples
    --------
    >>> import pandas as pd
    >>> from pgmx.datasets import grid_events
    >>> trips = pd.DataFrame({
    ...     "lon": [-73.99, -73.99, -73.95, 0.0],
    ...     "lat": [40.71, 40.71, 40.79, 0.0],
    ...     "pickup": pd.to_datetime(["2015-01-05 00:10", "2015-01-05 00:50", "2015-01-05 02:30", "2015-01-05 03:00"]),
    ... })
    >>> city = (-74.0, -73.9, 40.7, 40.8)
    >>> gridded = grid_events(trips, (2, 2), columns=("lon", "lat", "pickup"), bounds=city)
    >>> gridded.counts
                         r0c0  r1c1
    2015-01-05 00:00:00     2     0
    2015-01-05 01:00:00     0     0
    2015-01-05 02:00:00     0     1
    >>> gridded.n_outside
    1
    """
    import pandas as pd

    size = _check_shape(shape)
    min_count = check_natural(min_count, "min_count", 1)
    names, (x, y), times = _read_events(events, columns)
    grid = _make_grid(size, bounds, names, x, y)
    is_inside = (grid.lower[1] <= x) & (x <= grid.upper[1]) & (grid.lower[0] <= y) & (y <= grid.upper[0])
    if not is_inside.any():
        raise ValueError(
            f"all {len(x)} events are outside bounds={bounds}: {names[0]!r} is from {x.min():g} to {x.max():g}, "
            f"{names[1]!r} from {y.min():g} to {y.max():g}"
        )
    steps, n_steps, make_labels = _count_steps(times[is_inside], step, start, end, names[2])
    is_counted = (steps >= 0) & (steps < n_steps)
    if not is_counted.any():
        raise ValueError(f"no event within the grid is at or after start={start} and before end={end}")
    rows = grid.find_places(y[is_inside][is_counted], 0)
    cells, cell, n_events = np.unique(
        rows * size[1] + grid.find_places(x[is_inside][is_counted], 1), return_inverse=True, return_counts=True
    )
    is_busy = n_events >= min_count
    if not is_busy.any():
        raise ValueError(f"no cell has {min_count} events, the maximum is {n_events.max()}: lower min_count")
    n_cells = int(is_busy.sum())
    if n_steps * n_cells > MOST_VALUES:
        raise ValueError(
            f"{n_steps} steps of {n_cells} cells need more than 2 GiB: give a longer step, fewer cells or a larger "
            "min_count"
        )
    number = np.cumsum(is_busy) - 1
    is_kept = is_busy[cell]
    flat = steps[is_counted][is_kept] * n_cells + number[cell[is_kept]]
    values = np.bincount(flat, minlength=n_steps * n_cells).reshape(n_steps, n_cells)
    rows, places = np.divmod(cells[is_busy], size[1])
    index = pd.Index([f"r{row}c{place}" for row, place in zip(rows, places, strict=True)])
    table = {"row": rows, "column": places, "x": grid.find_centres(places, 1), "y": grid.find_centres(rows, 0)}
    return GriddedEvents(
        pd.DataFrame(values, index=make_labels(), columns=index),
        pd.DataFrame({**table, "n_events": n_events[is_busy]}, index=index),
        int((~is_inside).sum()),
        int((~is_counted).sum()),
        int(n_events[~is_busy].sum()),
    )


def _check_shape(shape: Any) -> tuple[int, int]:
    if not isinstance(shape, list | tuple) or len(shape) != 2:
        raise ValueError(f"shape must be two integers, the rows and columns of the grid, got {shape!r}")
    size = check_natural(shape[0], "the rows of shape", 1), check_natural(shape[1], "the columns of shape", 1)
    if size[0] * size[1] > 2**62:
        raise ValueError(f"shape must be at most 2**62 cells, got {shape}")
    return size


def _read_events(events: Any, columns: Sequence[Hashable]) -> tuple[list, list[np.ndarray], Any]:
    """Return the names of the columns, the coordinates, and the times as floats or a DatetimeIndex."""
    import pandas as pd

    names: list = list(columns) if isinstance(columns, list | tuple) else []
    if len(names) != 3 or len(set(names)) != 3:
        raise ValueError(f"columns must be the names of x, y and time, three different columns, got {columns!r}")
    if not isinstance(events, pd.DataFrame) and hasattr(events, "to_pandas"):
        events = events.to_pandas()
    if not isinstance(events, pd.DataFrame):
        values = np.asarray(events)
        if values.dtype.kind not in "iuf" or values.ndim != 2 or values.shape[1] != 3:
            raise TypeError(
                "events must be a frame, or a numeric array with the columns x, y and time, got "
                f"{type(events).__name__} of {values.dtype} and shape {values.shape}"
            )
        names = list(_NAMES)
        events = pd.DataFrame(values, columns=names)
    absent = [name for name in names if name not in events.columns]
    if absent:
        raise ValueError(
            f"events has no column {join_names(absent)}: name the columns of x, y and time by columns=; there are "
            f"{join_names(events.columns)}"
        )
    if not len(events):
        raise ValueError("events is empty: there is nothing to count")
    for name in names:
        if not isinstance(events[name], pd.Series):
            raise ValueError(f"events has several columns {name!r}")
        is_missing = events[name].isna().to_numpy()
        if is_missing.any():
            raise ValueError(
                f"column {name!r} has {is_missing.sum()} missing values, the first in row {is_missing.argmax()}: drop "
                "these events"
            )
    times: Any = events[names[2]]
    return (
        names,
        [_read_numbers(events[name], name) for name in names[:2]],
        pd.DatetimeIndex(times) if times.dtype.kind == "M" else _read_numbers(times, names[2], "dates or "),
    )


def _read_numbers(column: Any, name: Hashable, what: str = "") -> np.ndarray:
    """Return a column as floats; raise if it is not numeric, or a value is infinite."""
    if column.dtype.kind not in "iuf":
        hint = ": convert it with pandas.to_datetime" if what else ""
        raise TypeError(f"column {name!r} must hold {what}real values, got {column.dtype}{hint}")
    values = column.to_numpy(dtype=np.float64)
    if not np.isfinite(values).all():
        raise ValueError(f"column {name!r} has an infinite value in row {int((~np.isfinite(values)).argmax())}")
    return values


def _make_grid(size: tuple[int, int], bounds: Any, names: list, x: np.ndarray, y: np.ndarray) -> _Grid:
    if bounds is None:
        bounds = (x.min(), x.max(), y.min(), y.max())
        for name, low, high in zip(names, bounds[::2], bounds[1::2], strict=False):
            if low == high:
                raise ValueError(f"column {name!r} is {low:g} for all events: give bounds=")
    if not isinstance(bounds, list | tuple) or len(bounds) != 4 or not all(map(is_number, bounds)):
        raise ValueError(f"bounds must be four finite values, x_min, x_max, y_min and y_max, got {bounds!r}")
    left, right, bottom, top = map(float, bounds)
    if left >= right or bottom >= top:
        raise ValueError(f"bounds must have x_min < x_max and y_min < y_max, got {bounds!r}")
    return _Grid(size, (bottom, left), (top, right))


def _count_steps(
    times: Any, step: Any, start: Any, end: Any, name: Hashable
) -> tuple[np.ndarray, int, Callable[[], pd.Index]]:
    """Return the step of each time, below 0 or from `n_steps` on if outside; `n_steps`; and what makes the labels."""
    import pandas as pd

    is_date = isinstance(times, pd.DatetimeIndex)
    width: Any = _read_step(step, is_date, name)
    first, last = (_read_time(value, what, times) for value, what in ((start, "start"), (end, "end")))
    if is_date:
        # whole nanoseconds of UTC: hours are never skipped or repeated
        zone, times = times.tz, times.as_unit("ns").asi8
        first, last = (value if value is None else value.as_unit("ns").value for value in (first, last))
    first = (times.min() if is_date else float(times.min())) // width * width if first is None else first
    # a last step that `end` cuts is shorter than the others
    n_steps = int((times.max() - first) // width) + 1 if last is None else -int((first - last) // width)
    if n_steps < 1:
        raise ValueError(f"there is no time from start={start} to end={end}: give start < end")
    if n_steps > MOST_VALUES:
        raise ValueError(f"step={step!r} gives {n_steps} steps of time: give a longer step")
    steps = ((times - first) // width).astype(np.int64)
    if last is not None:
        steps[times >= last] = n_steps
    if is_date:
        begin = pd.Timestamp(first, tz="UTC").tz_convert(zone)
        return steps, n_steps, lambda: pd.date_range(begin, periods=n_steps, freq=pd.Timedelta(width))
    return steps, n_steps, lambda: _label_numbers(first, width, n_steps)


def _label_numbers(first: float, width: float, n_steps: int) -> pd.Index:
    """Return the beginnings of steps, as integers if they are whole."""
    import pandas as pd

    labels = first + width * np.arange(n_steps)
    is_whole = first.is_integer() and width.is_integer() and np.abs(labels).max() < 2**53
    return pd.Index(labels.astype(np.int64) if is_whole else labels)


def _read_step(step: Any, is_date: bool, name: Hashable) -> Any:
    """Return a step as nanoseconds or as a number."""
    import pandas as pd

    if not is_date:
        if not is_number(step) or step <= 0:
            raise ValueError(f"step must be a number above 0, in the units of column {name!r}, got {step!r}")
        return float(step)
    try:
        width = pd.Timedelta(pd.tseries.frequencies.to_offset(step)).as_unit("ns").value
    except (ValueError, TypeError):
        raise ValueError(f"step must be a fixed frequency such as 'h' or '15min', got {step!r}") from None
    if width <= 0:
        raise ValueError(f"step must be above 0, got {step!r}")
    return width


def _read_time(value: Any, what: str, times: Any) -> Any:
    """Return `start` or `end`, None if it is not given."""
    import pandas as pd

    if value is None:
        return None
    if not isinstance(times, pd.DatetimeIndex):
        if not is_number(value):
            raise ValueError(f"{what} must be a number, as the times of the events, got {value!r}")
        return float(value)
    try:
        date = pd.Timestamp(value)
    except (ValueError, TypeError):
        date = pd.NaT
    if date is pd.NaT or isinstance(value, int | float):
        raise ValueError(f"{what} must be a date, as the times of the events, got {value!r}")
    if date.tz is None:
        return date.tz_localize(times.tz)
    if times.tz is None:
        raise ValueError(f"{what} has a time zone, and the times of the events have none, got {value!r}")
    return date
