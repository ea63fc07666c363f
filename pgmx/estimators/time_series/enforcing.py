"""Linear dynamical systems of a known structure."""

from collections.abc import Collection, Hashable
from typing import Any, Literal

import networkx as nx
import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import csr_array, issparse

from pgmx.checks import as_reals, join_names
from pgmx.estimators.time_series.cost import SeriesSize, estimate_pattern
from pgmx.estimators.time_series.dense import solve_some
from pgmx.estimators.time_series.linear import LDSLearner
from pgmx.estimators.time_series.problem import LDSProblem, LDSSolution, split_sparse_coefficients
from pgmx.models import TimeSeriesGraph
from pgmx.runs.run import Run
from pgmx.solvers.time_series.least_squares import solve_gram, solve_supports, solve_svd


class SparsityEnforcingLDS(LDSLearner):
    r"""Linear dynamical system by least squares given a known structure.

    .. math::

        \min_A \sum_t \Big\| x_t - \sum_{l=1}^{L} A_l\, x_{t-l} \Big\|_2^2
        \quad \text{such that} \quad A_l[i, j] = 0 \text{ if the structure has no edge } j \to i

    Parameters
    ----------
    data : DataFrame, array, path, iterator of frames, or list or dict of tables, optional
        What ``estimate()`` learns from; ``fit(X)`` needs none.
    structure : networkx.DiGraph, TimeSeriesGraph, array or sparse matrix, default=None
        The edges (required): a graph over names (its edges hold for every lag), a graph over (name, lag), or a mask
        ``[target, source]`` of shape (n, n) or (lags + 1, n, n). See the notes.
    lags : int, default=1
        The number of lags L.
    standardize : bool, default=True
        Whether the series are divided by their standard deviations. This matters only if predictors are linearly
        dependent: the norm of the coefficients is then minimised in these units.
    fit_intercept : bool, default=False
        Whether the model has a constant.
    exogenous_columns : list of column names, default=None
        Exogenous columns, which are not series. They affect all series at the time of the predicted row.
    seasonal_period : int, default=None
        Number of rows of a season. It adds `seasonal_period` - 1 seasonal columns to the exogenous columns. In
        forecasts a history without times (an array, a default index) is assumed to end with the last training row.
    required_edges : collection of ((source, lag), (target, 0)), default=None
        Edges in addition to the edges of the structure.
    forbidden_edges : collection of ((source, lag), (target, 0)), default=None
        Edges of the structure that are excluded.
    time_column : hashable, default=None
        Column of the times. None uses the index of a pandas frame.
    groups : hashable, default=None
        Column that identifies the series of a panel.
    missing : {"error", "drop"}, default="error"
        How to treat missing values: raise an error, or leave out the rows whose lag window has a missing value.
    na_values : scalar, str, list-like or dict, default=None
        Additional markers of missing values in a CSV file, such as "?", per column if a dict, as in
        ``pandas.read_csv``. Any value, even an empty list, switches off the warning about possible markers.
    irregular : {"error", "ignore"}, default="error"
        How to treat irregular times: raise an error, or assume that rows are equidistant.
    n_jobs : int, default=None
        Number of threads for blocks of series or windows. The result does not depend on it.

    Attributes
    ----------
    coef_ : csr_array of shape (n, n), or for several lags a tuple of lags + 1 of them
        Coefficients ``[target, source]``, of the lags 0 (empty) to L, in the user's units.
    intercept_ : ndarray of shape (n,)
        The constants, zeros without `fit_intercept`.
    exogenous_coef_ : ndarray of shape (n, n_exogenous)
        Coefficients of the exogenous columns, followed by the seasonal columns.
    noise_covariance_ : ndarray of shape (n, n), or (n,) for more than 2,000 series
        Covariance, or variances, of the residuals by maximum likelihood (divided by `n_targets_`).
    model_ : LinearDynamicalSystem
        The learned system, computed on first access.
    graph_ : TimeSeriesGraph
        The learned graph over (name, lag), computed on first access. ``weight`` is the coefficient.
    n_targets_ : int
        Number of predicted rows.
    n_left_out_ : int
        Number of rows that were left out because their lag window has unobserved rows.
    variables_, adjacency_matrix_ : list, DataFrame
        Names of the series, and the adjacency matrix of `graph_`, made on access.
    n_features_in_, feature_names_in_ : int, ndarray
        Number and names of the series, as in scikit-learn.

    Raises
    ------
    ValueError, TypeError
        If the data or an option is invalid, or the structure has other series or lags. The message names the option or
        column.

    Notes
    -----
    A mask of shape (n, n) holds for every lag. A mask of shape (lags + 1, n, n), or a tuple of sparse matrices, has one
    matrix per lag, and is zero at lag 0. A series depends on its own past only if the structure has this edge.

    Cost: T k² multiplications for each series with k predictors. Series with equal predictors are solved together. For
    dense structures, and for series that are read in chunks, the cross-products of all predictors are computed first, T
    P² for P = L n.

    References
    ----------
    .. [1] Lütkepohl, H. (2005). New Introduction to Multiple Time Series Analysis, section 5.2.

    Examples
    --------
    >>> import networkx as nx
    >>> import numpy as np
    >>> from pgmx.estimators import SparsityEnforcingLDS
    >>> rows = np.array([[8.0, 4.0], [4.0, 6.0], [2.0, 5.0], [1.0, 3.5]])
    >>> structure = nx.DiGraph([("x0", "x0"), ("x0", "x1"), ("x1", "x1")])
    >>> SparsityEnforcingLDS(structure=structure).fit(rows).coef_.toarray().round(3).tolist()
    [[0.5, 0.0], [0.5, 0.5]]
    """

    _parameter_constraints = {
        **LDSLearner._parameter_constraints,
        "structure": "no_validation",
    }

    def __init__(
        self,
        data: Any = None,
        *,
        structure: nx.DiGraph | ArrayLike | csr_array | tuple | None = None,
        lags: int = 1,
        standardize: bool = True,
        fit_intercept: bool = False,
        exogenous_columns: Collection[Hashable] | None = None,
        seasonal_period: int | None = None,
        required_edges: Collection | None = None,
        forbidden_edges: Collection | None = None,
        time_column: Hashable | None = None,
        groups: Hashable | None = None,
        missing: Literal["error", "drop"] = "error",
        na_values: Any = None,
        irregular: Literal["error", "ignore"] = "error",
        n_jobs: int | None = None,
    ):
        self.data = data
        self.structure = structure
        self.lags = lags
        self.standardize = standardize
        self.fit_intercept = fit_intercept
        self.exogenous_columns = exogenous_columns
        self.seasonal_period = seasonal_period
        self.required_edges = required_edges
        self.forbidden_edges = forbidden_edges
        self.time_column = time_column
        self.groups = groups
        self.missing = missing
        self.na_values = na_values
        self.irregular = irregular
        self.n_jobs = n_jobs

    def _reads_chunks(self) -> bool:
        return True

    def _estimate_solving(self, size: SeriesSize) -> int:
        return estimate_pattern(size, self.lags)

    def _solve(self, problem: LDSProblem, run: Run | None = None) -> LDSSolution:
        pattern = _read_structure(self.structure, problem.names, problem.lags)
        lag, target, source = problem.knowledge.required.T
        pattern = _set_entries(pattern, target, (lag - 1) * problem.n_series + source, True)
        lag, target, source = problem.knowledge.forbidden.T
        pattern = _set_entries(pattern, target, (lag - 1) * problem.n_series + source, False)
        return _solve_pattern(problem, pattern)


