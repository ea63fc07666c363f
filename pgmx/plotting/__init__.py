"""Pictures of learned graphs and of learning with matplotlib, and reports for the browser.

- `graphs`: pictures of graphs: layouts, shapes, comparison with a reference, strengths of edges
- `labels`: names as texts in pictures
- `pictures`: figures for notebooks, scripts and files
- `strengths`: strengths of edges: read from user input, converted to widths and colours, drawn as a ranking
- `history`: curves of learning: quality against time, edges or tests, one line per learner
- `paths`: paths of penalties: number of edges, criterion and selected penalty
- `curves`: quality of learners and errors of stream learners against the number of rows
- `heat_maps`: weights, strengths and probabilities of edges as heat maps
- `series_graphs`: graphs over (variable, lag) on a circle
- `distributions`: CPDs, and distributions of variables given observations
- `edge_paths`: edges of time series that change over windows
- `edge_curves`: quality of edges over thresholds of strengths and, for trackers, over windows
- `forecast`: forecasts of time series with their intervals, and one-step predictions
- `reports`: a report of a learned graph as one HTML file, with an interactive graph
"""

from typing import TYPE_CHECKING

from pgmx.lookup import import_on_demand
from pgmx.plotting.curves import plot_intervals, plot_learning_curve, plot_prequential, plot_regret
from pgmx.plotting.distributions import plot_cpd, plot_marginals
from pgmx.plotting.edge_curves import plot_roc, plot_tracking
from pgmx.plotting.edge_paths import plot_edge_paths
from pgmx.plotting.forecast import plot_forecast, plot_predictions
from pgmx.plotting.graphs.draw import plot_graph, save_picture
from pgmx.plotting.heat_maps import plot_adjacency
from pgmx.plotting.history import plot_history
from pgmx.plotting.paths import plot_path
from pgmx.plotting.reports.page import save_report
from pgmx.plotting.series_graphs import plot_summary_graph
from pgmx.plotting.strengths import plot_strengths

__all__ = [
    "plot_adjacency",
    "plot_cpd",
    "plot_edge_paths",
    "plot_forecast",
    "plot_graph",
    "plot_history",
    "plot_intervals",
    "plot_learning_curve",
    "plot_marginals",
    "plot_path",
    "plot_predictions",
    "plot_prequential",
    "plot_regret",
    "plot_roc",
    "plot_strengths",
    "plot_summary_graph",
    "plot_tracking",
    "save_picture",
    "save_report",
]

if not TYPE_CHECKING:
    __getattr__, __dir__ = import_on_demand(__name__, {})  # all are imported; this explains unknown names
