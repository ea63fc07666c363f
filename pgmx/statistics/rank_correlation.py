"""Rank correlations of all pairs of columns, and the correlations of latent normal variables.

Columns are ranked once; all rank correlations and the normal scores of latent variables are computed from the ranks.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import pairwise

import numpy as np

from pgmx._ext import _ranks
from pgmx.checks import as_reals
from pgmx.parallel.threads import call_on_threads, count_threads
from pgmx.statistics.marginal_transforms import normal_scores

#: Maximum bytes of comparison planes, unless a single row of all columns needs more (p n / 8).
_PLANE_BYTES = 1 << 24

#: Minimum work for threads, in comparisons of two rows by planes: some milliseconds.
_THREADS_PAY = 1 << 31

#: Work of the other methods in the same unit: of inversions (per n log n) and of ranks among observed rows (per n) for
#: a pair of columns; and of the final step of a pair, which is limited by memory.
_INVERSION_WORK, _PAIR_RANK_WORK, _FINISH_WORK = 100, 10_000, 1_000

LATENT_METHODS = ("kendall", "spearman", "shrinkage", "truncation")

#: Number of values per block that a thread ranks.
_BLOCK_CELLS = 1 << 18


# ---- columns in rank order ----


@dataclass(frozen=True)
class RankedColumns:
    """The order of the n rows in each of p columns, missing values last."""

    order: np.ndarray  # rows by rising value, int32 of shape (p, n)
    #: number of smaller observed values per row, the same for equal values; -1 if missing; int32 of shape (p, n)
    codes: np.ndarray
    n_known: np.ndarray  # number of observed values, int64 of shape (p,)
    tied_pairs: np.ndarray  # number of pairs of rows with equal observed values, int64 of shape (p,)

    def compute_doubled_ranks(self, columns=None) -> np.ndarray:
        """Return twice the average ranks minus their mean, integers as float64 (k, n); 0 if missing."""
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


# ---- correlations of all pairs of columns ----


def kendall_tau_matrix(X, *, missing: str = "error", n_jobs: int | None = None) -> np.ndarray:
    r"""Return Kendall's tau-b of all pairs of columns.

    .. math:: \tau_b = \frac{C - D}{\sqrt{(N - T_x)(N - T_y)}}

    with C concordant and D discordant pairs of rows, :math:`N = n (n - 1) / 2` pairs in total, and T tied pairs.

    Parameters
    ----------
    X : array_like of float, shape (n, p)
        At least 2 rows. Only the order of the values matters.
    missing : {"error", "pairwise"}, default="error"
        Whether NaN raises an error, or each pair of columns uses the rows in which both are observed.
    n_jobs : int or None, default=None
        Number of threads, as in joblib. The result does not depend on it.

    Returns
    -------
    ndarray of shape (p, p), float64
        Exactly symmetric, unit diagonal. If a column is constant over the rows of a pair, the value is 0 (SciPy and
        pandas give NaN).

    Raises
    ------
    ValueError
        If X is not a table of at least 2 rows, has NaN with ``missing="error"``, or `missing` is unknown.

    Notes
    -----
    Counts are integers, exact up to millions of rows. Up to some thousand rows, columns are compared by bits of all
    pairs of rows: n² / 2 bits per pair of columns, about 1 µs at n = 1000 with AVX-512 (twice as long with ties, four
    times with missing values). For larger tables inversions are counted, n log n per pair. Memory: 8 n p bytes for the
    ranks.

    References
    ----------
    .. [1] Kendall, M. G. (1945). The treatment of ties in ranking problems. Biometrika 33, 239-251.
    .. [2] Knight, W. R. (1966). A computer method for calculating Kendall's tau with ungrouped data. Journal of the
       American Statistical Association 61, 436-439.

    Examples
    --------
    >>> import numpy as np
    >>> kendall_tau_matrix(np.array([[1, 2], [2, 1], [3, 4], [4, 3]])).round(3).tolist()
    [[1.0, 0.333], [0.333, 1.0]]
    """
    X = check_rows(X, missing)
    return _compute_taus(rank_columns(X, n_jobs), n_jobs)


def spearman(X, *, missing: str = "error", n_jobs: int | None = None) -> np.ndarray:
    r"""Return Spearman's rho of all pairs of columns, Pearson's correlation of their average ranks.

    .. math:: \rho = \frac{\sum_i (r_i - \bar r)(s_i - \bar s)}
                          {\sqrt{\sum_i (r_i - \bar r)^2 \sum_i (s_i - \bar s)^2}}

    Parameters
    ----------
    X, missing, n_jobs : array_like of float of shape (n, p), {"error", "pairwise"}, int or None
        As for `kendall_tau_matrix`.

    Returns
    -------
    ndarray of shape (p, p), float64
        Exactly symmetric, unit diagonal; 0 if a column is constant over the rows of the pair.

    Raises
    ------
    ValueError
        If X is not a table of at least 2 rows, has NaN with ``missing="error"``, or `missing` is unknown.

    Notes
    -----
    Cost: p sorts and one product of n p² operations. Pairs of columns with missing values are ranked one by one, about
    20 ns per row and pair. Sums of ranks are integers, exact up to 200,000 rows. Memory: 16 n p bytes.

    References
    ----------
    .. [1] Spearman, C. (1904). The proof and measurement of association between two things. American Journal of
       Psychology 15, 72-101.

    Examples
    --------
    >>> import numpy as np
    >>> spearman(np.array([[1, 2], [2, 1], [3, 4], [4, 3]])).round(3).tolist()
    [[1.0, 0.6], [0.6, 1.0]]
    """
    X = check_rows(X, missing)
    ranked = rank_columns(X, n_jobs)
    n, p = X.shape
    complete = np.flatnonzero(ranked.n_known == n)
    matrix = np.zeros((p, p))
    if len(complete):
        matrix[np.ix_(complete, complete)] = _correlate(ranked.compute_doubled_ranks(complete))
    if len(complete) < p:
        work = (ranked.order, ranked.codes, ranked.n_known)
        _in_blocks(lambda i, j: _ranks.rhos_of_known_rows(*work, i, j, matrix), p, _PAIR_RANK_WORK * n, n_jobs)
    np.clip(matrix, -1.0, 1.0, out=matrix)
    np.fill_diagonal(matrix, 1.0)
    return matrix


def latent_correlation(X, method: str, *, missing: str = "error", n_jobs: int | None = None) -> np.ndarray:
    r"""Return the correlations of latent normal variables; the columns are increasing functions of these.

    .. math:: \sin\left(\tfrac{\pi}{2} \tau\right), \qquad 2 \sin\left(\tfrac{\pi}{6} \rho\right), \qquad
              \operatorname{corr}\left(\Phi^{-1}(\hat F_i(x_i)), \Phi^{-1}(\hat F_j(x_j))\right)

    Parameters
    ----------
    X : array_like of float, shape (n, p)
        At least 2 rows.
    method : {"kendall", "spearman", "shrinkage", "truncation"}
        Kendall's tau, Spearman's rho, or normal scores of r / (n + 1) (``"shrinkage"``) or of r / n truncated at δ and
        1 - δ for :math:`\delta = 1 / (4 n^{1/4} \sqrt{\pi \log n})` (``"truncation"``).
    missing, n_jobs : {"error", "pairwise"}, int or None
        As for `kendall_tau_matrix`.

    Returns
    -------
    ndarray of shape (p, p), float64
        Exactly symmetric, unit diagonal. Only normal scores of complete data are always positive semidefinite: see
        :func:`~pgmx.statistics.nearest_correlation`.

    Raises
    ------
    ValueError
        If X is not a table of at least 2 rows, has NaN with ``missing="error"``, or an option is unknown.

    Notes
    -----
    The constant is π/2 for tau, and π/6 with the factor 2 for rho. (The formula 2 sin(π/6 tau) of some lecture notes is
    wrong.) The formulas hold for normal variables without ties.

    References
    ----------
    .. [1] Liu, H., Han, F., Yuan, M., Lafferty, J. and Wasserman, L. (2012). High-dimensional semiparametric Gaussian
       copula graphical models. Annals of Statistics 40, 2293-2326, equations 3.3 and 3.4.
    .. [2] Liu, H., Lafferty, J. and Wasserman, L. (2009). The nonparanormal: semiparametric estimation of high
       dimensional undirected graphs. Journal of Machine Learning Research 10, 2295-2328, equations 14 and 15.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[1.0, 20.0], [2.0, 10.0], [3.0, 400.0], [4.0, 30.0]])
    >>> latent_correlation(X, "kendall").round(3).tolist()
    [[1.0, 0.5], [0.5, 1.0]]
    """
    if method not in LATENT_METHODS:
        raise ValueError(f"method must be one of {', '.join(map(repr, LATENT_METHODS))}, got {method!r}")
    if method == "kendall":
        matrix = np.sin(0.5 * np.pi * kendall_tau_matrix(X, missing=missing, n_jobs=n_jobs))
    elif method == "spearman":
        matrix = 2.0 * np.sin(np.pi / 6.0 * spearman(X, missing=missing, n_jobs=n_jobs))
    else:
        ranked = rank_columns(check_rows(X, missing), n_jobs)
        matrix = _correlate_scores(ranked, method)
    np.clip(matrix, -1.0, 1.0, out=matrix)
    np.fill_diagonal(matrix, 1.0)
    return matrix


def _compute_taus(ranked: RankedColumns, n_jobs: int | None) -> np.ndarray:
    p, n = ranked.codes.shape
    matrix = np.zeros((p, p))
    if p and not _has_many_rows(ranked):
        _compute_taus_by_planes(ranked, matrix, n_jobs)
    elif p:
        work = (ranked.order, ranked.codes, ranked.n_known, ranked.tied_pairs)
        cost = int(_INVERSION_WORK * n * np.log2(n))
        _in_blocks(lambda i, j: _ranks.taus_by_inversions(*work, i, j, matrix), p, cost, n_jobs)
    np.fill_diagonal(matrix, 1.0)
    return matrix


def _classify(ranked: RankedColumns) -> np.ndarray:
    """Return the kind of each column: clean, with ties, or with missing values."""
    n = ranked.codes.shape[1]
    return np.where(ranked.n_known < n, _ranks.GAPPED, np.where(ranked.tied_pairs > 0, _ranks.TIED, _ranks.CLEAN))


def _has_many_rows(ranked: RankedColumns) -> bool:
    """Return whether inversions (time O(n log n)) are faster than planes (time O(n²)).

    They need the same time at MANY_ROWS[k] rows for a pair whose worse column has kind k; the harmonic mean is used.
    """
    p, n = ranked.codes.shape
    up_to = np.cumsum(np.bincount(_classify(ranked), minlength=len(_ranks.MANY_ROWS))) / p
    share = np.diff(up_to**2, prepend=0.0)
    return bool(n * float(share @ (1.0 / np.array(_ranks.MANY_ROWS))) >= 1.0)


def _compute_taus_by_planes(ranked: RankedColumns, matrix: np.ndarray, n_jobs: int | None) -> None:
    """Write tau-b into `matrix`, whose entries are counts until the end."""
    p, n = ranked.codes.shape
    kinds = _classify(ranked)
    columns = np.argsort(kinds, kind="stable")
    kinds = kinds[columns].astype(np.uint8)
    n_planes = (p, int((kinds != _ranks.CLEAN).sum()), int((kinds == _ranks.GAPPED).sum()))
    store = matrix.view(np.uint64)
    work = (ranked.order, ranked.codes, ranked.n_known, columns, kinds)
    n_tiles = -(-p // _ranks.TILE)
    for begin, end, offset, n_words in _row_blocks(n, _PLANE_BYTES // 8 // (sum(n_planes) + 1)):
        planes = [_allocate_planes(rows, n_words) for rows in n_planes]
        ones = _all_ones(begin, end, offset, n_words)
        n_comparisons = (end - begin) * (begin + end) // 2

        def compare(first: int, last: int, rows=(begin, end, offset), planes=planes) -> None:
            _ranks.compare_rows(*work, first, last, *rows, *planes)

        def count(first: int, last: int, planes=planes, ones=ones) -> None:
            _ranks.count_tiles(*planes, ones, columns, kinds, first, last, store)

        _in_blocks(compare, p, n_comparisons // 32, n_jobs, triangle=False)  # words of bits are copied
        _in_blocks(count, n_tiles, n_comparisons * _ranks.TILE**2, n_jobs)
    pairs = n * (n - 1) // 2
    totals = (columns, kinds, pairs - ranked.tied_pairs, pairs)
    _in_blocks(lambda i, j: _ranks.finish_taus(*totals, i, j, store, matrix), p, _FINISH_WORK, n_jobs)


def _row_blocks(n: int, most_words: int) -> Iterator[tuple[int, int, np.ndarray, int]]:
    """Yield ends of blocks of rows, the first words of the comparisons of their rows, and the words of a plane."""
    words = (np.arange(n, dtype=np.int64) + 63) >> 6  # row r is compared with the r previous rows
    begins = np.concatenate(([0], np.cumsum(words)))
    begin = 0
    while begin < n:
        end = int(np.searchsorted(begins, begins[begin] + max(most_words, 1), side="right")) - 1
        end = min(n, max(end, begin + 1))
        yield begin, end, begins[begin:end] - begins[begin], int(-(-(begins[end] - begins[begin]) // 8) * 8)
        begin = end


def _allocate_planes(rows: int, n_words: int) -> np.ndarray:
    """Return an uninitialised uint64 array of shape (rows, n_words) that starts at a cache line."""
    memory = np.empty(rows * n_words + 8, dtype=np.uint64)
    skip = -(memory.ctypes.data // 8) % 8
    return memory[skip : skip + rows * n_words].reshape(rows, n_words)


def _all_ones(begin: int, end: int, offset: np.ndarray, n_words: int) -> np.ndarray:
    """Return the plane of a column without missing values and ties."""
    ones = np.zeros(n_words, dtype=np.uint64)
    rows = np.arange(begin, end)
    whole, rest = rows >> 6, rows & 63
    ones[: int(offset[-1] + whole[-1] + (rest[-1] > 0))] = np.uint64(2**64 - 1)
    partial = rest > 0
    ones[(offset + whole)[partial]] = (np.uint64(1) << rest[partial].astype(np.uint64)) - np.uint64(1)
    return ones


def _in_blocks(
    task: Callable[[int, int], None], size: int, work: int, n_jobs: int | None, triangle: bool = True
) -> None:
    """Run task(first, last) over [0, size), with threads if worthwhile; `work` is per pair, or per index."""
    n_threads = count_threads(n_jobs)
    total = work * size * size // 2 if triangle else work * size
    if n_threads == 1 or size < 2 or total < _THREADS_PAY:
        task(0, size)
        return
    share = np.arange(1, 8 * n_threads) / (8 * n_threads)
    if triangle:  # early blocks have more pairs
        share = 1.0 - np.sqrt(1.0 - share)
    cuts = np.unique(np.concatenate(([0], np.rint(size * share), [size])).astype(int)).tolist()
    call_on_threads((partial(task, first, last) for first, last in pairwise(cuts)), n_threads)


def _correlate(centred: np.ndarray) -> np.ndarray:
    """Return the correlations of centred rows; 0 if a row is all zeros."""
    sums = centred @ centred.T
    return _quotients(sums, sums.diagonal()[:, None], sums.diagonal()[None, :])


def _quotients(sums: np.ndarray, of_x: np.ndarray, of_y: np.ndarray) -> np.ndarray:
    """Return sums / sqrt(of_x of_y) if both are positive, without a root for equal totals, so that ±1 is exact."""
    totals = np.where(of_x == of_y, of_x, np.sqrt(of_x) * np.sqrt(of_y))
    out = np.zeros_like(sums)
    np.divide(sums, totals, out=out, where=totals > 0)
    return 0.5 * (out + out.T)


def _correlate_scores(ranked: RankedColumns, method: str) -> np.ndarray:
    """Return Pearson correlations of normal scores, over the rows in which both columns are observed."""
    p = len(ranked.codes)
    scores = ranked.compute_doubled_ranks()
    known = ranked.codes >= 0
    for j in range(p):
        m = int(ranked.n_known[j])
        scores[j] = np.where(known[j], normal_scores(0.5 * (scores[j] + m + 1), max(m, 1), method), 0.0)
        scores[j] -= np.where(known[j], scores[j].sum() / max(m, 1), 0.0)
    constant = ranked.tied_pairs == ranked.n_known * (ranked.n_known - 1) // 2
    scores[constant] = 0.0
    if bool(known.all()):
        return _correlate(scores)
    weight = known.astype(np.float64)
    count = np.maximum(weight @ weight.T, 1.0)
    sums = scores @ weight.T
    squares = (scores**2) @ weight.T
    within = squares - sums**2 / count
    within[within <= 1e-12 * squares] = 0.0  # constant over the rows in which both are observed
    return _quotients(scores @ scores.T - sums * sums.T / count, within, within.T)
