"""The linear dynamical system that learners from time series return: a vector autoregression with its noise."""

from collections.abc import Hashable, Sequence
from typing import Any, Self

import networkx as nx
import numpy as np
from numpy.typing import ArrayLike
from pgmpy.factors.continuous import LinearGaussianCPD
from scipy.linalg import LinAlgError, cholesky, solve_triangular
from scipy.sparse import csr_array, issparse

from pgmx.checks import join_names, read_only
from pgmx.models.base import FileMixin, check_names
from pgmx.models.bayesian.linear_gaussian_network import LinearGaussianBayesianNetwork
from pgmx.models.files.time_series import SYSTEM_READERS, SYSTEM_WRITERS, SystemParts
from pgmx.models.gaussian_queries import ROUNDING
from pgmx.models.time_series.coefficients import (
    Coefficients,
    count_entries,
    measure_strengths,
    read_coefficients,
    read_column,
    read_exogenous_coef,
    read_noise,
)
from pgmx.models.time_series.companion import compute_spectral_radius, compute_stationary_covariance, make_companion
from pgmx.models.time_series.forecasts import SystemForecasts
from pgmx.models.time_series.graph import TimeSeriesGraph


class LinearDynamicalSystem(SystemForecasts, FileMixin):
    r"""A linear dynamical system: each row is a linear function of the L rows before it, plus noise.

    .. math:: x_t = c + \sum_{l=1}^{L} A_l\, x_{t-l} + B\, z_t + \varepsilon_t, \qquad \varepsilon_t \sim N(0, Q)

    The parameters are in the user's units and do not change.

    Parameters
    ----------
    names : sequence of hashable, length n
        Distinct names of the series; None is not allowed.
    coef : array_like or scipy.sparse matrix of shape (n, n), or a sequence of L + 1 of them
        Coefficients ``[target, source]`` of lag 1, or of the lags 0 to L with zeros at lag 0, as in the attribute
        ``coef_`` of learners. Sparse matrices stay sparse, except in methods whose documentation says otherwise.
    intercept : array_like of shape (n,), optional
        The constants c; 0 by default.
    noise_covariance : array_like of shape (n, n) or (n,), optional
        Covariance Q of the noise, or its variances if it is uncorrelated. Without it only methods that do not need the
        noise are available, such as `predict`.
    exogenous_coef : array_like of shape (n, n_exogenous), optional
        The coefficients B of exogenous columns z, which enter at the time of their row.
    exogenous_names : sequence of hashable, optional
        Names of the exogenous columns.

    Attributes
    ----------
    names, exogenous_names : tuple of hashable
        Names of the series and of the exogenous columns.
    lags : int
        The number of lags L.
    coef : ndarray or csr_array of shape (n, n) for one lag; (L + 1, n, n), or a tuple of csr_array, for several
        The coefficients.
    intercept : ndarray of shape (n,)
        The constants.
    noise_covariance : ndarray of shape (n, n) or (n,), or None
        As given.
    spectral_radius : float
        Largest absolute eigenvalue of the companion matrix.

    Raises
    ------
    ValueError, TypeError
        If names occur twice, a shape is wrong, a value is not finite, a coefficient of lag 0 is not zero, or the noise
        covariance is not symmetric or not positive semidefinite.

    References
    ----------
    H. Lütkepohl (2005), New Introduction to Multiple Time Series Analysis, chapter 2.

    Examples
    --------
    >>> from pgmx.models import LinearDynamicalSystem
    >>> system = LinearDynamicalSystem(["rain", "river"], [[0.5, 0.0], [0.25, 0.5]], noise_covariance=[1.0, 0.25])
    >>> system
    LinearDynamicalSystem(2 series, 1 lag, 3 coefficients)
    >>> system.is_stable()
    True
    >>> system.predict([4.0, 2.0], steps=2)
    array([[2. , 2. ],
           [1. , 1.5]])
    """

    _writers = SYSTEM_WRITERS
    _readers = SYSTEM_READERS
    _description = "a linear dynamical system"

    def __init__(
        self,
        names: Sequence[Hashable],
        coef: Coefficients,
        intercept: ArrayLike | None = None,
        noise_covariance: ArrayLike | None = None,
        *,
        exogenous_coef: ArrayLike | None = None,
        exogenous_names: Sequence[Hashable] = (),
    ) -> None:
        self._names = check_names(names)
        n = len(self._names)
        matrices = read_coefficients(coef, n)
        if len(matrices) < 2:
            raise ValueError("coef holds only lag 0: give matrices of the lags 0 to L, or one (n, n) matrix of lag 1")
        if count_entries(matrices[0]):
            raise ValueError(
                "coef has instantaneous coefficients A_0: give the reduced form inv(I - A_0) A_l, and zeros at lag 0"
            )
        self._matrices = matrices[1:]
        self._intercept = read_column(intercept, n, "intercept")
        self._noise = read_noise(noise_covariance, n)
        self._exogenous_names = check_names(exogenous_names) if len(tuple(exogenous_names)) else ()
        self._exogenous_coef = read_exogenous_coef(exogenous_coef, n, len(self._exogenous_names))
        self._cache: dict[str, Any] = {}

    # ---- parameters ----

    @property
    def names(self) -> tuple:
        """Names of the series."""
        return self._names

    @property
    def exogenous_names(self) -> tuple:
        """Names of the exogenous columns."""
        return self._exogenous_names

    @property
    def lags(self) -> int:
        """The number of lags L."""
        return len(self._matrices)

    @property
    def coef(self) -> np.ndarray | csr_array | tuple[csr_array, ...]:
        """Coefficients: (n, n) [target, source] for one lag, else one matrix for each of the lags 0 to L."""
        matrices: Any = self._matrices
        if self.lags == 1:
            return matrices[0]
        if issparse(matrices[0]):
            return (csr_array(matrices[0].shape), *matrices)
        return read_only(np.stack([np.zeros_like(matrices[0]), *matrices]))

    @property
    def intercept(self) -> np.ndarray:
        """The constants c, shape (n,)."""
        return self._intercept

    @property
    def noise_covariance(self) -> np.ndarray | None:
        """Covariance of the noise, (n, n), or its variances (n,), as given."""
        return self._noise

    @property
    def exogenous_coef(self) -> np.ndarray:
        """Coefficients of the exogenous columns, shape (n, n_exogenous)."""
        return self._exogenous_coef

    @property
    def spectral_radius(self) -> float:
        """Largest absolute eigenvalue of the companion matrix, computed once.

        It is exact if the companion matrix of each strongly connected component has at most 600 rows. For larger
        components an implicitly restarted Arnoldi iteration computes the ten largest eigenvalues. In large random
        graphs it may miss an eigenvalue that is larger by a thousandth. If it does not converge (many eigenvalues of
        equal size), the growth over 2,000 products is used, which is accurate to about three digits.
        """
        if "radius" not in self._cache:
            self._cache["radius"] = compute_spectral_radius(self._matrices)
        return self._cache["radius"]

    def is_stable(self) -> bool:
        """Return whether the spectral radius is below 1, so that there is a stationary distribution."""
        return self.spectral_radius < 1.0

    # ---- other forms ----

    def to_networkx(self) -> TimeSeriesGraph:
        """Return the graph of the nonzero coefficients.

        Returns
        -------
        TimeSeriesGraph
            The ``weight`` of an edge is the coefficient. The ``strength`` is its absolute value after each series is
            divided by the standard deviation of its noise, so that it does not depend on the user's units. If the noise
            is unknown, the strength is the absolute coefficient.
        """
        coefs = (csr_array(self._matrices[0].shape), *self._matrices)
        if self._noise is None:
            return TimeSeriesGraph.from_coefficients(self._names, coefs)
        variances = self._noise if self._noise.ndim == 1 else self._noise.diagonal()
        return TimeSeriesGraph.from_coefficients(
            self._names, coefs, strengths=measure_strengths(coefs, np.sqrt(variances))
        )

    def to_linear_gaussian_bn(self) -> LinearGaussianBayesianNetwork:
        """Return the stationary distribution of L + 1 successive rows as a Bayesian network of pgmpy.

        Returns
        -------
        pgmx.models.LinearGaussianBayesianNetwork
            Nodes ``name@t-lag``, oldest first; ``name@t-0`` is the present. The present depends on the L previous
            slices by the coefficients, and within its slice if the noise is correlated. The L oldest slices depend on
            each other through earlier rows. They form a complete graph whose coefficients come from the Cholesky factor
            of the stationary covariance.

        Raises
        ------
        ValueError
            If the system is not stable, has exogenous columns, or its noise is unknown or singular.

        Notes
        -----
        The computation is dense: O((L n)^3) time, O((L n)^2) memory and edges.
        """
        if not self.is_stable():
            raise ValueError(f"the spectral radius is {self.spectral_radius:.6g}: only stable systems are stationary")
        if self._exogenous_names:
            raise ValueError(f"the rows also depend on the exogenous column(s) {join_names(self._exogenous_names)}")
        noise = self._require_noise()
        covariance = np.diag(noise) if noise.ndim == 1 else noise
        return make_unrolled_network(self._names, make_companion(self._matrices), self._intercept, covariance)

    # ---- files ----

    @classmethod
    def from_parts(cls, parts: SystemParts) -> Self:
        """Make a system from the fields that files hold; they are checked and copied."""
        first = parts.matrices[0]
        nothing = np.zeros_like(first) if isinstance(first, np.ndarray) else csr_array(first.shape)
        return cls(
            parts.names,
            (nothing, *parts.matrices),
            parts.intercept,
            parts.noise,
            exogenous_coef=parts.exogenous_coef,
            exogenous_names=parts.exogenous_names,
        )

    def parts(self) -> SystemParts:
        """Return the fields that files hold: names, coefficients, intercept, noise and exogenous coefficients."""
        numbers = (self._matrices, self._intercept, self._noise, self._exogenous_coef)
        return SystemParts(self._names, *numbers, self._exogenous_names)

    def __repr__(self) -> str:
        n, edges = len(self._names), sum(map(count_entries, self._matrices))
        lags = f"{self.lags} lag{'' if self.lags == 1 else 's'}"
        return f"LinearDynamicalSystem({n} series, {lags}, {edges} coefficient{'' if edges == 1 else 's'})"

    def __getstate__(self) -> dict:
        # Cached values can be recomputed.
        return {**self.__dict__, "_cache": {}}


