"""Pictures of learned graphs and of learning with matplotlib, and reports for the browser.

- `layouts`: positions of the nodes of a graph: in layers, by springs, on a circle
- `pictures`: figures for notebooks, scripts and files
- `strengths`: strengths of edges: read from user input, converted to widths and colours, drawn as a ranking
- `edge_styles`: styles of edges by comparison with a reference, by strength and by sign, with their legends
- `history`: curves of learning: quality against time, edges or tests, one line per learner
- `paths`: paths of penalties: number of edges, criterion and selected penalty
- `curves`: learning curves: quality against the number of rows
- `shapes`: the axes, curves of edges with their heads, boxes of nodes; one collection per kind
- `streams`: errors of stream learners compared with baselines, intervals, and changes
- `time_series`: graphs over (variable, lag), forecasts, and edges that change
- `draw`: pictures of graphs: layout, comparison with a reference and strengths combined
- `reports`: a report of a learned graph as one HTML file, with an interactive graph
"""

from typing import TYPE_CHECKING

from pgmx.lookup import import_on_demand
from pgmx.plotting.curves import plot_learning_curve
from pgmx.plotting.draw import plot_graph, save_picture
from pgmx.plotting.history import plot_history
from pgmx.plotting.paths import plot_path
from pgmx.plotting.reports.page import save_report
from pgmx.plotting.streams import plot_intervals, plot_prequential
from pgmx.plotting.strengths import plot_strengths
from pgmx.plotting.time_series.adjacency import plot_adjacency
from pgmx.plotting.time_series.edge_paths import plot_edge_paths
from pgmx.plotting.time_series.forecast import plot_forecast
from pgmx.plotting.time_series.summary import plot_summary_graph

__all__ = [
    "plot_adjacency",
    "plot_edge_paths",
    "plot_forecast",
    "plot_graph",
    "plot_history",
    "plot_intervals",
    "plot_learning_curve",
    "plot_path",
    "plot_prequential",
    "plot_strengths",
    "plot_summary_graph",
    "save_picture",
    "save_report",
]

if not TYPE_CHECKING:
    __getattr__, __dir__ = import_on_demand(__name__, {})  # all are imported; this explains unknown names
