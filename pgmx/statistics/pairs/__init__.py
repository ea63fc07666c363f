"""Joint distributions of pairs of discrete variables.

- `cells`: storage of the cells of pairs (all pairs in a triangle, or the latest in an arena), and counting of rows
- `distributed`: the same for distributed tables
- `tables`: joint distributions of pairs of variables in the data: all pairs, or the requested pairs
"""
