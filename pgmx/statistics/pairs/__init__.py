"""Joint distributions of pairs of discrete variables.

- `counter`: adds rows to the cells of pairs of variables: of those listed, or of all
- `store`: where the tables of pairs of variables are stored: all of them in a triangle, or the latest in an arena
- `tables`: joint distributions of pairs of variables in the data: all of them, or those that are asked for
"""
