"""Joint distributions of pairs of discrete variables.

- `cells`: where the cells of pairs are stored, all in a triangle or the latest in an arena, and how rows are added
- `distributed`: the same of rows that lie with the workers of a cluster
- `tables`: joint distributions of pairs of variables in the data: all of them, or those that are asked for
"""
