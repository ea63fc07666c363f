"""Background knowledge about edges: statements about named variables are converted to arrays of ids.

- `knowledge`: statements about edges between named variables, read into ids
- `pairs`: statements about the edges of an undirected graph
- `constraints`: all statements combined, as the arrays that a search reads
"""
