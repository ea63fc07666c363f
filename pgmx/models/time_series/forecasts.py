"""Methods of a linear dynamical system: forecasts, intervals, likelihoods, responses, simulation."""

from abc import abstractmethod
from collections.abc import Sequence
from math import ceil, log, pi
from typing import Any

import numpy as np
import pandas as pd
from scipy.linalg import LinAlgError, cholesky, solve_triangular
from scipy.special import ndtri

from pgmx.checks import DEFAULT_SEED, check_natural, choose_seed, is_number
from pgmx.models.time_series.coefficients import Matrix
from pgmx.models.time_series.companion import compute_forecast_variances, compute_responses
from pgmx.models.time_series.history import continue_index, label_columns, read_exogenous, read_series

#: Longest automatic burn-in.
_MOST_BURN_IN = 20_000


class SystemForecasts:
    """Mixin of the methods of a linear dynamical system; the subclass provides the parameters."""

    _names: tuple
    _matrices: tuple[Matrix, ...]
    _intercept: np.ndarray
    _noise: np.ndarray | None
    _exogenous_names: tuple
    _exogenous_coef: np.ndarray
    _cache: dict[str, Any]

    @property
    @abstractmethod
    def lags(self) -> int:
        """The number of lags."""

    @property
    @abstractmethod
    def spectral_radius(self) -> float:
        """Largest absolute eigenvalue of the companion matrix."""

    @abstractmethod
    def is_stable(self) -> bool:
        """Return whether the spectral radius is below 1."""

    def predict(self, history: Any, steps: int = 1, *, exogenous: Any = None) -> np.ndarray | pd.DataFrame:
        """Return the means of the next rows.

        Parameters
        ----------
        history : array_like or frame of shape (n_rows, n_series)
            The last rows, oldest first; at least one per lag. Earlier rows are ignored. With one lag also a single row
            (n_series,). The columns of a frame may be in any order; the columns of an array are in the order of
            `names`.
        steps : int, default=1
            Number of rows to forecast, at least 1.
        exogenous : array_like or frame of shape (steps, n_exogenous), optional
            Exogenous rows at the forecast times, if the system has such columns.

        Returns
        -------
        ndarray or pandas.DataFrame of shape (steps, n_series)
            A frame if the history is a frame. Its index continues a regular index of the history (a range, dates of one
            frequency, periods); else it is 1, 2, ..., steps.

        Raises
        ------
        ValueError, TypeError
            If a series is missing, a value is missing or not finite, or there are too few rows.

        Notes
        -----
        The cost per step is one product with each matrix of coefficients.
        """
        steps = check_natural(steps, "steps", 1)
        rows = read_series(history, self._names, self.lags, "history")
        inputs = self._intercept + self._exogenous_effects(exogenous, steps)
        values = self._iterate(rows.values, inputs)
        if rows.labels is None:
            return values
        return pd.DataFrame(values, index=continue_index(rows.labels, steps), columns=label_columns(self._names))

    def predict_interval(
        self, history: Any, steps: int = 1, coverage: float = 0.9, *, exogenous: Any = None
    ) -> tuple[np.ndarray, np.ndarray] | tuple[pd.DataFrame, pd.DataFrame]:
        r"""Return prediction intervals for the next rows, each with a given coverage probability.

        .. math:: \hat x_{t+k} \pm z \sqrt{\operatorname{diag} \Sigma_k}, \qquad
            \Sigma_k = \sum_{j=0}^{k-1} R_j\, Q\, R_j^T

        with the responses R_j of `impulse_response`.

        Parameters
        ----------
        history : array_like or frame of shape (n_rows, n_series)
            The last rows, as for `predict`.
        steps : int, default=1
            Number of rows to forecast, at least 1.
        coverage : float, default=0.9
            Probability of each single interval, between 0 and 1.
        exogenous : array_like or frame of shape (steps, n_exogenous), optional
            As for `predict`.

        Returns
        -------
        lower, upper : ndarray or pandas.DataFrame of shape (steps, n_series)
            Frames if the history is a frame, with the labels of `predict`.

        Raises
        ------
        ValueError, TypeError
            If the noise is unknown, `coverage` is not between 0 and 1, or as `predict`.

        Notes
        -----
        The parameters are treated as known. If they are estimates from few rows, the intervals are too narrow. The cost
        per step is one product with the coefficients per series, 256 series at a time.
        """
        if not is_number(coverage) or not 0.0 < coverage < 1.0:
            raise ValueError(f"coverage must be a number between 0 and 1, got {coverage!r}")
        noise = self._require_noise()
        means = self.predict(history, steps, exogenous=exogenous)
        variances = compute_forecast_variances(self._matrices, noise, len(means))
        width = ndtri((1.0 + coverage) / 2.0) * np.sqrt(np.maximum(variances, 0.0))
        return means - width, means + width

    def predict_rows(self, X: Any, *, exogenous: Any = None) -> np.ndarray | pd.DataFrame:
        """Return the mean of each row given the rows before it: one-step predictions.

        Parameters
        ----------
        X : array_like or frame of shape (n_rows, n_series)
            Rows of one series, oldest first; at least `lags` + 1 rows.
        exogenous : array_like or frame of shape (n_rows, n_exogenous), optional
            Exogenous rows of the same times, if the system has such columns.

        Returns
        -------
        ndarray or pandas.DataFrame of shape (n_rows - lags, n_series)
            Means of all rows after the first `lags` rows; a frame with their labels if `X` is a frame.

        Raises
        ------
        ValueError, TypeError
            For invalid rows as `predict`.

        Examples
        --------
        >>> from pgmx.models import LinearDynamicalSystem
        >>> LinearDynamicalSystem(["a"], [[0.5]]).predict_rows([[8.0], [4.0], [3.0]])
        array([[4.],
               [2.]])
        """
        rows = read_series(X, self._names, self.lags + 1, "X")
        values = rows.values[self.lags :] - self._compute_errors(X, exogenous)
        if rows.labels is None:
            return values
        return pd.DataFrame(values, index=rows.labels[self.lags :], columns=label_columns(self._names))

    def log_likelihood(self, X: Any, *, exogenous: Any = None) -> np.ndarray:
        """Return the log-density of each row given the rows before it, in nats.

        Parameters
        ----------
        X : array_like or frame of shape (n_rows, n_series)
            Rows of one series, oldest first; at least `lags` + 1 rows.
        exogenous : array_like or frame of shape (n_rows, n_exogenous), optional
            Exogenous rows of the same times, if the system has such columns.

        Returns
        -------
        ndarray of float64, shape (n_rows - lags,)
            Log-densities of all rows after the first `lags` rows.

        Raises
        ------
        ValueError, TypeError
            If the noise is unknown or singular, or for invalid rows as `predict`.
        """
        noise = self._require_noise()
        return compute_log_densities(self._compute_errors(X, exogenous), noise)

    def impulse_response(self, steps: int, *, orthogonal: bool = False) -> np.ndarray:
        r"""Return the responses of the series to an impulse in the noise of each series.

        .. math:: R_0 = I, \qquad R_k = \sum_{l=1}^{\min(k, L)} A_l R_{k-l}

        Parameters
        ----------
        steps : int
            Number of steps after the impulse, at least 0.
        orthogonal : bool, default=False
            Whether the impulses are orthogonal, with one standard deviation each: R_k times the lower Cholesky factor
            of the noise covariance, in the order of `names`.

        Returns
        -------
        ndarray of float64, shape (steps + 1, n, n)
            Entries ``[step, response, impulse]``; dense.

        Raises
        ------
        ValueError, TypeError
            If `steps` is negative or not an integer, or, for orthogonal impulses, the noise is unknown or singular.

        References
        ----------
        H. Lütkepohl (2005), New Introduction to Multiple Time Series Analysis, section 2.3.2.
        """
        steps = check_natural(steps, "steps", 0)
        impulses = np.eye(len(self._names))
        if orthogonal:
            noise = self._require_noise()
            try:
                impulses = np.diag(np.sqrt(noise)) if noise.ndim == 1 else cholesky(noise, lower=True)
            except LinAlgError:
                raise ValueError("noise_covariance is singular: it has no orthogonal impulses") from None
        return compute_responses(self._matrices, steps, impulses)

    def score_forecasts(self, X: Any, *, start: int, steps: int = 1, exogenous: Any = None) -> pd.DataFrame:
        """Return forecast errors for all origins, compared with two simpler forecasts.

        The origins are t = `start`, ..., T - 1, counted from 0. The rows before t are known, and the rows from t on are
        forecast. With horizon k the last origin is T - k.

        Parameters
        ----------
        X : array_like or frame of shape (T, n_series)
            Rows of one series, oldest first.
        start : int
            First row to forecast. Fit the system only to the rows before it; otherwise its errors are not out-of-sample
            errors.
        steps : int, default=1
            Largest forecast horizon, at least 1.
        exogenous : array_like or frame of shape (T, n_exogenous), optional
            Exogenous rows of the same times, if the system has such columns.

        Returns
        -------
        pandas.DataFrame of shape (3, steps)
            Root mean square errors over all origins and series, by forecast horizon. The rows are "system"; "VAR", a
            vector autoregression with the same lags and an intercept, fitted by least squares to the rows before
            `start` (the solution of smallest norm if it is not unique); and "naive", the last known row. Each series is
            divided by its standard deviation before `start`.

        Raises
        ------
        ValueError, TypeError
            If there are fewer than L + 2 rows before `start` or fewer than `steps` rows after it, or for invalid rows
            as `predict`.

        Examples
        --------
        >>> from pgmx.models import LinearDynamicalSystem
        >>> system = LinearDynamicalSystem(["a", "b"], [[0.5, 0.0], [0.5, 0.5]], noise_covariance=[1.0, 1.0])
        >>> errors = system.score_forecasts(system.simulate(1000), start=500, steps=3)
        >>> bool((errors.loc["system"] < errors.loc["naive"]).all())
        True
        """
        steps, rows = check_natural(steps, "steps", 1), read_series(X, self._names, self.lags + 2, "X").values
        start = check_natural(start, "start", self.lags + 2)
        if start > len(rows) - steps:
            raise ValueError(f"start must leave {steps} of {len(rows)} rows to forecast, got {start}")
        inputs = read_exogenous(exogenous, self._exogenous_names, len(rows))
        known = None if inputs is None else inputs[:start]
        systems = {
            "system": (self._matrices, self._intercept, self._exogenous_coef),
            "VAR": fit_autoregression(rows[:start], known, self.lags),
        }
        errors = score_origins(rows, inputs, systems, start, steps)
        return pd.DataFrame.from_dict(errors, orient="index", columns=pd.RangeIndex(1, steps + 1, name="steps ahead"))

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
            Alias of `random_state` under pgmpy's name; do not give both.
        initial : array_like or frame of shape (n, n_series), optional
            Rows before the first row, as for `predict`; zeros by default.
        burn_in : int, optional
            Number of rows that are drawn first and dropped. The default is 0 with `initial` or for an unstable system.
            Otherwise it is the number of steps after which the effect of the initial rows has decreased to a millionth
            (by the spectral radius), at most 20,000.
        exogenous : array_like or frame of shape (n_rows, n_exogenous), optional
            Exogenous rows, if the system has such columns. They are zero during the burn-in.

        Returns
        -------
        pandas.DataFrame of shape (n_rows, n_series)
            Float columns in the order of `names`. After the default burn-in of a stable system the rows follow its
            stationary distribution.

        Raises
        ------
        ValueError, TypeError
            If the noise is unknown, or for invalid options.
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
        return pd.DataFrame(values, columns=label_columns(self._names))

    def _compute_errors(self, X: Any, exogenous: Any) -> np.ndarray:
        """Return rows minus their means given the rows before them, (n_rows - lags, n)."""
        rows = read_series(X, self._names, self.lags + 1, "X").values
        inputs = read_exogenous(exogenous, self._exogenous_names, len(rows))
        errors = rows[self.lags :] - self._intercept
        if inputs is not None:
            errors -= inputs[self.lags :] @ self._exogenous_coef.T
        for lag, matrix in enumerate(self._matrices, start=1):
            errors -= (matrix @ rows[self.lags - lag : len(rows) - lag].T).T
        return errors

    def _iterate(self, history: np.ndarray, inputs: np.ndarray) -> np.ndarray:
        """Return the rows (steps, n) after a history; `inputs` are added to the sums over the lags."""
        steps, lags = len(inputs), self.lags
        rows = np.empty((lags + steps, len(self._names)))
        rows[:lags] = history[len(history) - lags :]
        for t in range(lags, lags + steps):
            rows[t] = inputs[t - lags]
            for lag, matrix in enumerate(self._matrices, start=1):
                rows[t] += matrix @ rows[t - lag]
        return rows[lags:]

    def _exogenous_effects(self, exogenous: Any, n_rows: int) -> np.ndarray:
        """Return the effects of exogenous rows, (n_rows, n); zeros without exogenous columns."""
        rows = read_exogenous(exogenous, self._exogenous_names, n_rows)
        return np.zeros((n_rows, len(self._names))) if rows is None else rows @ self._exogenous_coef.T

    def _choose_burn_in(self) -> int:
        # The logarithm of 0 is infinite.
        radius = max(self.spectral_radius, 1e-6)
        return min(ceil(log(1e-6) / log(radius)) + self.lags, _MOST_BURN_IN)

    def _require_noise(self) -> np.ndarray:
        if self._noise is None:
            raise ValueError("the noise of the system is unknown: make it with noise_covariance=")
        return self._noise

    def _noise_root(self) -> np.ndarray:
        """Return a matrix R with R R' = Q, or standard deviations if Q holds variances."""
        noise = self._require_noise()
        if noise.ndim == 1:
            return np.sqrt(noise)
        if "root" not in self._cache:
            # Not Cholesky: the covariance may be singular.
            values, vectors = np.linalg.eigh(noise)
            self._cache["root"] = vectors * np.sqrt(np.maximum(values, 0.0))
        return self._cache["root"]


