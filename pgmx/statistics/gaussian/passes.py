"""One pass over rows that ends in a correlation matrix, or in a thin factor of it."""

from typing import NamedTuple

import numpy as np
from scipy.linalg import lapack

from pgmx.checks import join_names
from pgmx.statistics.gaussian.nearest_correlation import nearest_correlation
from pgmx.statistics.gaussian.pairwise_moments import PairwiseMoments
from pgmx.statistics.gaussian.thin_factor import RowStore, thin_factor
from pgmx.statistics.moments import Moments
from pgmx.statistics.ranks.correlation import latent_correlation
from pgmx.statistics.ranks.transforms import MarginalTransforms

#: A matrix of p columns is repaired where an eigenvalue lies below minus this, times p.
_LEAST_EIGENVALUE = 1e-10

_NO_WEIGHT = (
    "all rows of a part have the weight 0, which leaves it no correlation: leave rows without weight out, or take "
    "fewer parts"
)


class Found(NamedTuple):
    """What a pass found."""

    n_rows: float
    mean: np.ndarray
    scale: np.ndarray
    #: Positions of the constant columns, which are uncorrelated with all others.
    constant: np.ndarray
    correlation: np.ndarray | None
    factor: np.ndarray | None = None
    #: Whether the correlation may be indefinite.
    uncertain: bool = False
    transforms: object = None


class CompletePass:
    """Pass over rows without missing cells.

    The rows themselves are kept until there are as many as columns, then only their moments.

    Parameters
    ----------
    n_columns : int
        p.
    n_expected : int or None
        Number of rows that will come, None where nobody knows.
    on_disk : bool
        Whether kept rows go to a file.
    """

    def __init__(self, n_columns, n_expected, on_disk):
        self._n_columns = n_columns
        self._moments: Moments | None = None  # p² numbers, which few rows of many columns do without
        many = n_expected is not None and n_expected >= n_columns
        self._store = None if many else RowStore(n_columns, on_disk)
        self._weights: list[np.ndarray] = []

    def add(self, rows, weights=None):
        """Add rows, with their weights where there are some."""
        if weights is not None:
            rows, weights = rows[weights > 0], weights[weights > 0]
        if not len(rows):
            return
        if self._store is not None and self._store.n_rows + len(rows) >= self._store.n_columns:
            self._count(self._store, self._stored_weights())
            self._store, self._weights = None, []
        if self._store is None:
            self._counted().update(rows, weights)
            return
        self._store.add(rows)
        if weights is not None:
            self._weights.append(weights)

    def _count(self, store, weights):
        first = 0
        for block in store.blocks():
            stop = first + len(block)
            self._counted().update(block, None if weights is None else weights[first:stop])
            first = stop
        store.close()

    def _counted(self):
        if self._moments is None:
            self._moments = Moments(self._n_columns)
        return self._moments

    def _stored_weights(self):
        return np.concatenate(self._weights) if self._weights else None

    def finish(self, names, isolate=False):
        """Return what was found."""
        if self._store is None:
            return _of_moments(self._counted())
        if not self._store.n_rows:
            raise ValueError(_NO_WEIGHT)
        weights = self._stored_weights()
        n_rows = float(self._store.n_rows if weights is None else weights.sum())
        factor, mean, scale, constant = thin_factor(self._store, weights)
        self._store.close()
        return Found(n_rows, mean, scale, constant, None, factor)


def _of_moments(moments):
    constant = moments.constant_columns
    constant = constant[np.isfinite(moments.cross[constant, constant])]  # numbers too large to square are no constants
    moments.cross[constant] = moments.cross[:, constant] = 0.0
    moments.cross[constant, constant] = moments.n
    scale = np.sqrt(moments.cross.diagonal() / moments.n)
    return Found(moments.n, moments.mean, scale, constant, moments.correlation)


