"""Joint distributions of two columns of codes, one row at a time."""

import math


def pair_table(x, y, r, s, weights=None):
    """Return the table of two columns as lists: sums of the weights over their total."""
    weights = [1] * len(x) if weights is None else weights
    cells = [[[] for _ in range(s)] for _ in range(r)]
    for a, b, weight in zip(x, y, weights, strict=True):
        cells[a][b].append(weight)
    total = math.fsum(weights)
    return [[math.fsum(cell) / total for cell in row] for row in cells]


def pair_counts(x, y, r, s):
    """Return the number of rows in each cell."""
    counts = [[0] * s for _ in range(r)]
    for a, b in zip(x, y, strict=True):
        counts[a][b] += 1
    return counts