# ---- errors and densities of forecasts ----


def score_origins(
    rows: np.ndarray,
    exogenous: np.ndarray | None,
    systems: dict[str, tuple[Sequence[Matrix], np.ndarray, np.ndarray]],
    start: int,
    steps: int,
) -> dict[str, np.ndarray]:
    """Return root mean square errors (steps,) per method, for series divided by their scales before `start`.

    `systems` holds matrices of the lags 1 to L, intercept and exogenous coefficients; "naive" repeats the last row.
    """
    origins = np.arange(start, len(rows))
    scales = rows[:start].std(axis=0)
    # Constant series keep their units.
    scales[scales == 0.0] = 1.0
    errors = {name: np.zeros(steps) for name in (*systems, "naive")}
    for name in errors:
        earlier: list[np.ndarray] = []
        for step in range(steps):
            first = origins[: len(origins) - step]  # the forecast rows are within the data
            earlier = [means[: len(first)] for means in earlier]
            if name == "naive":
                means = rows[first - 1]
            else:
                matrices, intercept, effects = systems[name]
                means = np.tile(intercept, (len(first), 1))
                if exogenous is not None:
                    means += exogenous[first + step] @ effects.T
                for lag, matrix in enumerate(matrices, start=1):
                    source = earlier[-lag] if lag <= step else rows[first + step - lag]
                    means += (matrix @ source.T).T
                earlier.append(means)
            errors[name][step] = np.sqrt((((rows[first + step] - means) / scales) ** 2).mean())
    return errors