def _solve_pattern(problem: LDSProblem, pattern: csr_array) -> LDSSolution:
    """Return the least-squares solution for a pattern (N, L N) of lagged predictors and all unpenalised ones."""
    supports = [
        np.concatenate([np.sort(pattern.indices[a:b]), problem.free_predictors])
        for a, b in zip(pattern.indptr[:-1], pattern.indptr[1:], strict=True)
    ]
    sizes = np.array([len(support) for support in supports])
    # with large supports the common cross-products cost less than those of each target
    if problem.panel is None or 2 * (sizes**2).sum() > (problem.n_lagged + len(problem.free_predictors)) ** 2:
        _ = problem.moments  # computed before threads need them
        columns = solve_supports(supports, lambda predictors, targets: solve_some(problem, predictors, targets))
    else:
        _ = problem.design
        columns = solve_supports(supports, lambda predictors, targets: _solve_directly(problem, predictors, targets))
    bounds = np.concatenate([[0], np.cumsum(sizes)])
    ids = np.concatenate([np.empty(0, dtype=np.int64), *supports])
    shape = (problem.n_series, problem.n_lagged + len(problem.free_predictors))
    return split_sparse_coefficients(problem, csr_array((np.concatenate([[], *columns]), ids, bounds), shape=shape))


def _solve_directly(problem: LDSProblem, predictors: np.ndarray, targets: np.ndarray) -> np.ndarray:
    """Return the coefficients (predictors, targets) from the columns of their predictors."""
    design, rows = problem.design[0][:, predictors], problem.design[1][:, targets]
    solution = solve_gram(design.T @ design, design.T @ rows)
    return (solve_svd(design, rows) if solution is None else solution).coefficients


