"""Time series: frames, arrays, files and panels as complete segments.

- `time_index`: times of the rows: whether they increase and are regular, and the position of each row on their grid
- `options`: how series are read
- `panel`: series in memory as complete segments
- `reading`: any accepted input as a panel, or in chunks
- `lagged`: series of any kind of variables, and their rows with the rows before them
- `history`: the rows that a forecast continues
"""

from pgmx.data.series.history import check_last_rows, continue_labels, forecast_seasons, read_history
from pgmx.data.series.lagged import LaggedSeries, open_lagged
from pgmx.data.series.options import SeriesOptions
from pgmx.data.series.panel import Panel
from pgmx.data.series.reading import SeriesChunks, open_series
from pgmx.data.series.time_index import TimeIndex

__all__ = [
    "LaggedSeries",
    "Panel",
    "SeriesChunks",
    "SeriesOptions",
    "TimeIndex",
    "check_last_rows",
    "continue_labels",
    "forecast_seasons",
    "open_lagged",
    "open_series",
    "read_history",
]
