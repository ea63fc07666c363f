"""Columns in rank order, the input of rank correlations and marginal transforms."""

from dataclasses import dataclass
from functools import partial

import numpy as np

from pgmx.checks import as_reals
from pgmx.parallel.threads import call_on_threads

#: Number of values per block that a thread ranks.
_BLOCK_CELLS = 1 << 18


@dataclass(frozen=True)
class RankedColumns:
    """The order of the n rows in each of p columns, missing values last."""

    order: np.ndarray  # rows by rising value, int32 of shape (p, n)
    #: number of smaller observed values per row, the same for equal values; -1 if missing; int32 of shape (p, n)
    codes: np.ndarray
    n_known: np.ndarray  # number of observed values, int64 of shape (p,)
    tied_pairs: np.ndarray  # number of pairs of rows with equal observed values, int64 of shape (p,)

    def compute_doubled_ranks(self, columns=None) -> np.ndarray:
        """Return twice the average ranks minus their mean, whole numbers, float64 (k, n); 0 if missing."""
        columns = range(len(self.codes)) if columns is None else columns
        n = self.codes.shape[1]
        doubled = np.empty((len(columns), n))
        for k, j in enumerate(columns):
            known = self.codes[j] >= 0
            group = np.bincount(self.codes[j][known], minlength=n)
            np.take(2.0 * np.arange(n) + group - self.n_known[j], self.codes[j], out=doubled[k], mode="clip")
            doubled[k][~known] = 0.0
        return doubled


def check_rows(X, missing: str) -> np.ndarray:
    """Return X as float64 of shape (n, p), after checking it."""
    if missing not in ("error", "pairwise"):
        raise ValueError(f"missing must be 'error' or 'pairwise', got {missing!r}")
    X = as_reals(X, "the cells of X").astype(np.float64, copy=False)
    if X.ndim != 2 or len(X) < 2:
        raise ValueError(f"a correlation needs a table of at least 2 rows, got the shape {X.shape}")
    if missing == "error":
        unknown = np.flatnonzero(np.isnan(X.min(axis=0)))
        if len(unknown):
            shown = unknown[:10].tolist()
            raise ValueError(
                f"the columns at positions {shown}{' and others' if len(unknown) > 10 else ''} have missing values: "
                "drop these rows, or pass missing='pairwise'"
            )
    return X


def rank_columns(X: np.ndarray, n_jobs: int | None = None) -> RankedColumns:
    """Rank the columns of X (n, p); NaN means missing."""
    n, p = X.shape
    if n >= 2**31:
        raise ValueError(f"at most 2**31 - 1 rows can be ranked, got {n}")
    ranked = RankedColumns(
        np.empty((p, n), dtype=np.int32),
        np.empty((p, n), dtype=np.int32),
        np.empty(p, dtype=np.int64),
        np.empty(p, dtype=np.int64),
    )
    step = max(1, _BLOCK_CELLS // max(1, n))
    blocks = [slice(first, min(first + step, p)) for first in range(0, p, step)]
    call_on_threads((partial(_rank, X, block, ranked) for block in blocks), n_jobs)
    return ranked


def _rank(X: np.ndarray, block: slice, ranked: RankedColumns) -> None:
    values = np.ascontiguousarray(X[:, block].T)
    n = values.shape[1]
    order = np.argsort(values, axis=1)  # the order of ties is arbitrary: no result depends on it
    values = np.take_along_axis(values, order, axis=1)
    known = n - np.isnan(values).sum(axis=1)
    first = np.zeros(values.shape, dtype=np.int32)
    first[:, 1:] = np.where(values[:, 1:] != values[:, :-1], np.arange(1, n, dtype=np.int32), 0)
    np.maximum.accumulate(first, axis=1, out=first)
    unknown = np.arange(n) >= known[:, None]
    # A row with k equal values before it in the order adds k tied pairs.
    ranked.tied_pairs[block] = np.where(unknown, 0, np.arange(n) - first.astype(np.int64)).sum(axis=1)
    first[unknown] = -1
    np.put_along_axis(ranked.codes[block], order, first, axis=1)
    ranked.order[block] = order
    ranked.n_known[block] = known
