"""Edges of the bins of one column, from its values alone; scikit-learn finds them."""

import warnings

import numpy as np
from numpy.typing import ArrayLike

#: Names of the methods that choose edges column by column, and their names in scikit-learn.
STRATEGIES = {"quantile": "quantile", "interval": "uniform", "kmeans": "kmeans"}


def find_edges(values: np.ndarray, method: str, n_bins: int) -> np.ndarray:
    """Return the edges of at most `n_bins` bins, strictly increasing, of finite values; one value has two edges.

    Bins of equal width may hold no value; those of other methods hold some.
    """
    from sklearn.preprocessing import KBinsDiscretizer

    low, high = values.min(), values.max()
    if low == high:
        return np.array([low, high])
    distinct = np.unique(values)
    if method != "interval" and len(distinct) <= n_bins:  # quantiles of few values are equal, and clusters may be empty
        return _part_values(distinct, np.arange(1, len(distinct)))
    # scikit-learn leaves out bins narrower than 1e-8: widths are made relative, by a power of two, which is exact
    exponent = int(np.frexp(high / 2 - low / 2)[1]) + 1
    options = {"encode": "ordinal", "strategy": STRATEGIES[method], "subsample": None}
    if "quantile_method" in KBinsDiscretizer().get_params():  # since 1.7; "linear" was the method before
        options["quantile_method"] = "linear"
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Bins whose width are too small", UserWarning)
        warnings.filterwarnings("ignore", "Number of distinct clusters", UserWarning)
        found = KBinsDiscretizer(n_bins=n_bins, **options).fit(np.ldexp(values, -exponent)[:, None])
    edges = np.ldexp(found.bin_edges_[0], exponent)
    edges = edges[np.append(True, np.diff(edges) > 0)]
    if method != "interval":  # between ties there may be two quantiles, or a cluster, without a value
        edges = edges[np.append(count_values(values, edges) > 0, True)]
    if len(edges) > 2:
        return edges
    below = np.searchsorted(np.sort(values), distinct[1:])  # nearly all rows have one value
    return _part_values(distinct, [1 + int(np.argmin(np.abs(2 * below - len(values))))])


def _part_values(distinct: np.ndarray, places: ArrayLike) -> np.ndarray:
    """Return the edges of bins that separate ascending values midway before some of them."""
    at = np.asarray(places)
    cuts = distinct[at - 1] / 2 + distinct[at] / 2
    cuts = np.where(cuts > distinct[at - 1], cuts, distinct[at])  # adjacent floats have no value between them
    return np.concatenate([distinct[:1], cuts, [max(distinct[-1], np.nextafter(cuts[-1], np.inf))]])


def count_values(values: np.ndarray, edges: np.ndarray) -> np.ndarray:
    """Return the number of values in each bin; none of the values is missing."""
    return np.bincount(find_bins(values, edges), minlength=len(edges) - 1)


def find_bins(values: np.ndarray, edges: np.ndarray) -> np.ndarray:
    """Return the bin of each value, -1 if it is missing; the k-th bin is [edges[k], edges[k + 1])."""
    bins = np.searchsorted(edges[1:-1], values, side="right")
    return np.where(np.isnan(values), -1, bins)
