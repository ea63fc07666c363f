"""Moments of a distributed numeric table: workers sum their partitions and send merged sums to the driver."""

from typing import Any

import numpy as np

from pgmx.data import DistributedNumericTable
from pgmx.statistics.moments import Moments


def sum_moments(table: DistributedNumericTable, weights: np.ndarray | None = None) -> Moments:
    """Return the moments of all rows: moments of the partitions, merged in order in a binary tree."""
    if weights is None:
        return table.reduce(compute_part_moments, add=merge_moments)
    return table.reduce(compute_weighted_moments, add=merge_moments, weights=weights)


def compute_part_moments(part: Any, weights: np.ndarray | None = None) -> Moments:
    """Return the moments of the rows of a partition."""
    moments, first = Moments(len(part.names)), 0
    for block in part.blocks:
        stop = first + len(block)
        moments.update(block, None if weights is None else weights[first:stop])
        first = stop
    return moments


def compute_weighted_moments(part: Any) -> Moments:
    """Return the moments of the rows of a partition, with its stored weights."""
    return compute_part_moments(part, part.weights)


def merge_moments(parts: list[Moments]) -> Moments:
    """Return the moments of the rows of some partitions, which are not changed."""
    merged = Moments(len(parts[0].mean))
    with np.errstate(over="ignore", invalid="ignore"):  # the caller reports the columns
        for part in parts:
            merged.merge(part)
    return merged
