"""The linear dynamical system that learners from time series return: a vector autoregression with its noise."""

from collections.abc import Hashable, Sequence
from math import ceil, log
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from scipy.sparse import csr_array, issparse

from pgmx.checks import DEFAULT_SEED, as_reals, check_natural, choose_seed, read_only
from pgmx.models.names import check_names
from pgmx.models.time_series.coefficients import Coefficients, count_entries, read_coefficients
from pgmx.models.time_series.companion import compute_spectral_radius
from pgmx.models.time_series.graph import TimeSeriesGraph
from pgmx.models.time_series.history import continue_index, read_exogenous, read_series

#: Longest burn-in that is chosen by itself.
_MOST_BURN_IN = 20_000


class LinearDynamicalSystem:
    r"""A linear dynamical system: each row is a linear function of the L rows before it, plus noise.

    .. math:: x_t = c + \sum_{l=1}^{L} A_l\, x_{t-l} + B\, z_t + \varepsilon_t, \qquad \varepsilon_t \sim N(0, Q)

    Its numbers are the user's units and do not change.

    Parameters
    ----------
    names : sequence of hashable, length n
        Distinct names of the series; anything but None.
    coef : array_like or scipy.sparse matrix of shape (n, n), or a sequence of L + 1 of them
        Coefficients ``[target, source]``: of lag 1 alone, or of the lags 0 to L with zeros at lag 0, as the attribute
        ``coef_`` of learners has them. Sparse ones are never made dense, except where a method says so.
    intercept : array_like of shape (n,), optional
        The constants c; 0 by default.
    noise_covariance : array_like of shape (n, n) or (n,), optional
        Covariance Q of the noise, or its variances where it is uncorrelated. Without it there are forecasts, but
        nothing that needs the noise.
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
        As it was given.
    spectral_radius : float
        Largest absolute eigenvalue of the companion matrix.

    Raises
    ------
    ValueError, TypeError
        If names occur twice, a shape is wrong, a number is not finite, a coefficient of lag 0 not zero, or the noise
        covariance not symmetric or not positive semidefinite.

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
    array([[2.  , 2.  ],
           [1.  , 1.5 ]])
    """

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
            raise ValueError("coef holds lag 0 alone: give the matrices of the lags 0 to L, or that of lag 1 as (n, n)")
        if count_entries(matrices[0]):
            raise ValueError(
                "coef has instantaneous coefficients A_0: give the reduced form inv(I - A_0) A_l, and zeros at lag 0"
            )
        self._matrices = matrices[1:]
        self._intercept = _read_column(intercept, n, "intercept")
        self._noise = _read_noise(noise_covariance, n)
        self._exogenous_names = check_names(exogenous_names) if len(tuple(exogenous_names)) else ()
        self._exogenous_coef = _read_exogenous_coef(exogenous_coef, n, len(self._exogenous_names))
        self._cache: dict[str, Any] = {}

    # ---- what the system is ----

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
        """Coefficients: (n, n) [target, source] for one lag, else of the lags 0 to L."""
        if self.lags == 1:
            return self._matrices[0]
        if issparse(self._matrices[0]):
            return (csr_array(self._matrices[0].shape), *self._matrices)
        return read_only(np.stack([np.zeros_like(self._matrices[0]), *self._matrices]))

    @property
    def intercept(self) -> np.ndarray:
        """The constants c, shape (n,)."""
        return self._intercept

    @property
    def noise_covariance(self) -> np.ndarray | None:
        """Covariance of the noise, (n, n), or its variances (n,), as they were given."""
        return self._noise

    @property
    def exogenous_coef(self) -> np.ndarray:
        """Coefficients of the exogenous columns, shape (n, n_exogenous)."""
        return self._exogenous_coef

    @property
    def spectral_radius(self) -> float:
        """Largest absolute eigenvalue of the companion matrix, computed once.

        Where all parts of the graph that hold cycles have at most 600 rows (lags counted) it is exact; else from the
        implicitly restarted Arnoldi iteration on products with the coefficients, to about ten digits; where this does
        not converge (many eigenvalues of one size), from the growth over 2,000 products, to about three.
        """
        if "radius" not in self._cache:
            self._cache["radius"] = compute_spectral_radius(self._matrices)
        return self._cache["radius"]

    def is_stable(self) -> bool:
        """Return whether the spectral radius is below 1, so that there is a stationary distribution."""
        return self.spectral_radius < 1.0

    # ---- forecasts and simulation ----

    def predict(self, history: Any, steps: int = 1, *, exogenous: Any = None) -> np.ndarray | pd.DataFrame:
        """Return the means of the rows that follow.

        Parameters
        ----------
        history : array_like or frame of shape (n_rows, n_series)
            The last rows, oldest first, at least as many as there are lags; earlier ones do not count. With one lag
            also a single row (n_series,). The columns of a frame may be in any order, those of an array are in that of
            `names`.
        steps : int, default=1
            Number of rows to forecast, at least 1.
        exogenous : array_like or frame of shape (steps, n_exogenous), optional
            Exogenous rows of the times that are forecast; only where the system has such columns.

        Returns
        -------
        ndarray or pandas.DataFrame of shape (steps, n_series)
            A frame for a frame. Its index continues that of the history where this is regular (a range, dates of one
            frequency, periods); else it is 1, 2, ..., steps.

        Raises
        ------
        ValueError, TypeError
            If a series is missing, a cell is missing or no finite number, or there are too few rows.

        Notes
        -----
        Cost: per step one product with each matrix of coefficients.
        """
        steps = check_natural(steps, "steps", 1)
        rows = read_series(history, self._names, self.lags, "history")
        inputs = self._intercept + self._exogenous_effects(exogenous, steps)
        values = self._iterate(rows.values, inputs)
        if rows.labels is None:
            return values
        return pd.DataFrame(values, index=continue_index(rows.labels, steps), columns=_label(self._names))

    def simulate(
        self,
        n_rows: int,
        random_state: int | None = DEFAULT_SEED,
        *,
        seed: int | None = DEFAULT_SEED,
        initial: Any = None,
        burn_in: int | None = None,
        exogenous: Any = None,
    ) -> pd.DataFrame:
        """Draw a series.

        Parameters
        ----------
        n_rows : int
            Number of rows, at least 0.
        random_state : int or None, default=0
            A non-negative seed; None draws fresh entropy.
        seed : int or None, default=0
            The same under pgmpy's name; both together are an error.
        initial : array_like or frame of shape (n, n_series), optional
            Rows before the first, as `predict` takes them; zeros by default.
        burn_in : int, optional
            Rows that are drawn first and left out. By default 0 with `initial` or an unstable system, else as many as
            it takes the spectral radius to reduce the initial rows to a millionth, at most 20,000.
        exogenous : array_like or frame of shape (n_rows, n_exogenous), optional
            Exogenous rows; only where the system has such columns. They are zero during the burn-in.

        Returns
        -------
        pandas.DataFrame of shape (n_rows, n_series)
            Floats, in the order of `names`; after the burn-in of a stable system, rows of its stationary distribution.

        Raises
        ------
        ValueError, TypeError
            If the noise is unknown, or for options as `predict` has it.
        """
        n_rows = check_natural(n_rows, "n_rows", 0)
        root = self._noise_root()
        rng = np.random.default_rng(choose_seed(random_state, seed))
        start = np.zeros((self.lags, len(self._names)))
        if initial is not None:
            start = read_series(initial, self._names, self.lags, "initial").values
        if burn_in is None:
            burn_in = 0 if initial is not None or not self.is_stable() else self._choose_burn_in()
        else:
            burn_in = check_natural(burn_in, "burn_in", 0)
        effects = self._exogenous_effects(exogenous, n_rows)
        noise = rng.standard_normal((burn_in + n_rows, len(self._names)))
        noise = noise * root if root.ndim == 1 else noise @ root.T
        noise += self._intercept
        noise[burn_in:] += effects
        values = self._iterate(start, noise)[burn_in:]
        return pd.DataFrame(values, columns=_label(self._names))

    def _iterate(self, history: np.ndarray, inputs: np.ndarray) -> np.ndarray:
        """Return the rows (steps, n) after a history, given what each adds to the sum over the lags."""
        steps, lags = len(inputs), self.lags
        rows = np.empty((lags + steps, len(self._names)))
        rows[:lags] = history[len(history) - lags :]
        for t in range(lags, lags + steps):
            rows[t] = inputs[t - lags]
            for lag, matrix in enumerate(self._matrices, start=1):
                rows[t] += matrix @ rows[t - lag]
        return rows[lags:]

    def _exogenous_effects(self, exogenous: Any, n_rows: int) -> np.ndarray:
        """Return what exogenous rows add, (n_rows, n), zeros where there are none."""
        rows = read_exogenous(exogenous, self._exogenous_names, n_rows)
        return np.zeros((n_rows, len(self._names))) if rows is None else rows @ self._exogenous_coef.T

    def _choose_burn_in(self) -> int:
        radius = max(self.spectral_radius, 1e-6)
        return min(ceil(log(1e-6) / log(radius)) + self.lags, _MOST_BURN_IN)

    def _require_noise(self) -> np.ndarray:
        if self._noise is None:
            raise ValueError("the noise of the system is unknown: make it with noise_covariance=")
        return self._noise

    def _noise_root(self) -> np.ndarray:
        """Return a matrix R with R R' = Q, or standard deviations where Q is variances."""
        noise = self._require_noise()
        if noise.ndim == 1:
            return np.sqrt(noise)
        if "root" not in self._cache:
            values, vectors = np.linalg.eigh(noise)
            self._cache["root"] = vectors * np.sqrt(np.maximum(values, 0.0))
        return self._cache["root"]

    # ---- other forms ----

    def to_networkx(self) -> TimeSeriesGraph:
        """Return the graph of the coefficients that are not zero, each the ``weight`` of its edge."""
        return TimeSeriesGraph.from_coefficients(self._names, (csr_array(self._matrices[0].shape), *self._matrices))

    def __repr__(self) -> str:
        n, edges = len(self._names), sum(map(count_entries, self._matrices))
        lags = f"{self.lags} lag{'' if self.lags == 1 else 's'}"
        return f"LinearDynamicalSystem({n} series, {lags}, {edges} coefficient{'' if edges == 1 else 's'})"

    def __getstate__(self) -> dict:
        # What is cached can be computed again.
        return {**self.__dict__, "_cache": {}}


