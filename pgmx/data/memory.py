"""Estimate of the memory that a run will need."""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from pgmx.checks import check_natural
from pgmx.data.columns import MAX_BYTE_STATES, MAX_STATES

#: Rows that are counted together at most: the memory for their counts does not grow with the table.
SEGMENT_ROWS = 1 << 17
#: Bytes per cell of a family; and most bytes of tables that are counted together, including a quarter of spare space.
CELL_BYTES, _MOST_TABLE_BYTES = 48, 5 << 23


class MemoryEstimate(NamedTuple):
    """Bytes that hill climbing with a discrete score needs.

    Attributes
    ----------
    codes, planes : int
        The coded table. If it is mapped from a plane file, they are in the system's file cache, not in the memory of
        the process.
    gains, pair_counts, kept_counts, kept_rows, scratch : int
        The working memory of a learner.
    total : int
        The sum.
    """

    codes: int
    planes: int
    gains: int
    pair_counts: int
    kept_counts: int
    kept_rows: int
    scratch: int
    total: int


def estimate_memory(
    n_rows: int,
    cardinalities: ArrayLike,
    *,
    pair_memory: int = 1 << 28,
    kept_memory: int | None = None,
    row_memory: int = 0,
    n_threads: int = 1,
) -> MemoryEstimate:
    r"""Estimate the memory that hill climbing with a discrete score needs.

    With N rows and n variables with :math:`r_v` states, S the sum of :math:`r_v` over the variables with at most 255
    states, and m the sum of :math:`r_v - 1` over the same variables,

    .. math::

        \text{codes} = b\,n\,N, \quad
        \text{planes} = 64\,\lceil N / 512 \rceil\,S, \quad
        \text{gains} = 32\,n^2, \quad
        \text{pair counts} = 4\,m^2, \quad
        \text{kept counts} \le n\,(N\,(4 R + 12) + 8\,n), \quad
        \text{scratch} = 40\,\min(N, 2^{17}) + 2^{16} + 48\,c + \min(5\,c\,S,\ 5 \cdot 2^{23})

    bytes, where b is 1, or 2 if some variable has more than 255 states, R is the sum of all :math:`r_v - 1`, and c
    the number of cells of a family of the two variables with most states, at most N. A gain is a float of 8 bytes and,
    while it is positive, 24 bytes in the queue of moves: the formula gives the maximum.
    Learners keep counts up to twice the sum of the first four terms and 1 MiB, and up to 64 MiB. Scratch holds the rows
    of one child's cells in a segment of the table, planes of the large cells, the cells with their counts for each
    candidate, and small objects.

    Parameters
    ----------
    n_rows : int
        Number of rows, at least 1.
    cardinalities : array_like of int, shape (n,)
        Number of states of each variable, 1 to 65535.
    pair_memory : int, default=2**28
        Pair counts that would need more are not stored.
    kept_memory : int, optional
        Limit of the counts that the scorer keeps of each child; the limit of the learners by default.
    row_memory : int, default=0
        Limit of the rows of gains that a search keeps if it returns to earlier graphs; threads share them.
    n_threads : int, default=1
        Threads that have a graph of their own, each with gains, kept counts and scratch; they share the rest.

    Returns
    -------
    MemoryEstimate
        Bytes of each item.

    Raises
    ------
    ValueError
        If the number of rows or a number of states is out of range.

    Notes
    -----
    Cost: arithmetic only. The source from which a table is coded needs its own memory in addition. Coding in chunks, as
    `write_table` does with files, needs the memory of a chunk: about 200 MB for 65536 rows of 100 columns. Interpreter
    and libraries need 110 MB, pgmpy and its imports as much again.

    Examples
    --------
    >>> from pgmx.data import estimate_memory
    >>> need = estimate_memory(5_000_000, [4] * 100)
    >>> need.codes, need.planes, need.gains, need.pair_counts
    (500000000, 250009600, 320000, 360000)
    """
    cards = np.asarray(cardinalities)
    is_vector = cards.dtype.kind in "iu" and cards.ndim == 1 and cards.size
    if not is_vector or cards.min() < 1 or cards.max() > MAX_STATES:
        raise ValueError(f"cardinalities must be a list of numbers of states from 1 to {MAX_STATES}")
    cards = cards.astype(np.int64)
    n_rows, n = check_natural(n_rows, "n_rows", 1), len(cards)
    packed = cards[cards <= MAX_BYTE_STATES]
    codes, planes = size_table(n_rows, cards)
    gains = 32 * n * n
    pairs = 4 * int((packed - 1).sum()) ** 2
    kept = n * (n_rows * (4 * int((cards - 1).sum()) + 12) + 8 * n)
    pairs = pairs if pairs <= pair_memory else 0
    if kept_memory is None:
        kept_memory = limit_kept_counts(codes + planes + gains + pairs)
    cells = min(n_rows, int(np.prod(np.sort(cards)[-2:])))
    tables = min(5 * cells * int(packed.sum()), _MOST_TABLE_BYTES)
    scratch = 40 * min(n_rows, SEGMENT_ROWS) + (1 << 16) + CELL_BYTES * cells + tables
    own = [check_natural(n_threads, "n_threads", 1) * part for part in (gains, min(kept, kept_memory), scratch)]
    parts = (codes, planes, own[0], pairs, own[1], row_memory, own[2])
    return MemoryEstimate(*parts, sum(parts))


def size_table(n_rows: int, cardinalities: np.ndarray) -> tuple[int, int]:
    """Return the bytes of the codes and of the planes of a table; variables with over 255 states have no planes."""
    packed = cardinalities[cardinalities <= MAX_BYTE_STATES]
    codes = len(cardinalities) * n_rows * (1 if len(packed) == len(cardinalities) else 2)
    return codes, 64 * -(-n_rows // 512) * int(packed.sum())


def limit_kept_counts(size: int) -> int:
    """Return how many bytes of counts a scorer keeps for a table, gains and pair counts of `size` bytes in total.

    More than twice `size` saves no time that could be measured on networks of 37 to 724 variables.
    """
    return min(1 << 26, (1 << 20) + 2 * size)
