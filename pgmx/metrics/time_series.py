"""Quality of the coefficients and the edges of a learned system, compared with the true ones and with rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from pgmx.checks import as_reals, check_natural

#: Rows that are predicted together.
_N_BLOCK_ROWS = 4096


class EdgeCurve(NamedTuple):
    """Receiver operating characteristic, and precision and recall, of edges ordered by their strengths.

    Parameters
    ----------
    false_positive_rate, true_positive_rate : ndarray of float64, shape (m,)
        Shares of the absent edges and of the true edges with a strength of at least the threshold, from 0 to 1.
    thresholds : ndarray of float64, shape (m,)
        Descending, the first one infinite.
    area : float
        Area under the curve, 1/2 for strengths without information; equal strengths count half.
    precision : ndarray of float64, shape (m,)
        Share of true edges among the pairs with a strength of at least the threshold; 1 at the infinite threshold. The
        recall is `true_positive_rate`.
    average_precision : float
        Mean of the precision, weighted by the increase of the recall; without information it is the share of edges
        among the pairs.

    Examples
    --------
    >>> from pgmx.metrics import edge_curve
    >>> curve = edge_curve([[0.0, 0.9], [0.4, 0.0]], [[0, 1], [0, 0]])
    >>> curve.area, curve.average_precision
    (1.0, 1.0)
    """

    false_positive_rate: np.ndarray
    true_positive_rate: np.ndarray
    thresholds: np.ndarray
    area: float
    precision: np.ndarray
    average_precision: float


def coefficient_error(coef, true_coef) -> float:
    r"""Return the relative error of coefficients, in the Frobenius norm over all lags.

    .. math:: \|\hat A - A\|_F \, / \, \|A\|_F

    Parameters
    ----------
    coef, true_coef : learner, LinearDynamicalSystem, array_like, sparse array, or sequence of arrays
        Coefficients [target, source]: shape (n, n) for lag 1 alone; for lags 0, 1, ..., L an array of shape
        (L + 1, n, n) or a sequence of L + 1 arrays, sparse or not. Lags that one of them does not have are zeros.

    Returns
    -------
    float
        0 for equal coefficients.

    Raises
    ------
    ValueError
        If shapes differ or are invalid, or all true coefficients are zero.

    Notes
    -----
    The cost is linear in the stored entries; sparse arrays stay sparse.

    References
    ----------
    .. [1] Chaabene, W. (2017). Thesis, Virginia Tech, equation 2.10.

    Examples
    --------
    >>> from pgmx.metrics import coefficient_error
    >>> round(coefficient_error([[0.5, 0.1], [0.0, 0.5]], [[0.5, 0.0], [0.0, 0.5]]), 6)
    0.141421
    """
    pairs = _pair_lags(coef, true_coef)
    size = sum(float((true.data**2).sum()) for _, true in pairs)
    if not size:
        raise ValueError("all coefficients of true_coef are zero: the relative error is not defined")
    return float(np.sqrt(sum(float(((estimate - true).data ** 2).sum()) for estimate, true in pairs) / size))


def prediction_error(
    coef, X: ArrayLike, targets: ArrayLike | None = None, *, intercept: ArrayLike | None = None
) -> float:
    r"""Return the relative error of one-step predictions.

    .. math:: \|\hat X'' - X''\|_F \, / \, \|X''\|_F, \qquad \hat x_t = c + \sum_l \hat A_l x_{t-l}

    Parameters
    ----------
    coef : learner, LinearDynamicalSystem, array_like, sparse array, or sequence of arrays
        As in :func:`coefficient_error`, without instantaneous coefficients. The intercept of a learner or a system is
        added.
    X : array_like or frame of float, shape (T, n)
        Rows in the order of time, oldest first, and columns in the order of the coefficients.
    targets : array_like or frame of float, shape (T, n), default=None
        The row that follows each row of `X`, if the rows of `X` are not a series; only for coefficients of lag 1.
        Default: the rows of `X` from row L on.
    intercept : array_like of float, shape (n,), default=None
        Added to all predictions.

    Returns
    -------
    float
        0 for perfect predictions, 1 for predictions of 0.

    Raises
    ------
    ValueError
        If shapes do not match, there are too few rows, or all targets are zero.

    References
    ----------
    .. [1] Chaabene, W. (2017). Thesis, Virginia Tech, equation 2.11.

    Examples
    --------
    >>> from pgmx.metrics import prediction_error
    >>> round(prediction_error([[0.5]], [[8.0], [4.0], [2.0], [2.0]]), 6)
    0.204124
    """
    lags = _read_lags(coef, "coef")
    if lags[0].count_nonzero():
        raise ValueError("coef has instantaneous coefficients: predictions use only past rows")
    intercept = getattr(coef, "intercept_", getattr(coef, "intercept", None)) if intercept is None else intercept
    n, order = lags[0].shape[0], len(lags) - 1
    rows = as_reals(X, "X").astype(np.float64)
    if rows.ndim != 2 or rows.shape[1] != n:
        raise ValueError(f"X must have the shape (rows, {n}) as coef has {n} series, got {rows.shape}")
    if targets is None:
        following = rows[order:]
    else:
        following = as_reals(targets, "targets").astype(np.float64)
        if order != 1 or following.shape != rows.shape:
            raise ValueError(
                f"targets need one row per row of X and coefficients of lag 1 alone, got {order} lags and the shapes "
                f"{following.shape} and {rows.shape}"
            )
    if not len(following):
        raise ValueError(f"X must have more rows than the {order} lags of coef, got {len(rows)}")
    size = float((following**2).sum())
    if not size:
        raise ValueError("all rows to predict are zero: the relative error is not defined")
    error = 0.0
    for start in range(0, len(following), _N_BLOCK_ROWS):
        residual = following[start : start + _N_BLOCK_ROWS].copy()
        for lag in range(1, order + 1):
            first = start + order - lag if targets is None else start
            residual -= (lags[lag] @ rows[first : first + len(residual)].T).T
        if intercept is not None:
            residual -= np.asarray(intercept, dtype=np.float64)
        error += float((residual**2).sum())
    return float(np.sqrt(error / size))


def structure_recall(coef, true_coef, k: int | None = None) -> float:
    r"""Return the mean share of a node's true parents that were found, over all nodes with parents.

    .. math:: \operatorname{mean}_i \; |\hat N_i \cap N_i| \, / \, |N_i|

    Parameters
    ----------
    coef, true_coef : learner, LinearDynamicalSystem, array_like, sparse array, or sequence of arrays
        As in :func:`coefficient_error`; parents are (lag, source) pairs with a nonzero coefficient.
    k : int, default=None
        Use only the k largest coefficients of a node (the first ones of equal coefficients) and the denominator
        min(k, :math:`|N_i|`). Default: all coefficients.

    Returns
    -------
    float
        Between 0 and 1.

    Raises
    ------
    ValueError
        If shapes differ or are invalid, no node has a parent, or `k` is less than 1.

    References
    ----------
    .. [1] Chaabene, W. (2017). Thesis, Virginia Tech, section 2.3.1 (structure recovery).

    Examples
    --------
    >>> from pgmx.metrics import structure_recall
    >>> structure_recall([[0.5, 0.1], [0.0, 0.0]], [[0.5, 0.0], [0.3, 0.5]])
    0.5
    """
    from scipy.sparse import hstack

    k = None if k is None else check_natural(k, "k", 1)
    pairs = _pair_lags(coef, true_coef)
    joined: list[Any] = [hstack(parts, format="csr") for parts in zip(*pairs, strict=True)]
    estimate, true = joined
    shares = []
    for node in range(true.shape[0]):
        parents = true.indices[true.indptr[node] : true.indptr[node + 1]]
        if not len(parents):
            continue
        part = slice(estimate.indptr[node], estimate.indptr[node + 1])
        found = estimate.indices[part]
        if k is not None:
            found = found[np.argsort(-np.abs(estimate.data[part]), kind="stable")[:k]]
        # k edges cannot recall more than k parents
        shares.append(len(np.intersect1d(found, parents)) / (len(parents) if k is None else min(k, len(parents))))
    if not shares:
        raise ValueError("no node of true_coef has a parent: there is nothing to recall")
    return float(np.mean(shares))


def edge_error_rate(estimate, truth) -> float:
    r"""Return the share of the ordered pairs of different nodes that are an edge in only one of two graphs.

    .. math:: \|S - \hat S\|_0 \, / \, (N (N - 1))

    per lag; multiplied by 100 it is the "edge identification error rate" in per cent.

    Parameters
    ----------
    estimate, truth : learner, LinearDynamicalSystem, array_like, sparse array, or sequence of arrays
        Coefficients or indicators [target, source] of shape (N, N), or several lags as in :func:`coefficient_error`.
        A nonzero entry is an edge. Self-loops on the diagonal do not count.

    Returns
    -------
    float
        Between 0 and 1. Lags without an edge in both graphs do not count.

    Raises
    ------
    ValueError
        If shapes differ or are invalid, or there is only one node.

    References
    ----------
    .. [1] Shen, Y., Baingana, B. and Giannakis, G. B. (2017). Tensor decompositions for identifying directed graph
       topologies and tracking dynamic networks. IEEE Transactions on Signal Processing 65, 3675-3687.

    Examples
    --------
    >>> from pgmx.metrics import edge_error_rate
    >>> edge_error_rate([[0.0, 0.3], [0.0, 0.0]], [[0.0, 1.0], [1.0, 0.0]])
    0.5
    """
    pairs = _pair_lags(estimate, truth)
    n = pairs[0][0].shape[0]
    if n < 2:
        raise ValueError("edge_error_rate needs two nodes or more, got 1")
    differences, used = 0, 0
    for one, other in pairs:
        joined = {
            name: set(zip(*(ends.tolist() for ends in part.nonzero()), strict=True))
            for name, part in (("one", one), ("other", other))
        }
        # a variable's own past is not an edge of the graph
        differences += sum(target != source for target, source in joined["one"] ^ joined["other"])
        used += bool(joined["one"] or joined["other"])
    return differences / (max(used, 1) * n * (n - 1))


def edge_mse(coef, true_coef) -> float:
    r"""Return the mean squared error of coefficients over all ordered pairs of different nodes.

    .. math:: \|\hat A - A\|_F^2 \, / \, (N (N - 1))

    per lag, without the diagonals: the "empirical mean-square error" (E-MSE) of the source, whose diagonals are zero.

    Parameters
    ----------
    coef, true_coef : learner, LinearDynamicalSystem, array_like, sparse array, or sequence of arrays
        As in :func:`coefficient_error`.

    Returns
    -------
    float
        0 for equal coefficients, in squared units of the coefficients. Lags without an edge in both do not count.

    Raises
    ------
    ValueError
        If shapes differ or are invalid, or there is only one node.

    References
    ----------
    .. [1] Shen, Y. (2019). Online, nonlinear and tensor-based learning over networks. Thesis, University of Minnesota,
       section 4.6.2.

    Examples
    --------
    >>> from pgmx.metrics import edge_mse
    >>> round(edge_mse([[0.0, 0.3], [0.0, 0.0]], [[0.0, 0.5], [0.1, 0.0]]), 6)
    0.025
    """
    pairs = _pair_lags(coef, true_coef)
    n = pairs[0][0].shape[0]
    if n < 2:
        raise ValueError("edge_mse needs two nodes or more, got 1")
    total, used = 0.0, 0
    for estimate, true in pairs:
        difference = estimate - true
        total += float((difference.data**2).sum() - (difference.diagonal() ** 2).sum())
        used += bool(estimate.nnz or true.nnz)
    return max(total, 0.0) / (max(used, 1) * n * (n - 1))


def success_rate(estimates: Sequence, truths: Sequence) -> float:
    """Return the share of trials in which all edges are right: their `edge_error_rate` is 0.

    Parameters
    ----------
    estimates, truths : sequence
        One estimate and one truth per trial, each as in :func:`edge_error_rate`. Give ``[truth] * len(estimates)`` for
        one truth.

    Returns
    -------
    float
        Between 0 and 1.

    Raises
    ------
    TypeError, ValueError
        If these are not sequences of the same length, there is no trial, or shapes differ or are invalid.

    References
    ----------
    .. [1] Shen, Y. (2019). Online, nonlinear and tensor-based learning over networks. Thesis, University of Minnesota,
       section 4.6.1 (figure 4.7).

    Examples
    --------
    >>> from pgmx.metrics import success_rate
    >>> success_rate([[[0.0, 0.3], [0.0, 0.0]], [[0.0, 0.3], [0.1, 0.0]]], [[[0, 1], [0, 0]]] * 2)
    0.5
    """
    for values, name in ((estimates, "estimates"), (truths, "truths")):
        if not hasattr(values, "__len__") or isinstance(values, str):
            raise TypeError(f"{name} must be a sequence with one entry per trial, got {type(values).__name__}")
    if not len(estimates) or len(estimates) != len(truths):
        raise ValueError(
            f"estimates and truths must have one entry per trial, got {len(estimates)} and {len(truths)} entries"
        )
    trials = zip(estimates, truths, strict=True)
    return float(np.mean([edge_error_rate(estimate, truth) == 0.0 for estimate, truth in trials]))


def edge_curve(strengths: ArrayLike, truth: ArrayLike, *, diagonal: bool = False) -> EdgeCurve:
    r"""Return the receiver operating characteristic and the precision of edges ordered by their strengths.

    .. math:: \text{area} = P(|s_{edge}| > |s_{none}|) + \tfrac{1}{2} P(|s_{edge}| = |s_{none}|), \qquad
              \text{average precision} = \sum_k (r_k - r_{k-1}) p_k

    with the precision p and the recall r at the descending thresholds.

    Parameters
    ----------
    strengths : array_like of float, shape (..., N, N)
        Strengths or coefficients [target, source], compared by absolute value; sparse arrays are allowed.
    truth : array_like, the same shape
        A nonzero entry is an edge.
    diagonal : bool, default=False
        Whether self-loops on the diagonal count.

    Returns
    -------
    EdgeCurve
        Rates, thresholds, precision, and both areas. `pgmx.plotting.plot_roc` draws them.

    Raises
    ------
    ValueError
        If shapes differ, matrices are not square, a strength is NaN, or the truth has only edges or no edges.

    Notes
    -----
    O(m log m) for m entries, dense. The matrices of undirected graphs are symmetric: both entries of a pair count,
    which changes none of the results.

    Examples
    --------
    >>> from pgmx.metrics import edge_curve
    >>> edge_curve([[0.0, 0.1, 0.3], [0.2, 0.0, 0.0], [0.0, 0.0, 0.0]], [[0, 0, 1], [1, 0, 0], [0, 1, 0]]).area
    0.7777777777777778
    """
    tables: Any = ((strengths, "strengths"), (truth, "truth"))
    sizes, edges = (
        np.abs(as_reals(value.toarray() if hasattr(value, "toarray") else value, name).astype(np.float64))
        for value, name in tables
    )
    if sizes.shape != edges.shape or sizes.ndim < 2 or sizes.shape[-1] != sizes.shape[-2]:
        raise ValueError(f"strengths and truth must both be (..., N, N), got {sizes.shape} and {edges.shape}")
    counts = np.broadcast_to(
        np.ones(sizes.shape[-2:], bool) if diagonal else ~np.eye(sizes.shape[-1], dtype=bool), sizes.shape
    )
    size, is_edge = sizes[counts], edges[counts] != 0
    if np.isnan(size).any():
        raise ValueError("strengths must not be NaN")
    if is_edge.all() or not is_edge.any():
        raise ValueError("truth must have both edges and pairs without an edge")
    order = np.argsort(-size, kind="stable")
    size, is_edge = size[order], is_edge[order]
    # Edges of the same strength are one point of the curve: their order means nothing.
    last = np.append(np.flatnonzero(size[1:] != size[:-1]), len(size) - 1)
    n_hits = np.concatenate([[0], np.cumsum(is_edge)[last]])
    precision = n_hits / np.concatenate([[1], last + 1])
    precision[0] = 1.0
    hits = n_hits / is_edge.sum()
    false = np.concatenate([[0], np.cumsum(~is_edge)[last]]) / (~is_edge).sum()
    area = float((np.diff(false) * (hits[1:] + hits[:-1])).sum() / 2)
    thresholds = np.concatenate([[np.inf], size[last]])
    return EdgeCurve(false, hits, thresholds, area, precision, float((np.diff(hits) * precision[1:]).sum()))


def _pair_lags(estimate, true) -> list[tuple]:
    """Return the coefficients of both as pairs of csr arrays per lag, with zeros for missing lags."""
    from scipy.sparse import csr_array

    ours, theirs = _read_lags(estimate, "the estimate"), _read_lags(true, "the truth")
    shape = ours[0].shape
    if shape != theirs[0].shape:
        raise ValueError(f"the estimate has {shape[0]} series and the truth {theirs[0].shape[0]}: give the same series")
    for part in (ours, theirs):
        part += [csr_array(shape)] * (max(len(ours), len(theirs)) - len(part))
    return list(zip(ours, theirs, strict=True))


def _read_lags(thing, name: str) -> list:
    """Return coefficients as csr arrays of the lags 0, 1, ..., without stored zeros."""
    from scipy.sparse import csr_array, issparse

    coef = getattr(thing, "coef_", getattr(thing, "coef", thing))
    if not issparse(coef):
        parts = (
            list(coef)
            if isinstance(coef, list | tuple) and any(issparse(part) for part in coef)
            else as_reals(coef, name)
        )
    else:
        parts = [csr_array(coef.shape), coef]
    if isinstance(parts, np.ndarray):
        if parts.ndim not in (2, 3):
            raise ValueError(f"{name} must have the shape (n, n) or (lags + 1, n, n), got {parts.shape}")
        parts = [np.zeros(parts.shape), parts] if parts.ndim == 2 else list(parts)
    lags = [csr_array(part, dtype=np.float64, copy=True) for part in parts]
    n = len(lags[0].indptr) - 1
    if not n or any(part.shape != (n, n) for part in lags):
        raise ValueError(f"{name} must be square for every lag, got the shapes {[part.shape for part in lags]}")
    for part in lags:  # the array is a copy: the caller's matrices stay as they are
        part.sum_duplicates()
        part.eliminate_zeros()
    return lags
