"""Marginal and pairwise counts of a coded table, and counts of pairs of states within segments of its rows.

A segment is all rows, or the rows of each state of a class. The functions that count a partition are called by
``DiscreteTable.reduce``: on this machine, or by the workers of a distributed table, which import only this module.
"""

from functools import partial
from typing import Any

import numpy as np

from pgmx._ext import _counts, _pair_weights
from pgmx.data import DiscreteTable
from pgmx.parallel.threads import call_on_threads

# Rows of the pair counts that one task computes: a multiple of the kernel's tile.
_TASK_ROWS = 128

#: Approximate seconds per word of two bit planes on one processor; decides whether threads are used.
WORD_PAIR_SECONDS = 5e-11

#: Maximum bytes of pair counts that are summed over the partitions of a distributed table, and that a partition keeps.
DISTRIBUTED_MEMORY, KEPT_MEMORY = 1 << 32, 1 << 26


def narrow_counts(counts: np.ndarray) -> np.ndarray:
    """Return counts in the smallest sufficient unsigned type, to be sent."""
    return counts.astype(np.min_scalar_type(int(counts.max(initial=0))))


def add_counts(counts: list[np.ndarray]) -> np.ndarray:
    """Add the counts of some partitions, in the smallest type for sending."""
    return narrow_counts(np.asarray(np.sum(counts, axis=0, dtype=np.uint64)))


def add_weights(sums: list[np.ndarray]) -> np.ndarray:
    """Add the sums of weights of some partitions, in the order of the partitions."""
    return np.sum(sums, axis=0)


def marginal_counts(table: DiscreteTable) -> np.ndarray:
    """Return the number of rows in each state, variable by variable.

    Parameters
    ----------
    table : DiscreteTable
        Coded table of n variables and N rows. The workers of a distributed table count its partitions.

    Returns
    -------
    ndarray of shape (sum of states,), uint32, or uint64 if a distributed table has 2**32 rows or more
        Counts of variable v begin at ``cumsum(cardinalities)[v - 1]``. The counts of each variable add up to N.

    Notes
    -----
    Cost: one pass over the planes, or over the codes of variables without planes.

    Examples
    --------
    >>> from pgmx.data import encode
    >>> import pandas as pd
    >>> marginal_counts(encode(pd.DataFrame({"a": ["x", "y", "x"], "b": [1, 1, 1]}))).tolist()
    [2, 1, 3]
    """
    counts = table.reduce(_count_states, add=add_counts)
    return counts.astype(np.uint64 if table.has_wide_counts else np.uint32)


def _count_states(partition: Any) -> np.ndarray:
    """Return the counts of the states in a partition, by their planes if they have some."""
    table = partition.table
    offsets = table.plane_offsets
    of_planes = _counts.count_planes(table.planes)
    # otherwise variables with many states have no planes, and their codes are counted
    if len(of_planes) == table.cardinalities.sum():
        return narrow_counts(of_planes)
    counts = [
        of_planes[offsets[v] : offsets[v + 1]]
        if offsets[v + 1] > offsets[v]
        else np.bincount(table.codes[v], minlength=table.cardinalities[v]).astype(np.uint32)
        for v in range(table.n_variables)
    ]
    return narrow_counts(np.concatenate(counts))


def marginal_weights(table: DiscreteTable, weights: np.ndarray | None = None) -> np.ndarray:
    """Return the float64 sums of the row weights in each state, variable by variable.

    By default the weights of a distributed table are the weights that its workers keep, see ``weigh_rows``.
    """
    return table.reduce(_weigh_states, add=add_weights, weights=weights)


def _weigh_states(partition: Any) -> np.ndarray:
    columns = zip(partition.table.codes, partition.table.cardinalities, strict=True)
    return np.concatenate([np.bincount(codes, partition.weights, minlength=states) for codes, states in columns])


def pair_planes(table: DiscreteTable) -> np.ndarray:
    """Return the planes for pair counts: all states of a variable except the last.

    The counts of the last state follow from the marginals. Variables without planes contribute none.
    """
    first, end = table.plane_offsets[:-1], table.plane_offsets[1:]
    keep = np.ones(int(table.plane_offsets[-1]), dtype=bool)
    keep[(end - 1)[end > first]] = False
    return np.flatnonzero(keep).astype(np.int64)


