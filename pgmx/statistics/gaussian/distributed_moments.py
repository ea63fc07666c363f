"""Moments of a distributed table of numbers: parts are summed by their workers, merged sums go to the driver."""

from typing import Any

import numpy as np

from pgmx.data import DistributedNumericTable
from pgmx.data.weights import narrow_weights
from pgmx.statistics.moments import Moments


def sum_moments(table: DistributedNumericTable, weights: np.ndarray | None = None) -> Moments:
    """Return the moments of all rows: those of the parts, merged in the order of the parts in a tree of twos."""
    if weights is None:
        return table.reduce(compute_part_moments, add=merge_moments)
    if table.row_weights is not None and np.array_equal(weights, table.row_weights):
        return table.reduce(compute_weighted_moments, add=merge_moments)
    return table.reduce(compute_part_moments, add=merge_moments, values=narrow_weights(weights))


def compute_part_moments(part: Any, weights: np.ndarray | None = None) -> Moments:
    """Return the moments of the rows of a part."""
    moments, first = Moments(len(part.names)), 0
    for block in part.blocks:
        stop = first + len(block)
        moments.update(block, None if weights is None else weights[first:stop])
        first = stop
    return moments


def compute_weighted_moments(part: Any) -> Moments:
    """Return the moments of the rows of a part, with the weights that it keeps."""
    return compute_part_moments(part, part.weights)


def merge_moments(parts: list[Moments]) -> Moments:
    """Return the moments of the rows of some parts, which are left as they are."""
    merged = Moments(len(parts[0].mean))
    with np.errstate(over="ignore", invalid="ignore"):  # whoever uses the moments names the columns
        for part in parts:
            merged.merge(part)
    return merged
