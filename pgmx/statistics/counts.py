"""Marginal and pairwise counts of a coded table."""

from functools import partial

import numpy as np

from pgmx._ext import _counts
from pgmx.data import DiscreteTable, DistributedTable
from pgmx.parallel.threads import call_on_threads

# Rows of the pair counts that one task computes: a multiple of the kernel's tile.
_TASK_ROWS = 128

#: Seconds that a processor takes for a word of two bit planes, roughly: it decides whether threads pay.
WORD_PAIR_SECONDS = 5e-11

#: Rows of a distributed table from which on sums of counts are not sure to fit 32 bits.
WIDE_ROWS = 1 << 32

#: Most bytes of pair counts that are summed over the parts of a distributed table, and that a part keeps.
DISTRIBUTED_MEMORY, KEPT_MEMORY = 1 << 32, 1 << 26


def has_wide_counts(table: DiscreteTable) -> bool:
    """Return whether counts may need more than 32 bits, which those of one machine never do."""
    return isinstance(table, DistributedTable) and table.n_rows >= WIDE_ROWS


def narrow_counts(counts: np.ndarray) -> np.ndarray:
    """Return counts in the smallest unsigned type that holds them: they are sent."""
    return counts.astype(np.min_scalar_type(int(counts.max(initial=0))))


def add_counts(parts: list[np.ndarray]) -> np.ndarray:
    """Add the counts of some parts, as small as they can be sent."""
    return narrow_counts(np.asarray(np.sum(parts, axis=0, dtype=np.uint64)))


def _count_states_of_part(part) -> np.ndarray:
    return narrow_counts(marginal_counts(part.table))


def _weigh_states_of_part(part) -> np.ndarray:
    return marginal_weights(part.table, part.weights)


def _count_pairs_of_part(part) -> np.ndarray:
    """Return the upper triangle of the pair counts of a part."""
    chosen = pair_planes(part.table)
    counts = np.zeros((len(chosen), len(chosen)), dtype=np.uint32)
    for first in range(0, len(chosen), _TASK_ROWS):
        _counts.count_pairs(part.table.planes, chosen, first, min(first + _TASK_ROWS, len(chosen)), counts)
    if counts.nbytes <= KEPT_MEMORY:
        part.kept["pair_counts"] = counts  # families of one parent follow from them
    return narrow_counts(counts[np.triu_indices(len(chosen))])


def marginal_counts(table: DiscreteTable) -> np.ndarray:
    """Return the rows in each state, variable after variable.

    Parameters
    ----------
    table : DiscreteTable
        Coded table of n variables and N rows. The parts of a distributed one are counted by their workers.

    Returns
    -------
    ndarray of shape (sum of states,), uint32, or uint64 where a distributed table has 2**32 rows or more
        Counts of variable v begin at ``cumsum(cardinalities)[v - 1]``; each variable's counts add up to N.

    Notes
    -----
    Cost: one pass over the planes; over the codes of variables that have none.

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
    """Return the float64 sums of the weights of the rows in each state, variable after variable.

    A distributed table has its weights from ``weigh_rows``; they are summed by the workers.
    """
    if isinstance(table, DistributedTable):
        return table.reduce(_weigh_states_of_part, add=partial(np.sum, axis=0))
    columns = zip(table.codes, table.cardinalities, strict=True)
    return np.concatenate([np.bincount(codes, weights, minlength=states) for codes, states in columns])


def pair_planes(table: DiscreteTable) -> np.ndarray:
    """Return the planes that pair counts are taken over: all states of a variable but its last.

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
        Coded table of n variables and N rows. The parts of a distributed one are counted by their workers.
    n_jobs : int or None, default=None
        Threads; the result is the same for any number.
    memory : int, default=2**28
        Bytes that the result may take; None is returned when it would take more. A distributed table has 4 GiB at
        least, and raises ValueError beyond; its rows must be fewer than 2**32.

    Returns
    -------
    ndarray of shape (m, m), uint32, or None
        Counts over the m planes: all states of each variable but the last, whose counts follow from the marginals.
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
    if isinstance(table, DistributedTable):  # without the counts of all pairs, each pair would be a message
        memory = max(memory, DISTRIBUTED_MEMORY)
        if 4 * m * m > memory:
            raise ValueError(
                f"{m} states but the last of each variable make {4 * m * m / 2**30:.0f} GiB of pair counts, more than "
                f"the {memory / 2**30:.0f} GiB that a distributed table may send: take fewer variables, merge rare "
                "states, or learn a ChowLiuForest, which counts block by block"
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
