"""Time series: frames, arrays, files and panels of them as complete segments of numbers.

- `time_index`: times of the rows: whether they increase, are regular, and where on their grid each row stands
- `panel`: series in memory as complete segments
- `reading`: the one entry: any accepted input as a panel
"""

from pgmx.data.series.panel import Panel
from pgmx.data.series.reading import SeriesOptions, make_seasons, open_series
from pgmx.data.series.time_index import TimeIndex

__all__ = ["Panel", "SeriesOptions", "TimeIndex", "make_seasons", "open_series"]
