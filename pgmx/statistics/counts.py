"""Marginal and pairwise counts of a coded table."""

from functools import partial

import numpy as np

from pgmx._ext import _counts
from pgmx.data import DiscreteTable, DistributedTable
from pgmx.parallel.threads import call_on_threads

# Rows of the pair counts that one task computes: a multiple of the kernel's tile.
_TASK_ROWS = 128

#: Approximate seconds per word of two bit planes on one processor; decides whether threads are used.
WORD_PAIR_SECONDS = 5e-11

#: Number of rows of a distributed table from which sums of counts may not fit in 32 bits.
WIDE_ROWS = 1 << 32

#: Maximum bytes of pair counts that are summed over the partitions of a distributed table, and that a partition keeps.
DISTRIBUTED_MEMORY, KEPT_MEMORY = 1 << 32, 1 << 26


def has_wide_counts(table: DiscreteTable) -> bool:
    """Return whether counts may need more than 32 bits (never for a table on one machine)."""
    return isinstance(table, DistributedTable) and table.n_rows >= WIDE_ROWS


def narrow_counts(counts: np.ndarray) -> np.ndarray:
    """Return counts in the smallest sufficient unsigned type, to be sent."""
    return counts.astype(np.min_scalar_type(int(counts.max(initial=0))))


def add_counts(parts: list[np.ndarray]) -> np.ndarray:
    """Add the counts of some partitions, in the smallest type for sending."""
    return narrow_counts(np.asarray(np.sum(parts, axis=0, dtype=np.uint64)))


def _count_states_of_part(part) -> np.ndarray:
    return narrow_counts(marginal_counts(part.table))


def _weigh_states_of_part(part) -> np.ndarray:
    return marginal_weights(part.table, part.weights)


def _count_pairs_of_part(part) -> np.ndarray:
    """Return the upper triangle of the pair counts of a partition."""
    chosen = pair_planes(part.table)
    counts = np.zeros((len(chosen), len(chosen)), dtype=np.uint32)
    for first in range(0, len(chosen), _TASK_ROWS):
        _counts.count_pairs(part.table.planes, chosen, first, min(first + _TASK_ROWS, len(chosen)), counts)
    if counts.nbytes <= KEPT_MEMORY:
        part.cache["pair_counts"] = counts  # counts of families with one parent are derived from them
    return narrow_counts(counts[np.triu_indices(len(chosen))])


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
    if isinstance(table, DistributedTable):
        counts = table.reduce(_count_states_of_part, add=add_counts)
        return counts.astype(np.uint64 if has_wide_counts(table) else np.uint32)
    offsets = table.plane_offsets
    of_planes = _counts.count_planes(table.planes)
    if len(of_planes) == table.cardinalities.sum():
        return of_planes
    return np.concatenate(
        [
            of_planes[offsets[v] : offsets[v + 1]]
            if offsets[v + 1] > offsets[v]
            else np.bincount(table.codes[v], minlength=table.cardinalities[v]).astype(np.uint32)
            for v in range(table.n_variables)
        ]
    )


def marginal_weights(table: DiscreteTable, weights: np.ndarray | None = None) -> np.ndarray:
    """Return the float64 sums of the row weights in each state, variable by variable.

    The weights of a distributed table come from ``weigh_rows``; its workers sum them.
    """
    if isinstance(table, DistributedTable):
        return table.reduce(_weigh_states_of_part, add=partial(np.sum, axis=0))
    columns = zip(table.codes, table.cardinalities, strict=True)
    return np.concatenate([np.bincount(codes, weights, minlength=states) for codes, states in columns])


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
    if isinstance(table, DistributedTable):  # without the counts of all pairs, each pair would need a message
        memory = max(memory, DISTRIBUTED_MEMORY)
        if 4 * m * m > memory:
            raise ValueError(
                f"the pair counts of {m} states (without the last of each variable) need {4 * m * m / 2**30:.0f} "
                f"GiB, more than the limit of {memory / 2**30:.0f} GiB of a distributed table. Use fewer variables, "
                "merge rare states, or learn a ChowLiuForest, which counts block by block"
            )
    elif 4 * m * m > memory:
        return None
    counts = np.zeros((m, m), dtype=np.uint32)
    if m == 0:
        return counts
    if isinstance(table, DistributedTable):
        counts[np.triu_indices(m)] = table.reduce(_count_pairs_of_part, add=add_counts)
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