def make_unrolled_network(
    names: tuple, companion: np.ndarray, intercept: np.ndarray, noise: np.ndarray
) -> LinearGaussianBayesianNetwork:
    """Make the network of a stable system; its oldest slices form a complete graph.

    The order is from the oldest slice to the newest, then by position. The noise is a covariance (n, n).
    """
    n, width = len(names), len(companion)
    lags = width // n
    mean = np.linalg.solve(np.eye(n) - companion[:n].reshape(n, lags, n).sum(axis=1), intercept)
    stationary = compute_stationary_covariance(companion, noise)
    # Nodes by age: slices L, ..., 1 of the past, then the present. In the companion state the newest slice is first.
    order = np.arange(width).reshape(lags, n)[::-1].ravel()
    labels = [f"{name}@t-{lag}" for lag in range(lags, -1, -1) for name in names]
    if len(set(labels)) < len(labels):
        raise ValueError(f"names of the series become the same text, among {join_names(names)}: rename one")
    slopes = np.zeros((width + n, width + n))
    deviations = np.empty(width + n)
    slopes[:width, :width], deviations[:width] = _regress(stationary[np.ix_(order, order)], "stationary covariance")
    within, deviations[width:] = _regress(noise, "covariance of the noise")
    lagged = companion[:n][:, order]
    slopes[width:, :width] = lagged - within @ lagged
    slopes[width:, width:] = within
    means = np.tile(mean, lags + 1)
    return _make_network(labels, slopes, means - slopes @ means, deviations)