def fit_autoregression(
    rows: np.ndarray, exogenous: np.ndarray | None, lags: int
) -> tuple[list[np.ndarray], np.ndarray, np.ndarray]:
    """Return matrices, intercept and exogenous coefficients of the vector autoregression by least squares."""
    n_rows, n = rows.shape
    predictors = [rows[lags - lag : n_rows - lag] for lag in range(1, lags + 1)]
    if exogenous is not None:
        predictors.append(exogenous[lags:])
    design = np.column_stack([*predictors, np.ones(n_rows - lags)])
    solution = np.linalg.lstsq(design, rows[lags:], rcond=None)[0].T
    matrices = [solution[:, lag * n : (lag + 1) * n] for lag in range(lags)]
    return matrices, solution[:, -1], solution[:, lags * n : -1]


def compute_log_densities(errors: np.ndarray, noise: np.ndarray) -> np.ndarray:
    """Return the log densities (T,) of errors (T, n) under N(0, noise), in nats.

    The noise is a covariance (n, n), or variances (n,) of independent noise. Raises ValueError if it is singular.
    """
    units = np.sqrt(noise if noise.ndim == 1 else noise.diagonal())
    try:
        if not (units > 0.0).all():
            raise LinAlgError
        triangle = None
        if noise.ndim == 2:
            triangle = cholesky(noise / np.outer(units, units), lower=True, check_finite=False)
    except LinAlgError:
        raise ValueError(
            "noise_covariance is singular, so rows have no density: fit the system to more rows than predictors"
        ) from None
    scores, log_det = errors / units, np.log(units).sum()
    if triangle is not None:
        scores = solve_triangular(triangle, scores.T, lower=True, check_finite=False).T
        log_det += np.log(triangle.diagonal()).sum()
    return -0.5 * np.einsum("ij,ij->i", scores, scores) - log_det - 0.5 * errors.shape[1] * log(2.0 * pi)
