"""The memory that learning a Markov network takes, counted from shapes."""

import numpy as np
from numpy.typing import ArrayLike

from pgmx.data.memory import size_table
from pgmx.estimators.cost import LearningCost

#: Bytes per pair that is stored with its score, and per pair that waits in a heap; bytes per cell that is being scored.
PAIR_BYTES, HEAP_BYTES, CELL_BYTES = 64, 60, 48

#: Pairs that wait in a heap at most, and bytes of a pair that failed its test, see search.edges.tested_pairs.
HEAP_PAIRS, FROZEN_BYTES = 1 << 22, 12

#: Cells that are scored at a time.
SCORED_CELLS = 1 << 20

#: Rounds per variable in which a stream finds its first edges, several in each; bytes of the parameters that a run on a
#: loss which is not convex has passed through, see search.edges.iterates, and what thinning them out leaves unused.
FIRST_ROUNDS, ITERATE_BYTES = 0.1, 1 << 27


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
    """Return the cost of grafting a Markov network of two edges per variable, at most.

    With fewer edges a stream is taken to test half of the pairs once, most of them between variables without edges.
    """
    cards = np.asarray(cardinalities, dtype=np.int64)
    n, states = len(cards), int(cards.sum())
    codes, planes = size_table(n_rows, cards)
    pairs = n * (n - 1) // 2
    cells, inner = (float(k.sum() ** 2 - (k**2).sum()) / 2 for k in (cards.astype(float), cards - 1.0))
    edges = 2 * n if max_edges is None else min(2 * n, max_edges)
    tables = int(8 * cells if weighted else 4 * inner) + pairs
    tables = tables if tables <= table_memory else stream_table_memory if is_stream else table_memory
    waiting = PAIR_BYTES * pairs
    if is_stream:
        frozen = FROZEN_BYTES * max(HEAP_PAIRS, pairs // 16)
        again = min(1.0, max(0.0, edges / n - 1.0))  # a run to few edges ends in the first pass, and none waits again
        waiting = int((again * HEAP_BYTES + FROZEN_BYTES) * pairs) if pairs <= HEAP_PAIRS else pairs + frozen
    scored = min(cells, SCORED_CELLS / 8 if is_stream else SCORED_CELLS)
    parameters = int(48 * edges * (cells / max(pairs, 1)))
    rows = sides = 0
    if loss == "pseudolikelihood":
        rows = int(4 * n_rows * states * min(1.0, 2 * edges / max(n, 1))) + codes
        sides = 0 if is_stream else 4 * states**2 + 8 * n * n
    if loss == "bethe" and is_stream:
        rounds = FIRST_ROUNDS * n + max(0.0, edges - n)
        parameters += int(min(ITERATE_BYTES, 8 * rounds * (edges / 2 * cells / max(pairs, 1) + states)))
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
