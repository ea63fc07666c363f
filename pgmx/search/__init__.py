"""Searches over graphs. They use integer ids, arrays of gains and score functions; data and names are not visible.

- `edges`: searches over undirected edges: grafting and the sources of candidate edges
- `knowledge`: background knowledge about edges, as arrays of ids
- `forest`: forests of maximum weight
- `dag`: searches over directed acyclic graphs
"""
