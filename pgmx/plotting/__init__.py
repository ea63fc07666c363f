"""Pictures of learned graphs and of learning, with matplotlib alone.

``layout`` places integer vertices in layers (no matplotlib there), ``marks`` reads nodes and edges of any supported
graph, ``draw`` puts the two on an axes and into files, ``strengths`` tells how strong edges are and ``edge_styles`` how
that looks, ``history`` draws quality against time, ``curves`` against the number of rows, ``paths`` along a path of
penalties.
"""

from pgmx.plotting.curves import plot_learning_curve
from pgmx.plotting.draw import plot_graph, save_picture
from pgmx.plotting.history import plot_history
from pgmx.plotting.paths import plot_path
from pgmx.plotting.strengths import plot_strengths

__all__ = ["plot_graph", "plot_history", "plot_learning_curve", "plot_path", "plot_strengths", "save_picture"]
