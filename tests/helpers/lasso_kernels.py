"""The kernels of the graphical lasso as the tests call them."""

import numpy as np

from pgmx._ext import _gram_lasso


def start_ascent(R, lam, start="shrunk"):
    """Return an ascent of the graphical lasso at one of its starts."""
    ascent = _gram_lasso.ColumnAscent(R)
    if start == "soft":
        ascent.start_soft(lam)
    else:
        largest = np.abs(R - np.eye(len(R))).max(initial=0.0)
        ascent.start_shrunk(min(1.0, lam / largest) if largest > 0 else 1.0)
    return ascent


def neighborhoods(R, lams):
    """Return the arrays that the kernel fills for all columns."""
    m, k = len(R), len(lams)
    counts, gaps, steps = np.zeros((m, k), dtype=np.int64), np.zeros((m, k)), np.zeros(m, dtype=np.int64)
    entries = _gram_lasso.neighborhoods(R, np.arange(m), np.asarray(lams), 1e-10, 100, counts, gaps, steps)
    return (*entries, counts, gaps)
