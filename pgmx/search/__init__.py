"""Searches over graphs; they see integer ids, arrays of gains and score functions, no data and no names.

- `edges`: searches over undirected edges: grafting and the sources of candidate edges
- `knowledge`: what the user knows about edges, as arrays of ids
- `forest`: forests of maximum weight
- `dag`: searches over directed acyclic graphs
"""
