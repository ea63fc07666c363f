"""Positions of the nodes of a graph and routes of its edges; vertices are integers, no randomness.

- `crossings`: crossing reduction between the layers of a layered drawing
- `packing`: connected components side by side
- `communities`: groups of vertices with many edges among them
- `layered`: layers, arrows downwards
- `spring`: distances in the drawing like distances in the graph, for undirected graphs
"""
