"""One pass over rows that gives a correlation matrix, or a thin factor of it."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from pgmx.checks import join_names
from pgmx.statistics.gaussian.nearest_correlation import is_definite, nearest_correlation
from pgmx.statistics.gaussian.thin_factor import RowStore, make_thin_factor
from pgmx.statistics.marginal_transforms import MarginalTransforms
from pgmx.statistics.moments import Moments, PairwiseMoments, find_constant_columns
from pgmx.statistics.rank_correlation import latent_correlation
from pgmx.statistics.symmetric import scale_to_correlation

#: A matrix of p columns is repaired if an eigenvalue is below minus this value times p.
_LEAST_EIGENVALUE = 1e-10

_NO_WEIGHT = (
    "all rows of a fold or subsample have weight 0, so it has no correlation: leave out rows without weight, or use "
    "fewer folds"
)


class PassResult(NamedTuple):
    """Correlations, or a thin factor of them, with means, scales and further results."""

    n_rows: float
    mean: np.ndarray
    scale: np.ndarray
    #: Positions of the constant columns, which are uncorrelated with all others.
    constant: np.ndarray
    correlation: np.ndarray | None
    factor: np.ndarray | None = None
    #: Whether the correlation may be indefinite.
    uncertain: bool = False
    transforms: MarginalTransforms | None = None


class CompletePass:
    """Pass over complete rows. Rows are stored (in a file if `on_disk`) until there are as many as columns."""

    def __init__(self, n_columns: int, n_expected: int | None, on_disk: bool):
        self._n_columns = n_columns
        self._moments: Moments | None = None  # p² values, not needed for few rows of many columns
        many = n_expected is not None and n_expected >= n_columns
        self._store = None if many else RowStore(n_columns, on_disk)
        self._weights: list[np.ndarray] = []

    def add(self, rows: np.ndarray, weights: np.ndarray | None = None) -> None:
        """Add rows, with their weights if there are any."""
        # rows without weight would count as rows of the thin factor
        if weights is not None:
            rows, weights = rows[weights > 0], weights[weights > 0]
        if not len(rows):
            return
        if self._store is not None and self._store.n_rows + len(rows) >= self._store.n_columns:
            self._summarise(self._store, self._join_weights())
            self._store, self._weights = None, []
        if self._store is None:
            self._open_moments().update(rows, weights)
            return
        self._store.add(rows)
        if weights is not None:
            self._weights.append(weights)

    def _summarise(self, store: RowStore, weights: np.ndarray | None) -> None:
        for first, stop, block in store.enumerate_blocks():
            self._open_moments().update(block, None if weights is None else weights[first:stop])
        store.close()

    def _open_moments(self) -> Moments:
        if self._moments is None:
            self._moments = Moments(self._n_columns)
        return self._moments

    def _join_weights(self) -> np.ndarray | None:
        return np.concatenate(self._weights) if self._weights else None

    def finish(self, names: Sequence, isolate: bool = False) -> PassResult:
        """Return the result of all rows."""
        if self._store is None:
            return summarise_moments(self._open_moments())
        if not self._store.n_rows:
            raise ValueError(_NO_WEIGHT)
        weights = self._join_weights()
        n_rows = float(self._store.n_rows if weights is None else weights.sum())
        factor, mean, scale, constant = make_thin_factor(self._store, weights)
        self._store.close()
        return PassResult(n_rows, mean, scale, constant, None, factor)


def summarise_moments(moments: Moments) -> PassResult:
    """Return the result of all rows from their moments; the cross-products are overwritten by the correlations."""
    constant = moments.constant_columns
    constant = constant[
        np.isfinite(moments.cross[constant, constant])
    ]  # columns whose squares overflow are not constant
    moments.cross[constant] = moments.cross[:, constant] = 0.0
    moments.cross[constant, constant] = moments.n
    scale = np.sqrt(moments.cross.diagonal() / moments.n)
    correlation = scale_to_correlation(moments.cross, out=moments.cross)
    return PassResult(moments.n, moments.mean, scale, constant, correlation)


class PairwisePass:
    """Pass over rows with missing values."""

    def __init__(self, n_columns: int):
        self._moments = PairwiseMoments(n_columns)

    def add(self, rows: np.ndarray, weights: np.ndarray | None = None) -> None:
        """Add rows, with their weights if there are any."""
        self._moments.update(rows, weights)

    def finish(self, names: Sequence, isolate: bool = False) -> PassResult:
        """Return the result of all rows; columns without common rows are an error, or uncorrelated."""
        moments = self._moments
        if not moments.pairs.any():
            raise ValueError(_NO_WEIGHT)
        n_rows = _count_rows_behind(moments.pairs, names, isolate)
        constant = moments.constant_columns
        scale, correlation = moments.scale, moments.correlation
        _isolate(correlation, scale, constant)
        return PassResult(n_rows, moments.mean, scale, constant, correlation, uncertain=True)


def _count_rows_behind(pairs, names, isolate):
    """Return the smallest number of common rows of a pair of columns."""
    if not isolate:
        _check_pairs(pairs, names)
    return float(pairs[pairs > 0].min(initial=pairs.max()))


def _check_pairs(pairs, names):
    """Refuse pairs of columns without common rows."""
    apart = np.argwhere(np.triu(pairs <= 0))
    empty = [names[i] for i, j in apart.tolist() if i == j]
    if empty:
        raise ValueError(f"column(s) {join_names(empty)} have no observed value: leave them out")
    if len(apart):
        shown = "; ".join(f"{names[i]!r} and {names[j]!r}" for i, j in apart[:5].tolist())
        more = f" and {len(apart) - 5} more pairs" if len(apart) > 5 else ""
        raise ValueError(
            f"columns that are never observed in the same row: {shown}{more}. Leave out one column of each pair"
        )


def _isolate(correlation, scale, constant):
    correlation[constant] = correlation[:, constant] = 0.0
    correlation[constant, constant] = 1.0
    scale[constant] = 1.0


def repair(correlation: np.ndarray) -> tuple[np.ndarray, float]:
    """Return the nearest correlation matrix of an indefinite one, and the largest change; otherwise it and 0.0."""
    if is_definite(correlation, _LEAST_EIGENVALUE * len(correlation)):
        return correlation, 0.0
    near, _ = nearest_correlation(correlation)
    return near, float(np.abs(near - correlation).max())


def summarise_ranks(
    rows: np.ndarray, names: Sequence, method: str, missing: str, n_jobs: int | None, isolate: bool = False
) -> PassResult:
    """Return the result of the ranks of rows, with the maps to normal scores unless `isolate`."""
    known = ~np.isnan(rows)
    n_rows = float(len(rows))
    if not known.all():
        shares = known.astype(np.float64)
        n_rows = _count_rows_behind(shares.T @ shares, names, isolate)
    mean, scale, constant = _compute_means_and_scales(rows, known)
    missing = "pairwise" if missing == "pairwise" else "error"
    correlation = latent_correlation(rows, method, missing=missing, n_jobs=n_jobs)
    _isolate(correlation, scale, constant)
    transforms = None if isolate else MarginalTransforms.from_rows(rows, method)
    return PassResult(n_rows, mean, scale, constant, correlation, uncertain=True, transforms=transforms)


def _compute_means_and_scales(rows: np.ndarray, known: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return means and standard deviations of the observed values, and the constant columns."""
    low, high = np.fmin.reduce(rows, axis=0), np.fmax.reduce(rows, axis=0)
    n = np.maximum(known.sum(axis=0), 1)
    first = low + np.where(known, rows - low, 0.0).sum(axis=0) / n
    centred = np.where(known, rows - first, 0.0)
    rest = centred.sum(axis=0) / n
    variance = np.maximum((centred * centred).sum(axis=0) / n - rest * rest, 0.0)
    return first + rest, np.sqrt(variance), find_constant_columns(low, high, variance)