def _label(names: tuple) -> pd.Index:
    return pd.Index(names, tupleize_cols=False)


def _read_column(values: ArrayLike | None, n: int, what: str) -> np.ndarray:
    """Return numbers (n,), zeros by default."""
    array = np.zeros(n) if values is None else np.array(as_reals(values, what), dtype=np.float64)
    if array.shape != (n,):
        raise ValueError(f"{what} must have the shape ({n},), one number per series, got {array.shape}")
    if not np.isfinite(array).all():
        raise ValueError(f"{what} must hold finite numbers, got {float(array[~np.isfinite(array)][0])}")
    return read_only(array)


def _read_noise(values: ArrayLike | None, n: int) -> np.ndarray | None:
    """Return a covariance (n, n) or variances (n,) of the noise, checked."""
    if values is None:
        return None
    array = np.array(as_reals(values, "noise_covariance"), dtype=np.float64, order="C")
    if array.ndim == 1:
        array = np.array(_read_column(array, n, "noise_covariance"))
        if (array < 0.0).any():
            raise ValueError(f"noise_covariance must hold variances, not negative; got {float(array.min())}")
        return read_only(array)
    if array.shape != (n, n):
        raise ValueError(f"noise_covariance must have the shape ({n}, {n}) or ({n},), got {array.shape}")
    if not np.isfinite(array).all():
        raise ValueError(f"noise_covariance must hold finite numbers, got {float(array[~np.isfinite(array)][0])}")
    scale = np.sqrt(np.maximum(array.diagonal(), 0.0))
    units = np.where(scale > 0.0, scale, 1.0)
    correlation = array / np.outer(units, units)
    if np.abs(correlation - correlation.T).max() > 1e-8:
        raise ValueError("noise_covariance must be symmetric: average it with its transpose if that is meant")
    lowest = float(np.linalg.eigvalsh((correlation + correlation.T) / 2.0)[0])
    if lowest < -1e-8:
        raise ValueError(
            f"noise_covariance must be positive semidefinite; its correlations have the eigenvalue {lowest:.3g}"
        )
    return read_only((array + array.T) / 2.0)


def _read_exogenous_coef(values: ArrayLike | None, n: int, n_exogenous: int) -> np.ndarray:
    array = np.zeros((n, 0)) if values is None else np.array(as_reals(values, "exogenous_coef"), dtype=np.float64)
    if array.shape != (n, n_exogenous):
        raise ValueError(
            f"exogenous_coef must have the shape ({n}, {n_exogenous}), series by exogenous_names, got {array.shape}"
        )
    if not np.isfinite(array).all():
        raise ValueError(f"exogenous_coef must hold finite numbers, got {float(array[~np.isfinite(array)][0])}")
    return read_only(array)
