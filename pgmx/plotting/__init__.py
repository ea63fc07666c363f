"""Pictures of learned graphs with matplotlib alone.

``layout`` places integer vertices in layers (no matplotlib there), ``marks`` reads nodes and edges of any supported
graph, ``draw`` puts the two on an axes and into files.
"""

from pgmx.plotting.draw import plot_graph, save_picture

__all__ = ["plot_graph", "save_picture"]
