"""What a user knows about the edges, from names to arrays of ids.

- `knowledge`: statements about edges between named variables, read into ids
- `pairs`: statements about the edges of an undirected graph
- `constraints`: all statements together, as the arrays that a search reads
"""
