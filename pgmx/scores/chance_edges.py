"""The number of edges that a penalised likelihood adds by chance, if no two variables depend on each other.

An edge of d free parameters gains the log-likelihood ratio minus d times the cost of a parameter. Without dependence
twice the ratio has a chi-square distribution with d degrees of freedom (Wilks 1938), so that the edge is added with the
probability P(chi2_d > 2 d cost). For BIC, 2 cost = ln N. EBIC adds 2 gamma ln(p - 1) to the threshold.
"""

from typing import NamedTuple

import numpy as np
from scipy.special import chdtrc


class EdgePrice(NamedTuple):
    """What the edges between single variables cost.

    An edge between u and v has ``widths[u] widths[v]`` free parameters, twice as many between a discrete and a
    continuous variable if `is_continuous` is given: each state has a mean and a variance. A parameter costs `cost`, the
    first parent of a variable `choice` in addition, in nats. `n_rows` is the number of rows, or the sum of weights.
    """

    cost: float
    widths: np.ndarray
    n_rows: float
    is_continuous: np.ndarray | None = None
    choice: float = 0.0


def expect_chance_edges(price: EdgePrice | None) -> float:
    """Return the expected number of edges of independent variables; NaN without a price."""
    if price is None or not price.cost > 0.0:
        return float("nan")
    is_continuous = np.zeros(len(price.widths)) if price.is_continuous is None else price.is_continuous
    kinds, counts = np.unique(np.column_stack([price.widths, is_continuous]), axis=0, return_counts=True)
    # variables of equal width are alike: pairs are counted, not listed
    widths, is_continuous = kinds.T
    freedom = np.outer(widths, widths) * np.where(is_continuous[:, None] == is_continuous, 1.0, 2.0)
    n_pairs = np.outer(counts, counts) - np.diag(counts)
    shares = chdtrc(np.maximum(freedom, 1.0), 2.0 * (price.cost * freedom + price.choice))
    return float((np.where(freedom > 0, shares, 0.0) * n_pairs).sum() / 2.0)
