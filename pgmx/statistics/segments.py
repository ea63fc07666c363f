"""Counts of pairs of states within segments: all rows, or the rows of each state of a class.

Workers count the partitions of a distributed table; they import this module, but no scores.
"""

from typing import Any

import numpy as np

from pgmx._ext import _counts, _pair_weights
from pgmx.data import DiscreteTable
from pgmx.statistics.counts import marginal_counts, narrow_counts

#: Variables, and the class whose states define the segments, if there is one.
Share = tuple[list[int], int | None]


def arrange_planes(table: DiscreteTable, variables: np.ndarray, class_node: int | None):
    """Return planes and offsets of `variables`, the bounds of their segments in words, and counts within segments.

    There is one segment, or one for each state of `class_node`, by which the rows are sorted.
    """
    planes, bounds, marginals = _make_one_segment(table) if class_node is None else _sort_by_class(table, class_node)
    offsets = table.plane_offsets
    if len(variables) < table.n_variables:
        first = offsets.tolist()
        rows = np.concatenate([np.arange(first[v], first[v + 1]) for v in variables])
        planes, marginals = _align_words(planes[rows]), np.ascontiguousarray(marginals[:, rows])
        offsets = np.concatenate(([0], np.cumsum(table.cardinalities[variables]))).astype(np.int64)
    return planes, offsets, bounds, marginals


def count_segments(part: Any, share: Share) -> np.ndarray:
    """Return the counts of a partition by state within each segment, and keep its planes for later blocks."""
    kernel, marginals = _make_counter(part, share)
    with part.lock:
        part.cache["pairs"] = share, kernel
    return narrow_counts(marginals)


def count_block(part: Any, share: Share, block: np.ndarray, others: np.ndarray) -> np.ndarray:
    """Return the joint counts of the states of a block of variables and the states of others, in a partition."""
    with part.lock:
        if part.cache.get("pairs", (None,))[0] != share:  # the partition was rebuilt after a worker was lost
            part.cache["pairs"] = share, _make_counter(part, share)[0]
        return narrow_counts(part.cache["pairs"][1].count_block(block, others))


def _make_counter(part: Any, share: Share) -> tuple[_pair_weights.PairWeights, np.ndarray]:
    variables, class_node = share
    planes, offsets, bounds, marginals = arrange_planes(part.table, np.array(variables), class_node)
    counter = _pair_weights.PairWeights(
        planes, offsets, bounds, marginals, dirichlet=False, per_cell=False, prior=0.0, penalty=0.0
    )
    return counter, marginals


def _make_one_segment(table: DiscreteTable):
    """Return the planes of the table, the bounds of its one segment, and its marginal counts."""
    return table.planes, np.array([0, table.planes.shape[1]], dtype=np.int64), marginal_counts(table)[None]


def _sort_by_class(table: DiscreteTable, class_node: int):
    """Return planes with the rows sorted by the class, the bounds (in words) of each state, and marginals."""
    rows_of = [np.flatnonzero(table.codes[class_node] == state) for state in range(table.cardinalities[class_node])]
    bounds = np.cumsum([0, *((len(rows) + 511) // 512 * 8 for rows in rows_of)]).astype(np.int64)
    n_states = int(table.cardinalities.sum())
    planes = _counts.aligned_words(n_states, int(bounds[-1]))
    marginals = np.zeros((len(rows_of), n_states), dtype=np.uint32)
    for state, rows in enumerate(rows_of):
        if len(rows):
            part, _ = _counts.pack_planes(np.ascontiguousarray(table.codes[:, rows]), table.cardinalities)
            planes[:, bounds[state] : bounds[state + 1]] = part
            marginals[state] = _counts.count_planes(part)
    return planes, bounds, marginals


def _align_words(planes: np.ndarray) -> np.ndarray:
    copy = _counts.aligned_words(*planes.shape)
    copy[:] = planes
    return copy
