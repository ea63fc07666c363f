"""Bins that keep the mutual information between the columns (Hartemink, 2001, section 5.2).

Each column begins with many bins. The columns alternate: each merges the two adjacent bins whose merger loses least of
the sum of its mutual information with all other columns, until its number of bins is small enough.
"""

from collections.abc import Sequence

import numpy as np

from pgmx.checks import join_names

#: Losses that differ by less, in nats, are treated as equal: then the lower bins are merged.
DECIMALS = 12

#: Most bytes of the counts of all pairs of bins.
MOST_BYTES = 2**31


def merge_bins(codes: Sequence[np.ndarray], n_states: Sequence[int], n_bins: dict[int, int]) -> dict[int, np.ndarray]:
    """Return the first initial bin of each final bin, by the positions in `n_bins` (position: most bins to keep).

    `codes` has the codes of all columns, -1 for missing values, below `n_states`; a pair counts the rows in which both
    are observed. Cost: n p² for n rows and p columns, then p S per merger, S being the sum of `n_states`.
    """
    counts, starts = _count_pairs(codes, n_states)
    firsts = {v: list(range(n_states[v])) for v in n_bins}
    stops = starts + np.array(n_states)  # shrinks with the bins: the block of v is starts[v] : stops[v]
    while any(len(firsts[v]) > most for v, most in n_bins.items()):
        for v, most in n_bins.items():
            if len(firsts[v]) > most:
                block = counts[starts[v] : stops[v]]
                others = [u for u in range(len(codes)) if u != v]
                first = int(np.argmin(np.round(_compute_losses(block, starts, stops, others), DECIMALS)))
                del firsts[v][first + 1]
                _merge(counts, starts[v] + first, stops[v])
                stops[v] -= 1
    return {v: np.array(kept) for v, kept in firsts.items()}


def check_size(n_states: Sequence[int], names: Sequence) -> None:
    """Refuse columns whose pairs of bins would take more than `MOST_BYTES`."""
    size = 8 * sum(n_states) ** 2
    if size > MOST_BYTES:
        raise ValueError(
            f"method='hartemink' counts all pairs of bins of the columns {join_names(names)}, which needs "
            f"{size / 2**30:.1f} GiB for {sum(n_states)} initial bins: lower n_initial_bins, or discretise groups of "
            "columns separately"
        )


def _count_pairs(codes, n_states) -> tuple[np.ndarray, np.ndarray]:
    """Return how often each two bins occur together, float64 (S, S), and the first position of each column's bins."""
    from scipy.sparse import csr_array

    starts = np.concatenate([[0], np.cumsum(n_states)[:-1]]).astype(np.int64)
    total = int(sum(n_states))
    counts = np.zeros((total, total))
    cells = np.stack([np.where(c < 0, -1, c + start) for c, start in zip(codes, starts, strict=True)], axis=1)
    for first in range(0, len(cells), 65_536):
        part = cells[first : first + 65_536]
        known = part >= 0
        ends = np.concatenate([[0], np.cumsum(known.sum(axis=1))])
        marks = csr_array((np.ones(int(ends[-1])), part[known], ends), shape=(len(part), total))
        product = (marks.T @ marks).tocoo()
        counts[product.row, product.col] += product.data
    return counts, starts


def _compute_losses(block: np.ndarray, starts: np.ndarray, stops: np.ndarray, others: Sequence[int]) -> np.ndarray:
    """Return the loss of each merger of adjacent rows of a block: of the sum of mutual informations, in nats."""
    losses = np.zeros(len(block) - 1)
    merged = block[:-1] + block[1:]
    cells = _x_log_x(block)
    cells = cells[:-1] + cells[1:] - _x_log_x(merged)
    for u in others:
        columns = slice(starts[u], stops[u])
        margin = block[:, columns].sum(axis=1)
        total = margin.sum()
        if total:
            own = _x_log_x(margin)
            own = own[:-1] + own[1:] - _x_log_x(margin[:-1] + margin[1:])
            losses += (cells[:, columns].sum(axis=1) - own) / total
    return losses


def _merge(counts: np.ndarray, first: int, stop: int) -> None:
    """Add row and column `first` + 1 to `first`, and move those up to `stop` one back, in place."""
    counts[first] += counts[first + 1]
    counts[first + 1 : stop - 1] = counts[first + 2 : stop]
    counts[:, first] += counts[:, first + 1]
    counts[:, first + 1 : stop - 1] = counts[:, first + 2 : stop]


def _x_log_x(counts: np.ndarray) -> np.ndarray:
    return counts * np.log(np.where(counts > 0, counts, 1.0))
