"""Time series: frames, arrays, files and panels as complete segments.

- `column_moments`: means, standard deviations and ranges of single columns
- `time_index`: times of the rows: whether they increase and are regular, and the position of each row on their grid
- `options`: how series are read
- `panel`: series in memory as complete segments
- `tables`: tables as the rows of one or more series
- `segments`: rows of one series as complete segments, from all its rows or from chunks
- `reading`: any accepted input as a panel
- `history`: the rows that a forecast continues
- `chunks`: series in chunks, read in one pass
"""

from pgmx.data.series.chunks import SeriesChunks
from pgmx.data.series.history import check_last_rows, continue_labels, forecast_seasons, read_history
from pgmx.data.series.options import SeriesOptions
from pgmx.data.series.panel import Panel
from pgmx.data.series.reading import open_series
from pgmx.data.series.time_index import TimeIndex

__all__ = [
    "Panel",
    "SeriesChunks",
    "SeriesOptions",
    "TimeIndex",
    "check_last_rows",
    "continue_labels",
    "forecast_seasons",
    "open_series",
    "read_history",
]
