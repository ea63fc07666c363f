"""The Bayesian Gaussian equivalent score."""

from collections.abc import Hashable, Mapping, Sequence
from math import lgamma, log, pi
from numbers import Real
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from pgmx._ext import _collinear, _gaussian
from pgmx.scores.gains import FamilyBounds
from pgmx.scores.gaussian.base import GaussianScore, make_gaussian_scorer, refuse_huge
from pgmx.statistics import Moments
from pgmx.statistics.collinearity import Collinearity, find_collinearity, warn_of_columns
from pgmx.statistics.symmetric import scale_to_correlation


class BGe(GaussianScore):
    r"""Marginal log-likelihood of linear Gaussian networks under a normal-Wishart prior.

    .. math::
        \mathrm{BGe}(x \mid \Pi) = \frac{1}{2} \ln \frac{\alpha_\mu}{N + \alpha_\mu}
        + \ln \frac{\Gamma\left(\frac{N + a + k + 1}{2}\right)}{\Gamma\left(\frac{a + k + 1}{2}\right)}
        - \frac{N}{2} \ln \pi + \frac{a + 2k + 1}{2} \ln t
        + \frac{N + a + k}{2} \ln |R_{\Pi}| - \frac{N + a + k + 1}{2} \ln |R_{\Pi x}|

    .. math::
        R = t I + C + \frac{N \alpha_\mu}{N + \alpha_\mu} (\bar x - \nu)(\bar x - \nu)^T, \qquad
        t = \frac{\alpha_\mu (\alpha_w - p - 1)}{\alpha_\mu + 1}, \qquad a = \alpha_w - p

    in nats, for k parents among p columns. C holds the cross-products of N rows about their means :math:`\bar x`, and
    :math:`R_{\Pi}` the rows and columns of R for the parents. Markov equivalent graphs have the same score.

    Parameters
    ----------
    data : DataFrame, array or DistributedNumericTable
        One column of finite values per variable.
    mean_sample_size : float, default=1.0
        :math:`\alpha_\mu > 0`, the weight of the prior of the means as a number of rows; bnlearn's ``iss.mu``.
    wishart_sample_size : float, default=None
        :math:`\alpha_w > p + 1`, the degrees of freedom of the Wishart prior of the precisions; p + 2 by default.
        bnlearn's ``iss.w``.
    prior_mean : array_like of shape (p,), default=None
        :math:`\nu`, the prior means in the order of the columns; the sample means by default. bnlearn's ``nu``.
    state_names : dict, optional
        Not used; present for compatibility with pgmpy.

    Attributes
    ----------
    variables : list
        Names of the columns.
    moments : Moments
        Means and cross-products.

    Raises
    ------
    ValueError
        If a column is discrete or has missing or infinite values, or if a hyperparameter is out of its range. The
        message names the column or the hyperparameter.

    Notes
    -----
    The formula includes the correction of [2]_, as in bnlearn and pybnesian. The prior scale t I has the squared unit
    of the columns. It hardly changes columns of large variance and dominates columns of small variance. Therefore the
    units matter, unlike with :class:`BICGauss`. A constant column has a finite score. If columns determine each other
    to ten digits of R, the prior is too small to separate them: independent noise of 1e-6 of the standard deviation
    of each column is added, see :class:`BICGauss`.

    All families are scored from one matrix. A family with k parents costs k³ / 6 multiplications.

    References
    ----------
    .. [1] Geiger, D. and Heckerman, D. (1994). Learning Gaussian networks. UAI, 235-243.
    .. [2] Kuipers, J., Moffa, G. and Heckerman, D. (2014). Addendum on the scoring of Gaussian directed acyclic
       graphical models. Annals of Statistics 42, 1689-1691, equations 4 to 6.

    Examples
    --------
    >>> import pandas as pd
    >>> data = pd.DataFrame({"A": [0.0, 1.0, 2.0, 3.0], "B": [0.5, 0.5, 2.5, 2.5], "C": [1.0, 0.0, 1.0, 0.0]})
    >>> score = BGe(data)
    >>> round(score.local_score("B", ("A",)), 3), round(score.local_score("B", ()), 3)
    (-5.745, -8.076)
    """

    mean_sample_size: float = 1.0
    wishart_sample_size: float | None = None
    prior_mean: ArrayLike | None = None

    _tags = {"name": "bge", "supported_datatype": "continuous", "default_for": None, "is_parameteric": False}

    def __init__(
        self,
        data: Any,
        mean_sample_size: float = 1.0,
        wishart_sample_size: float | None = None,
        prior_mean: ArrayLike | None = None,
        state_names: Mapping[Hashable, Sequence] | None = None,
    ):
        self.mean_sample_size = _check_positive("mean_sample_size", mean_sample_size)
        self.wishart_sample_size = wishart_sample_size
        self.prior_mean = prior_mean
        super().__init__(data, state_names)

    def parameter_cost(self, n_rows: float) -> float:
        """Return 0: parameters are integrated out and not penalised."""
        return 0.0

    def check_moments(self, sample_moments: Moments, names: list) -> None:
        """Raise ValueError for columns that are too large to square and hyperparameters that do not fit the columns."""
        refuse_huge(sample_moments, names)
        self._degrees(len(names))
        self._prior_mean(len(names))

    def find_collinearity(self, sample_moments: Moments) -> Collinearity | None:
        """Return which of three or more columns determine each other to ten digits of R."""
        return find_collinearity(scale_to_correlation(self._posterior_matrix(sample_moments)), sample_moments.n_rows)

    def warn_of_collinearity(self, sample_moments: Moments, collinearity: Collinearity | None) -> None:
        """Warn of columns that determine each other to ten digits of R."""
        correlation = scale_to_correlation(self._posterior_matrix(sample_moments))
        warn_of_columns(correlation, self.variables, collinearity)

    def bounds(self, n_rows: float, prior_cost: float = 0.0) -> FamilyBounds:
        """Return no bounds: the score implies none for families that are not scored yet."""
        return FamilyBounds()

    def make_scorer(
        self,
        sample_moments: Moments,
        prior_cost: float = 0.0,
        *,
        collinearity: Collinearity | Literal["unknown"] | None = "unknown",
        **options: Any,
    ) -> "_gaussian.GaussianScorer | _collinear.CollinearScorer":
        """Return the compiled scorer of these moments; `prior_cost` is added to the cost of a parameter."""
        n, p = sample_moments.n, len(sample_moments.mean)
        mu, a, t, k = self.mean_sample_size, self._degrees(p) - p, self._prior_scale(p), np.arange(p)
        matrix = self._posterior_matrix(sample_moments)
        gammas = [lgamma((n + a + i + 1) / 2) - lgamma((a + i + 1) / 2) for i in range(p)]
        constants = 0.5 * log(mu / (n + mu)) + np.array(gammas) - n / 2 * log(pi) + (a + 2 * k + 1) / 2 * log(t)
        variances = matrix.diagonal().copy()
        return make_gaussian_scorer(
            scale_to_correlation(matrix),
            variances,
            n,
            0.0,
            self.find_collinearity(sample_moments) if collinearity == "unknown" else collinearity,
            constants=constants - prior_cost * (k + 2),
            weights=(n + a + k + 1) / 2,
            **options,
        )

    def posterior(self, sample_moments: Moments) -> tuple[np.ndarray, np.ndarray, float, float]:
        """Return the posterior means, R, the weight of the means, and the degrees of freedom of the Wishart."""
        n, mu = sample_moments.n, self.mean_sample_size
        p = len(sample_moments.mean)
        prior_mean = self._prior_mean(p)
        mean = sample_moments.mean
        if prior_mean is not None:
            mean = (n * mean + mu * prior_mean) / (n + mu)
        return mean, self._posterior_matrix(sample_moments), n + mu, n + self._degrees(p)

    def _prior_scale(self, p: int) -> float:
        """Return t for p columns."""
        return self.mean_sample_size * (self._degrees(p) - p - 1) / (self.mean_sample_size + 1)

    def _posterior_matrix(self, sample_moments: Moments) -> np.ndarray:
        """Return R."""
        n, p, mu = sample_moments.n, len(sample_moments.mean), self.mean_sample_size
        prior_mean = self._prior_mean(p)
        shift = np.zeros(p) if prior_mean is None else sample_moments.mean - prior_mean
        matrix = sample_moments.cross + (n * mu / (n + mu)) * np.outer(shift, shift)
        matrix[np.diag_indices(p)] += self._prior_scale(p)
        return matrix

    def _degrees(self, p: int) -> float:
        degrees = p + 2 if self.wishart_sample_size is None else self.wishart_sample_size
        if isinstance(degrees, bool) or not isinstance(degrees, Real) or not p + 1 < degrees < np.inf:
            raise ValueError(
                f"wishart_sample_size must be a number above p + 1 = {p + 1} for {p} columns, got {degrees!r}: the "
                "Wishart prior has no mean otherwise"
            )
        return float(degrees)

    def _prior_mean(self, p: int) -> np.ndarray | None:
        if self.prior_mean is None:
            return None
        values = np.asarray(self.prior_mean, dtype=float)
        if values.shape != (p,) or not np.isfinite(values).all():
            raise ValueError(f"prior_mean must hold {p} finite numbers, one for each column, got {self.prior_mean!r}")
        return values


def _check_positive(name: str, value: float) -> float:
    if isinstance(value, bool) or not isinstance(value, Real) or not 0 < value < np.inf:
        raise ValueError(f"{name} must be a positive number, got {value!r}")
    return value