def _set_entries(pattern: csr_array, rows: np.ndarray, columns: np.ndarray, value: bool) -> csr_array:
    if not len(rows):
        return pattern
    entries = csr_array((np.ones(len(rows)), (rows, columns)), shape=pattern.shape)
    changed = pattern + entries if value else pattern - pattern.multiply(entries)
    changed = csr_array(changed)
    changed.eliminate_zeros()
    return csr_array((np.ones(changed.nnz), changed.indices, changed.indptr), shape=pattern.shape)


def _read_structure(structure: Any, names: tuple, lags: int) -> csr_array:
    """Return the lagged predictors that a structure allows: ones in a csr array (N, L N), lag 1 first."""
    if structure is None:
        raise ValueError("structure is None: give a DiGraph, a TimeSeriesGraph or a mask[target, source]")
    if isinstance(structure, nx.Graph):
        return _read_graph(structure, names, lags)
    n = len(names)
    if issparse(structure):
        masks = [structure]
    elif isinstance(structure, tuple | list) and any(issparse(mask) for mask in structure):
        masks = list(structure)
    else:
        array = as_reals(structure, "structure")
        masks = list(array) if array.ndim == 3 else [array]
    shapes = {np.shape(mask) for mask in masks}
    if shapes != {(n, n)} or len(masks) not in (1, lags + 1):
        raise ValueError(
            f"structure must have the shape ({n}, {n}) [target, source], or ({lags + 1}, {n}, {n}) with lag 0 first; "
            f"got {len(masks)} of the shape(s) {join_names(sorted(shapes))}"
        )
    if len(masks) > 1 and csr_array(masks[0]).count_nonzero():
        raise ValueError(
            "structure has edges of lag 0, but a linear dynamical system has no instantaneous edges: leave them out"
        )
    # one mask holds for all lags; of several, the first is lag 0
    blocks = [masks[0]] * lags if len(masks) == 1 else masks[1:]
    entries = [csr_array(block).nonzero() for block in blocks]
    targets = np.concatenate([rows for rows, _ in entries])
    columns = np.concatenate([ids + lag * n for lag, (_, ids) in enumerate(entries)])
    return _make_pattern(targets, columns, n, lags)


def _make_pattern(targets: np.ndarray, columns: np.ndarray, n: int, lags: int) -> csr_array:
    return csr_array((np.ones(len(targets)), (targets, columns)), shape=(n, lags * n))


def _read_graph(graph: nx.Graph, names: tuple, lags: int) -> csr_array:
    if not graph.is_directed():
        raise ValueError("structure is an undirected graph: give a DiGraph with edges source -> target")
    n, ids = len(names), {name: v for v, name in enumerate(names)}
    over_lags = isinstance(graph, TimeSeriesGraph)
    edges = graph.edges() if over_lags else [((source, 1), (target, 0)) for source, target in graph.edges()]
    unknown = {name for edge in edges for name, _ in edge if name not in ids}
    if unknown:
        raise ValueError(
            f"structure has {join_names(sorted(unknown, key=repr))}, which is not in the data. The series are "
            f"{join_names(names)}"
        )
    wrong = [edge for edge in edges if not 1 <= edge[0][1] <= lags]
    if wrong:
        source, target = wrong[0]
        raise ValueError(
            f"structure has the edge {source!r} -> {target!r}, but lags={lags} allows only the lags 1 to {lags}: "
            "leave the edge out, or give more lags"
        )
    pairs = [(ids[target[0]], (source[1] - 1) * n + ids[source[0]]) for source, target in edges]
    targets, columns = np.array(pairs, dtype=np.int64).reshape(-1, 2).T
    if over_lags:
        return _make_pattern(targets, columns, n, lags)
    # an ordinary graph has no lags: its edges are allowed at each lag
    shifts = np.repeat(np.arange(lags), len(targets)) * n
    return _make_pattern(np.tile(targets, lags), np.tile(columns, lags) + shifts, n, lags)
