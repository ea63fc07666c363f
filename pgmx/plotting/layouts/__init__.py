"""Where the nodes of a graph go, and how its edges run; vertices are integers, no randomness.

- `crossings`: crossing reduction between the layers of a layered drawing
- `packing`: connected components side by side
- `communities`: groups of vertices with many edges among them
- `layered`: layers, arrows downwards
- `spring`: distances in the drawing like those in the graph, for graphs without directions
"""