def _regress(covariance: np.ndarray, what: str) -> tuple[np.ndarray, np.ndarray]:
    """Return the regression of each variable on its predecessors: slopes (strictly lower), residual deviations."""
    units = np.sqrt(covariance.diagonal())
    try:
        if not (units > 0.0).all():
            raise LinAlgError
        factor = cholesky(covariance / np.outer(units, units), lower=True)
    except LinAlgError:
        raise ValueError(f"the {what} is singular: the network needs a positive definite covariance") from None
    deviations = factor.diagonal()
    inverse = solve_triangular(factor, np.eye(len(factor)), lower=True)
    slopes = -np.tril(deviations[:, None] * inverse, -1)
    slopes[np.abs(slopes) <= ROUNDING] = 0.0
    return slopes * units[:, None] / units, deviations * units


def _make_network(labels, slopes, intercepts, deviations) -> LinearGaussianBayesianNetwork:
    model = LinearGaussianBayesianNetwork()
    model.add_nodes_from(labels)
    cpds = []
    for v, label in enumerate(labels):
        parents = np.flatnonzero(slopes[v])
        beta = [float(intercepts[v]), *slopes[v, parents].tolist()]
        cpds.append(LinearGaussianCPD(label, beta, float(deviations[v]), [labels[u] for u in parents.tolist()]))
    # The method of networkx: pgmpy's method adds edges one by one.
    nx.DiGraph.add_edges_from(model, ((u, cpd.variable, {"weight": None}) for cpd in cpds for u in cpd.evidence))
    model.add_cpds(*cpds)
    return model