def pair_counts(table: DiscreteTable, *, n_jobs: int | None = None, memory: int = 1 << 28) -> np.ndarray | None:
    r"""Return the joint counts of all pairs of states, by bit planes.

    .. math:: C_{ij} = |P_i \cap P_j|, \qquad j \ge i

    Parameters
    ----------
    table : DiscreteTable
        Coded table of n variables and N rows. The workers of a distributed table count its partitions.
    n_jobs : int or None, default=None
        Number of threads. The result does not depend on it.
    memory : int, default=2**28
        Maximum bytes of the result; None is returned if it would be larger. A distributed table may use at least 4 GiB,
        raises ValueError beyond, and must have fewer than 2**32 rows.

    Returns
    -------
    ndarray of shape (m, m), uint32, or None
        Counts over the m planes: all states of each variable except the last, whose counts follow from the marginals.
        Only the upper triangle is meaningful.

    Notes
    -----
    Cost: m² / 2 · N / 512 vector operations with AVX-512; m² · 4 bytes.

    Examples
    --------
    >>> from pgmx.data import encode
    >>> import pandas as pd
    >>> table = encode(pd.DataFrame({"a": ["x", "y", "x"], "b": [1, 1, 2]}))
    >>> np.triu(pair_counts(table)).tolist()  # planes a=x and b=1: two rows each, one row in both
    [[2, 1], [0, 2]]
    """
    chosen = pair_planes(table)
    m = len(chosen)
    if table.is_remote:  # without the counts of all pairs, each pair would need a message: None is no choice
        return _sum_pairs(table, m, max(memory, DISTRIBUTED_MEMORY))
    if 4 * m * m > memory:
        return None
    counts = np.zeros((m, m), dtype=np.uint32)
    if m == 0:
        return counts
    seconds = WORD_PAIR_SECONDS * m * m / 2 * table.planes.shape[1]
    call_on_threads(
        (
            partial(_counts.count_pairs, table.planes, chosen, first, min(first + _TASK_ROWS, m), counts)
            for first in range(0, m, _TASK_ROWS)
        ),
        n_jobs,
        seconds,
    )
    return counts


def _sum_pairs(table: DiscreteTable, m: int, memory: int) -> np.ndarray:
    """Return the pair counts of m planes of a distributed table; ValueError if they need more than `memory` bytes."""
    if 4 * m * m > memory:
        raise ValueError(
            f"the pair counts of {m} states (without the last of each variable) need {4 * m * m / 2**30:.0f} "
            f"GiB, more than the limit of {memory / 2**30:.0f} GiB of a distributed table. Use fewer variables, "
            "merge rare states, or learn a ChowLiuForest, which counts block by block"
        )
    counts = np.zeros((m, m), dtype=np.uint32)
    if m:
        counts[np.triu_indices(m)] = table.reduce(_count_pairs, add=add_counts)
    return counts


def _count_pairs(partition: Any) -> np.ndarray:
    """Return the upper triangle of the pair counts of a partition."""
    chosen = pair_planes(partition.table)
    counts = np.zeros((len(chosen), len(chosen)), dtype=np.uint32)
    for first in range(0, len(chosen), _TASK_ROWS):
        _counts.count_pairs(partition.table.planes, chosen, first, min(first + _TASK_ROWS, len(chosen)), counts)
    if counts.nbytes <= KEPT_MEMORY:
        partition.cache["pair_counts"] = counts  # counts of families with one parent are derived from them
    return narrow_counts(counts[np.triu_indices(len(chosen))])


# ---- pairs within segments ----

#: Variables, and the class whose states define the segments, if there is one.
Segments = tuple[list[int], int | None]


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


def count_segments(partition: Any, segments: Segments) -> np.ndarray:
    """Return the counts of a partition by state within each segment, and keep its planes for later blocks."""
    kernel, marginals = _make_counter(partition, segments)
    with partition.lock:
        partition.cache["segments"] = segments, kernel
    return narrow_counts(marginals)


def count_segment_pairs(partition: Any, segments: Segments, block: np.ndarray, others: np.ndarray) -> np.ndarray:
    """Return the joint counts of the states of a block of variables and the states of others, in a partition."""
    with partition.lock:
        if partition.cache.get("segments", (None,))[0] != segments:  # the partition was rebuilt after a worker was lost
            partition.cache["segments"] = segments, _make_counter(partition, segments)[0]
        return narrow_counts(partition.cache["segments"][1].count_block(block, others))


def _make_counter(partition: Any, segments: Segments) -> tuple[_pair_weights.PairWeights, np.ndarray]:
    variables, class_node = segments
    planes, offsets, bounds, marginals = arrange_planes(partition.table, np.array(variables), class_node)
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
            planes_of_state, _ = _counts.pack_planes(np.ascontiguousarray(table.codes[:, rows]), table.cardinalities)
            planes[:, bounds[state] : bounds[state + 1]] = planes_of_state
            marginals[state] = _counts.count_planes(planes_of_state)
    return planes, bounds, marginals


def _align_words(planes: np.ndarray) -> np.ndarray:
    copy = _counts.aligned_words(*planes.shape)
    copy[:] = planes
    return copy
