"""Gaussian graphical models of unknown monotone functions of the variables."""

from collections.abc import Callable
from typing import Any, Literal, Self

import numpy as np
from sklearn.base import clone

from pgmx.data import NumericTable, open_numeric
from pgmx.estimators.base import N_JOBS, NA_VALUES, StrOptions
from pgmx.estimators.gaussian.cost import GaussianSize, estimate_ranks
from pgmx.estimators.gaussian.learner import ContinuousLearner, WrappingLearner
from pgmx.runs.run import Run
from pgmx.statistics import GaussianSample, gaussian_sample

_NO_ESTIMATOR = (
    "Nonparanormal without an estimator computes only correlation_: use Nonparanormal(GraphicalLasso()), for example"
)


class Nonparanormal(WrappingLearner):
    r"""Gaussian graphical model of variables that are Gaussian after unknown monotone transforms.

    .. math:: (f_1(X_1), \ldots, f_p(X_p)) \sim N(0, \Sigma), \qquad f_j \text{ increasing}

    The correlations Σ are estimated from ranks or from transformed values. Any Gaussian learner can be applied to them.
    The estimates are robust against outliers and skewed margins. If the data are Gaussian, they are only slightly less
    efficient.

    Parameters
    ----------
    estimator : learner, default=None
        GraphicalLasso, CLIME, NeighborhoodLasso, or SelectedGraph around one of them. None estimates only the
        correlations, `correlation_`.
    correlation : {"kendall", "spearman", "shrinkage", "truncation"}, default="kendall"
        ``"kendall"``: :math:`\sin(\frac{\pi}{2} \hat\tau_{ij})` of Kendall's tau-b. ``"spearman"``: :math:`2
        \sin(\frac{\pi}{6} \hat\rho_{ij})` of Spearman's rho. ``"shrinkage"`` and ``"truncation"``: correlations of
        normal scores. See the notes.
    missing : {"error", "drop", "pairwise"}, default="error"
        How to treat missing values: raise an error, drop rows with a missing value, or (``"kendall"`` and
        ``"spearman"`` only) compare each pair of variables on the rows in which both are observed.
    na_values : scalar, str, list-like or dict, default=None
        Additional markers of missing values in a CSV file, such as "?", per column if a dict, as in
        ``pandas.read_csv``. Any value, even an empty list, switches off the warning about possible markers.
    n_jobs : int, default=None
        Number of threads for the rank correlations. The estimator has its own option.

    Attributes
    ----------
    estimator_ : learner
        The fitted estimator.
    graph_ : networkx.Graph
        The learned graph; ``weight`` of an edge is its partial correlation in `model_`.
    model_ : GaussianMarkovNetwork
        The learned network, always positive definite. `model_.estimated_by` is the estimation method.
    precision_, covariance_ : ndarray of shape (p, p)
        The precision estimated by the method, in the units of the data (if the method has none: the precision of
        `model_`), and the covariance of `model_`.
    location_ : ndarray of shape (p,)
        Means.
    correlation_ : ndarray of shape (p, p)
        Correlations from which the graph was learned.
    repaired_ : float
        Largest change of a correlation when the matrix was made positive semidefinite; 0.0 if no change was needed.
    edges_ : ndarray of shape (n_edges, 2), int64
        Edges as positions in `variables_`.
    lam_, lam_max_ : float
        The penalty, and the smallest penalty without edges (for CLIME: with a diagonal estimate).
    objective_, dual_gap_ : float
        The objective on the correlation scale, and an upper bound on its distance from the optimum.
    converged_, stopped_by_ : bool, str
        Whether `tol` was reached, and why the run ended: ``"converged"``, ``"max_iter"``, ``"max_time"``,
        ``"callback"``, ``"interrupt"`` or ``"stalled"``.
    n_iter_ : int
        Number of sweeps, pivots of the path, or iterations; the maximum over columns if columns are solved separately.
    history_ : dict of ndarray
        ``"objective"``, ``"n_edges"``, ``"seconds"`` at each call of `callback`.
    variables_, adjacency_matrix_ : list, DataFrame
        Names of the columns, and the adjacency matrix of `graph_`, made on access.
    n_features_in_, feature_names_in_ : int, ndarray
        Number and names of the columns, as in scikit-learn.

    Raises
    ------
    ValueError, TypeError
        If the data or an option is invalid. The message names the option or column.

    Notes
    -----
    `precision_`, `covariance_` and `location_` refer to the transformed variables, with variance 1 and mean 0. `model_`
    keeps the marginal transforms. It predicts and simulates in the units of the data, by medians and quantiles.
    ``"shrinkage"`` uses the normal scores :math:`\Phi^{-1}(r / (n + 1))` of the ranks r. ``"truncation"`` uses the
    normal scores of the empirical distribution function, Winsorised at :math:`1 / (4 n^{1/4} \sqrt{\pi \ln n})`.

    Correlations from ranks need not be positive semidefinite. They are then replaced by the nearest correlation matrix,
    and `repaired_` is the largest change. Spearman's rho has the constant π/6 and Kendall's tau π/2. Equation (23) of
    frequently cited lecture notes exchanges them. Cost of ``"kendall"``: n² p² / 128 word operations up to some
    thousand rows, n p² log n beyond. Cost of the other correlations: n p² multiplications.

    References
    ----------
    .. [1] Liu, H., Lafferty, J. and Wasserman, L. (2009). The nonparanormal: semiparametric estimation of high
       dimensional undirected graphs. Journal of Machine Learning Research 10, 2295-2328, equation 14.
    .. [2] Liu, H., Han, F., Yuan, M., Lafferty, J. and Wasserman, L. (2012). High-dimensional semiparametric Gaussian
       copula graphical models. Annals of Statistics 40, 2293-2326, equation 3.1 and section 3.

    Examples
    --------
    >>> from pgmx.datasets import gaussian_chain_network
    >>> from pgmx.estimators import GraphicalLasso
    >>> rows = gaussian_chain_network(5, 0.6).simulate(500, random_state=1) ** 3
    >>> sorted(Nonparanormal(GraphicalLasso(lam=0.35)).fit(rows).graph_.edges())
    [('x0', 'x1'), ('x1', 'x2'), ('x2', 'x3'), ('x3', 'x4')]
    >>> Nonparanormal(correlation="spearman").fit(rows).correlation_.shape
    (5, 5)
    """

    _parameter_constraints: dict[str, Any] = {
        "estimator": [ContinuousLearner, None],
        "correlation": [StrOptions({"kendall", "spearman", "shrinkage", "truncation"})],
        "missing": [StrOptions({"error", "drop", "pairwise"})],
        "na_values": NA_VALUES,
        "n_jobs": N_JOBS,
    }

    def __init__(
        self,
        estimator: ContinuousLearner | None = None,
        *,
        correlation: Literal["kendall", "spearman", "shrinkage", "truncation"] = "kendall",
        missing: Literal["error", "drop", "pairwise"] = "error",
        na_values: Any = None,
        n_jobs: int | None = None,
    ):
        self.estimator = estimator
        self.correlation = correlation
        self.missing = missing
        self.na_values = na_values
        self.n_jobs = n_jobs

    def fit(self, X: Any, y: object = None) -> Self:  # type: ignore[override]  # ranks have no weights
        """Learn the model from the ranks of `X`.

        Parameters
        ----------
        X : DataFrame or array of shape (n_samples, n_features), path, or iterator of frames
            Rows with one numeric column per variable, in any form that the other Gaussian learners accept.
        y : None
            Ignored; scikit-learn's convention.

        Returns
        -------
        self
            The fitted learner.
        """
        return super().fit(X, y)

    def _inner_learner(self) -> ContinuousLearner:
        if self.estimator is None:
            raise ValueError(_NO_ESTIMATOR)
        return self.estimator

    def _validate(self) -> None:
        # without an estimator there is no inner learner to validate
        if self.estimator is not None:
            super()._validate()

    def _open(self, X) -> NumericTable:
        if self.estimator is not None:
            inner = self._innermost()
            if inner.covariance == "precomputed":
                raise ValueError("Nonparanormal needs rows, not a covariance: remove covariance='precomputed'")
            if inner.missing not in ("error", self.missing):
                raise ValueError(
                    f"missing={inner.missing!r} of {type(inner).__name__} has no effect within Nonparanormal, which "
                    f"reads the data: give Nonparanormal(..., missing={inner.missing!r})"
                )
            if inner.na_values is not None and self.na_values is None:
                raise ValueError(
                    f"na_values of {type(inner).__name__} has no effect within Nonparanormal, which reads the data: "
                    "give it to Nonparanormal"
                )
            if isinstance(self.estimator, Nonparanormal):
                raise ValueError("Nonparanormal cannot wrap another Nonparanormal: remove one of them")
        if self.missing == "pairwise" and self.correlation in ("shrinkage", "truncation"):
            raise ValueError(
                f"missing='pairwise' is for correlation='kendall' and 'spearman', not for {self.correlation!r}"
            )
        return open_numeric(X, missing=self.missing, na_values=self.na_values)

    def _read(self, opened: NumericTable | GaussianSample, sample_weight) -> GaussianSample:
        if sample_weight is not None:
            raise ValueError(
                "Nonparanormal does not support sample_weight, since ranks of weighted rows are not defined: repeat "
                "rows instead"
            )
        return gaussian_sample(opened, correlation=self.correlation, n_jobs=self.n_jobs)

    def _needs_rows(self) -> bool:
        return True

    def _estimate_reading(self, size: GaussianSize) -> int:
        return estimate_ranks(size, self.correlation)

    def _estimate_solving(self, size: GaussianSize) -> int:
        return 0 if self.estimator is None else super()._estimate_solving(size)

    def _learn(self, sample: GaussianSample) -> Run | None:
        if self.estimator is None:
            self._sample = sample.without_rows()
            self.repaired_ = float(sample.repaired)
            return None
        # the wrapped learner gets a sample of ranks, so that it only solves
        inner: Any = clone(self.estimator)
        inner._start = self._start  # its time limit is that of the whole fit
        try:
            run = inner._learn(sample)
        finally:
            del inner._start
        self.lam_max_ = inner.lam_max_
        super()._set_results(inner._sample, inner._estimate)
        self.converged_, self.stopped_by_ = inner.converged_, inner.stopped_by_
        self.estimator_, self.history_ = inner, inner.history_
        return run

    @property
    def correlation_(self) -> np.ndarray:
        """Correlations of the transformed variables, of shape (p, p)."""
        if not hasattr(self, "_sample"):
            raise AttributeError("Nonparanormal is not fitted yet: call fit first")
        # a copy: the sample is shared with the estimator
        return np.array(self._sample.correlation)

    def _make_once(self, name: str, make: Callable):
        if self.estimator is None and hasattr(self, "_sample"):
            raise AttributeError(f"there is no {name}: {_NO_ESTIMATOR}")
        return super()._make_once(name, make)

    def __sklearn_is_fitted__(self) -> bool:
        """Return whether there are results, for scikit-learn."""
        return hasattr(self, "_sample")
