"""Checked weights of rows, and the weights of the rows that `missing` keeps."""

import numpy as np
from numpy.typing import ArrayLike

from pgmx.checks import check_weights
from pgmx.data.frame import Frame
from pgmx.data.numeric import NumericTable
from pgmx.data.table import DiscreteTable

#: Rows are repeated if integer weights add up to at most this many times the number of rows, else weighted one by one.
MOST_REPETITIONS = 4


def check_row_weights(sample_weight: ArrayLike, n_rows: int) -> np.ndarray | None:
    """Return the weights as an array, None if all are 1, or raise ValueError."""
    weights = check_weights(sample_weight, "sample_weight", n_rows)
    if np.asarray(sample_weight).dtype.kind in "iu":
        weights = np.asarray(sample_weight)  # exact beyond 2**53
    if weights.sum() < 1:
        raise ValueError(
            f"sample_weight add up to {weights.sum():g}, less than one row: a weight is the number of rows that a row "
            "represents, so scale them to add up to the number of rows"
        )
    return None if (weights == 1).all() else weights


def weights_of_complete_rows(weights: np.ndarray, data: Frame | DiscreteTable | NumericTable) -> np.ndarray:
    """Return the weights of the rows without missing values; coded and numeric tables have dropped the other rows."""
    if not isinstance(data, Frame):
        return weights
    of_complete = weights[data.complete_mask()]
    if not (of_complete > 0).any():
        raise ValueError("all rows without missing values have the sample_weight zero: no row is left to learn from")
    return of_complete


def combine_weights(
    table: DiscreteTable, weights: np.ndarray | None, factors: np.ndarray
) -> tuple[DiscreteTable, np.ndarray | None]:
    """Return a table and the products of both weights of its rows, None if rows could be repeated instead."""
    products = np.asarray(factors) if weights is None else weights * np.asarray(factors)
    counts = to_repetitions(products)
    if counts is not None and counts.sum() <= MOST_REPETITIONS * len(counts):
        return (table if (counts == 1).all() else table.repeat_rows(counts)), None
    return table, np.ascontiguousarray(products, dtype=np.float64)


def to_repetitions(weights: np.ndarray) -> np.ndarray | None:
    """Return weights as integers, None if they are not whole."""
    weights = np.asarray(weights)
    if weights.dtype.kind == "f" and not ((weights == np.floor(weights)) & (weights < 2**53)).all():
        return None
    return weights.astype(np.int64)


def narrow_weights(weights: np.ndarray) -> np.ndarray:
    """Return weights in the smallest type that holds them, since they are sent."""
    whole = to_repetitions(weights)
    return weights if whole is None else whole.astype(np.min_scalar_type(int(whole.max(initial=0))))
