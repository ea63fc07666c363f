"""Memory required for learning a Markov network, counted from shapes."""

import numpy as np
from numpy.typing import ArrayLike

from pgmx.data.memory import size_table
from pgmx.estimators.cost import LearningCost

#: Bytes per pair stored with its score, per pair waiting in a heap, and per cell while it is scored.
_PAIR_BYTES, _HEAP_BYTES, CELL_BYTES = 64, 60, 48

#: Largest number of pairs in a heap, and bytes per pair that failed its test, see search.edges.tested_pairs.
HEAP_PAIRS, FROZEN_BYTES = 1 << 22, 12

#: Number of cells scored at the same time.
_SCORED_CELLS = 1 << 20

#: Rounds per variable in which a stream finds its first edges, several per round; bytes of the earlier parameters of a
#: run on a non-convex loss, see search.edges.iterates, and the part that is unused after thinning.
_FIRST_ROUNDS, _ITERATE_BYTES = 0.1, 1 << 27


def estimate_markov(
    n_rows: int,
    cardinalities: ArrayLike,
    *,
    loss: str,
    is_stream: bool,
    table_memory: int,
    stream_table_memory: int,
    side_memory: int,
    weighted: bool = False,
    max_edges: float | None = None,
) -> LearningCost:
    """Return the cost of grafting a Markov network with at most two edges per variable.

    With fewer edges, a stream is assumed to test half of the pairs once, mostly between variables without edges.
    """
    cards = np.asarray(cardinalities, dtype=np.int64)
    n, states = len(cards), int(cards.sum())
    codes, planes = size_table(n_rows, cards)
    pairs = n * (n - 1) // 2
    cells, inner = (float(k.sum() ** 2 - (k**2).sum()) / 2 for k in (cards.astype(float), cards - 1.0))
    edges = 2 * n if max_edges is None else min(2 * n, max_edges)
    tables = int(8 * cells if weighted else 4 * inner) + pairs
    tables = tables if tables <= table_memory else stream_table_memory if is_stream else table_memory
    waiting = _PAIR_BYTES * pairs
    if is_stream:
        frozen = FROZEN_BYTES * max(HEAP_PAIRS, pairs // 16)
        again = min(1.0, max(0.0, edges / n - 1.0))  # with few edges a run ends in the first pass
        waiting = int((again * _HEAP_BYTES + FROZEN_BYTES) * pairs) if pairs <= HEAP_PAIRS else pairs + frozen
    scored = min(cells, _SCORED_CELLS / 8 if is_stream else _SCORED_CELLS)
    parameters = int(48 * edges * (cells / max(pairs, 1)))
    rows = sides = 0
    if loss == "pseudolikelihood":
        rows = int(4 * n_rows * states * min(1.0, 2 * edges / max(n, 1))) + codes
        sides = 0 if is_stream else 4 * states**2 + 8 * n * n
    if loss == "bethe" and is_stream:
        rounds = _FIRST_ROUNDS * n + max(0.0, edges - n)
        parameters += int(min(_ITERATE_BYTES, 8 * rounds * (edges / 2 * cells / max(pairs, 1) + states)))
    if loss == "exact":
        parameters += int(min(32 * np.prod(cards.astype(float)), 1 << 27))
    return LearningCost.from_bytes(
        codes=codes,
        planes=planes,
        gains=waiting,
        pair_counts=tables,
        kept_counts=rows + parameters,
        kept_rows=sides if sides <= side_memory else 0,
        scratch=int(CELL_BYTES * scored) + (8 * n_rows if weighted else 0),
    )
