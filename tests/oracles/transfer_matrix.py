"""Grids of binary variables, variable by variable along the rows: a vector over the states of one column's front."""

import numpy as np


def eliminate_grid(n_rows, n_columns, nodes, tables, combine=np.logaddexp):
    """Return log Z of a grid, or its largest score with ``combine=np.maximum``.

    `nodes` are vectors (2,) by number ``r * n_columns + c``, `tables` (2, 2) by pair of numbers, the smaller first.
    The vector has one axis per column of the present front; each step replaces the oldest variable by the next.
    """
    zeros = np.zeros((2, 2))
    front = np.zeros((1,))
    for v in range(n_rows * n_columns):
        row, column = divmod(v, n_columns)
        above = tables.get((v - n_columns, v), zeros) if row else None
        beside = tables.get((v - 1, v), zeros) if column else None
        front = front.reshape((1 if row == 0 else 2, -1, 1 if v == 0 else 2))  # oldest, between, newest
        states = []
        for a in range(2):
            values = front + nodes[v][a]
            if above is not None:
                values = values + above[:, a][:, None, None]
            if beside is not None:
                values = values + beside[:, a]
            states.append(combine.reduce(values, axis=0).reshape(-1))
        front = np.stack(states, axis=-1)
    return float(combine.reduce(front, axis=None))