class PairwisePass:
    """Pass over rows of which cells are missing.

    Parameters
    ----------
    n_columns : int
        p.
    """

    def __init__(self, n_columns):
        self._moments = PairwiseMoments(n_columns)

    def add(self, rows, weights=None):
        """Add rows, with their weights where there are some."""
        self._moments.update(rows, weights)

    def finish(self, names, isolate=False):
        """Return what was found; columns without rows in common are an error, or else uncorrelated."""
        moments = self._moments
        if not moments.pairs.any():
            raise ValueError(_NO_WEIGHT)
        n_rows = _rows_behind(moments.pairs, names, isolate)
        constant = moments.constant_columns
        scale, correlation = moments.scale, moments.correlation
        _isolate(correlation, scale, constant)
        return Found(n_rows, moments.mean, scale, constant, correlation, uncertain=True)


def _rows_behind(pairs, names, isolate):
    """Return the smallest number of rows behind a pair of columns."""
    if not isolate:
        _check_pairs(pairs, names)
    return float(pairs[pairs > 0].min(initial=pairs.max()))


def _check_pairs(pairs, names):
    """Refuse pairs of columns that are known together nowhere."""
    apart = np.argwhere(np.triu(pairs <= 0))
    empty = [names[i] for i, j in apart.tolist() if i == j]
    if empty:
        raise ValueError(f"column(s) {join_names(empty)} have no known cell: leave them out")
    if len(apart):
        shown = "; ".join(f"{names[i]!r} and {names[j]!r}" for i, j in apart[:5].tolist())
        more = f" and {len(apart) - 5} more pairs" if len(apart) > 5 else ""
        raise ValueError(f"columns that are never known in the same row: {shown}{more}. Leave one of each pair out")


def _isolate(correlation, scale, constant):
    correlation[constant] = correlation[:, constant] = 0.0
    correlation[constant, constant] = 1.0
    scale[constant] = 1.0


def repair(correlation):
    """Return the nearest correlation matrix where this one is indefinite, and the largest change; else it and 0.0."""
    if is_definite(correlation, _LEAST_EIGENVALUE * len(correlation)):
        return correlation, 0.0
    near, _ = nearest_correlation(correlation)
    return near, float(np.abs(near - correlation).max())


def is_definite(matrix, shift):
    """Tell whether matrix + shift I is positive definite."""
    shifted = np.array(matrix, order="F")
    shifted[np.diag_indices_from(shifted)] += shift
    _, info = lapack.dpotrf(shifted, lower=True, overwrite_a=True, clean=False)
    return info == 0


def ranked(rows, names, method, missing, n_jobs, isolate=False):
    """Return what ranks tell of rows, as `PairwisePass.finish` does, and the maps to normal scores unless `isolate`."""
    known = ~np.isnan(rows)
    n_rows = float(len(rows))
    if not known.all():
        shares = known.astype(np.float64)
        n_rows = _rows_behind(shares.T @ shares, names, isolate)
    mean, scale, constant = _means_and_scales(rows, known)
    missing = "pairwise" if missing == "pairwise" else "error"
    correlation = latent_correlation(rows, method, missing=missing, n_jobs=n_jobs)
    _isolate(correlation, scale, constant)
    transforms = None if isolate else MarginalTransforms.of(rows, method)
    return Found(n_rows, mean, scale, constant, correlation, uncertain=True, transforms=transforms)


def _means_and_scales(rows, known):
    """Return means and standard deviations over the known cells, and the constant columns."""
    low, high = np.fmin.reduce(rows, axis=0), np.fmax.reduce(rows, axis=0)
    n = np.maximum(known.sum(axis=0), 1)
    first = low + np.where(known, rows - low, 0.0).sum(axis=0) / n
    centred = np.where(known, rows - first, 0.0)
    rest = centred.sum(axis=0) / n
    variance = np.maximum((centred * centred).sum(axis=0) / n - rest * rest, 0.0)
    rounding = np.maximum(np.abs(low), np.abs(high)) * 1e-15
    constant = np.flatnonzero(~(high > low) | ((variance <= rounding**2) & np.isfinite(variance)))
    return first + rest, np.sqrt(variance), constant
