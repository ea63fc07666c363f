"""Joint distributions of pairs of discrete variables.

- `cells`: where the cells of pairs are stored, all in a triangle or the latest in an arena, and how rows are added
- `tables`: joint distributions of pairs of variables in the data: all of them, or those that are asked for
"""
