"""Pictures of graphs.

- `draw`: pictures of graphs, with a comparison with a reference and strengths of edges
- `indexed`: graphs as integers, and the differences between two graphs
- `layered_layout`, `spring_layout`: positions of the nodes in layers, by springs or on a circle
- `packing`: placement of connected components side by side
- `communities`: the overview of a large graph
- `slices`: columns of equal lag
- `sizes`: sizes of nodes, and the neighbourhood that is drawn
- `scene`: layout, edges, nodes and legends combined on axes
- `shapes`: the axes, curves of edges with their heads, boxes of nodes, legends
"""
