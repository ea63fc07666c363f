"""Monotone maps of single columns to normal scores and back."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import ArrayLike

#: Maximum number of knots per column: half of them evenly spaced in ranks, half in normal scores (for the tails).
MOST_KNOTS = 1000

#: Marginal distribution function for each correlation method.
METHODS = ("shrinkage", "truncation", "kendall", "spearman")


def normal_scores(ranks: ArrayLike, n: int, method: str) -> np.ndarray:
    r"""Return normal quantiles of an estimated distribution function at average ranks r; NaN stays NaN.

    .. math:: \Phi^{-1}\left(\frac{r}{n + 1}\right) \text{ (shrinkage)}, \quad
        \Phi^{-1}\left(\min(1 - \delta, \max(\delta, r / n))\right), \;
        \delta = \frac{1}{4 n^{1/4} \sqrt{\pi \log n}} \text{ (truncation)}
    """
    from scipy.special import ndtri

    ranks = np.asarray(ranks, dtype=np.float64)
    if method == "shrinkage":
        return ndtri(ranks / (n + 1.0))
    if method != "truncation":
        raise ValueError(f"method must be 'shrinkage' or 'truncation', got {method!r}")
    # The formula is undefined for n < 2; one half gives the score 0.
    delta = 1.0 / (4.0 * n**0.25 * np.sqrt(np.pi * np.log(n))) if n > 1 else 0.5
    return ndtri(np.clip(ranks / n, delta, 1.0 - delta))


@dataclass(frozen=True, eq=False)
class MarginalTransforms:
    r"""Increasing maps, one per column, from values to normal scores with mean 0 and variance 1, and back.

    .. math:: z = \frac{\Phi^{-1}(\hat F(x)) - m}{s}

    with :math:`\hat F` the distribution function that :func:`latent_correlation` estimates from average ranks (so equal
    values have the same score), and m, s the mean and standard deviation of the scores. The maps are linear between
    knots, which are values of the data, and constant before the first and after the last knot.

    Parameters
    ----------
    starts : ndarray of int64, shape (p + 1,)
        Positions of the first knot of each column.
    knots : ndarray of float64
        Values, increasing within a column; at most 1000 per column.
    scores : ndarray of float64
        Scores of the knots, increasing within a column.

    Notes
    -----
    Cost: n log n per column to find the knots, log k per value to apply a map with k knots.
    A constant column has one knot, with score 0. With truncation several of the lowest values, and several of the
    highest, have the same score. The inverse map returns the innermost of them.

    References
    ----------
    .. [1] Liu, H., Lafferty, J. and Wasserman, L. (2009). The nonparanormal: semiparametric estimation of high
       dimensional undirected graphs. Journal of Machine Learning Research 10, 2295-2328, section 3.

    Examples
    --------
    >>> import numpy as np
    >>> transforms = MarginalTransforms.from_rows(np.array([[1.0], [10.0], [100.0]]), "shrinkage")
    >>> transforms.forward([0], np.array([[1.0], [10.0], [55.0]])).round(3).ravel().tolist()
    [-1.225, 0.0, 0.612]
    >>> transforms.backward([0], np.array([[0.0], [9.0]])).ravel().tolist()
    [10.0, 100.0]
    """

    starts: np.ndarray
    knots: np.ndarray
    scores: np.ndarray

    def __post_init__(self):
        for name, dtype in (("starts", np.int64), ("knots", np.float64), ("scores", np.float64)):
            array = np.array(getattr(self, name), dtype=dtype)
            if array.ndim != 1:
                raise ValueError(f"{name} must be a one-dimensional array of numbers, got the shape {array.shape}")
            array.setflags(write=False)
            object.__setattr__(self, name, array)
        starts, knots, scores = self.starts, self.knots, self.scores
        if len(starts) < 1 or starts[0] != 0 or (np.diff(starts) < 1).any() or not starts[-1] == len(knots):
            raise ValueError("starts must increase from 0 to the number of knots, with at least one knot per column")
        if len(scores) != len(knots):
            raise ValueError(f"there must be one score per knot, got {len(scores)} for {len(knots)} knots")
        inner = np.ones(max(len(knots) - 1, 0), dtype=bool)
        inner[starts[1:-1] - 1] = False
        for name, array in (("knots", knots), ("scores", scores)):
            if not np.isfinite(array).all() or (np.diff(array)[inner] <= 0).any():
                raise ValueError(f"{name} must be finite and increase within a column")

    def __eq__(self, other):
        if not isinstance(other, MarginalTransforms):
            return NotImplemented
        mine, theirs = self.arrays(), other.arrays()
        return all(np.array_equal(mine[name], theirs[name]) for name in mine)

    __hash__ = None  # type: ignore[assignment]

    @classmethod
    def from_rows(cls, rows: ArrayLike, method: str = "shrinkage") -> Self:
        """Estimate the maps from data.

        Parameters
        ----------
        rows : array_like of float, shape (n, p)
            Values. NaN means missing, and is left out of its column.
        method : {"shrinkage", "truncation", "kendall", "spearman"}, default="shrinkage"
            Distribution function. The rank correlations use the same as "shrinkage".

        Returns
        -------
        MarginalTransforms
            One map per column. The scores of the observed values have mean 0 and variance 1 (dividing by n) up to
            rounding.

        Raises
        ------
        ValueError
            If the method is unknown, there are no rows, a value is infinite, or a column has no observed value.
        """
        if method not in METHODS:
            raise ValueError(f"method must be one of {', '.join(map(repr, METHODS))}, got {method!r}")
        rows = np.asarray(rows, dtype=np.float64)
        if rows.ndim != 2 or not len(rows):
            raise ValueError(f"rows must be a table with at least one row, got the shape {rows.shape}")
        maps = []
        for j in range(rows.shape[1]):
            values = np.sort(rows[:, j])
            values = values[: len(values) - np.count_nonzero(np.isnan(values))]
            if not len(values) or not np.isfinite(values[[0, -1]]).all():
                what = "has an infinite value" if len(values) else "has no observed value"
                raise ValueError(f"the column at position {j} {what}: drop it")
            maps.append(_make_map(values, "truncation" if method == "truncation" else "shrinkage"))
        starts = np.concatenate(([0], np.cumsum([len(knots) for knots, _ in maps], dtype=np.int64)))
        knots, scores = (np.concatenate([np.empty(0), *(part[k] for part in maps)]) for k in (0, 1))
        return cls(starts, knots, scores)

    @property
    def n_columns(self) -> int:
        """Number of columns p."""
        return len(self.starts) - 1

    def forward(self, positions: ArrayLike, values: ArrayLike) -> np.ndarray:
        """Map values to scores.

        Parameters
        ----------
        positions : array_like of int, shape (k,)
            Columns of the values.
        values : array_like of float, shape (m, k) or (k,)
            Values in the units of the data. NaN stays NaN, and values beyond the knots get the score of the nearest
            knot.

        Returns
        -------
        ndarray of float64
            Scores, of the shape of `values`; a new array.

        Raises
        ------
        ValueError
            If the number of values per row differs from the number of positions, or a column does not exist.
        """
        return self._apply(positions, values, self.knots, self.scores)

    def backward(self, positions: ArrayLike, scores: ArrayLike) -> np.ndarray:
        """Map scores to values in the units of the data: the inverse of `forward`, with the same shapes."""
        return self._apply(positions, scores, self.scores, self.knots)

    def take(self, positions: ArrayLike) -> "MarginalTransforms":
        """Return the maps of some columns, in the order of `positions`."""
        positions = self._check_positions(positions)
        parts = [slice(self.starts[j], self.starts[j + 1]) for j in positions]
        starts = np.concatenate(([0], np.cumsum(np.diff(self.starts)[positions])))
        knots, scores = (np.concatenate([np.empty(0), *(a[p] for p in parts)]) for a in (self.knots, self.scores))
        return MarginalTransforms(starts, knots, scores)

    def arrays(self) -> dict[str, np.ndarray]:
        """Return the read-only arrays to be stored in a file: ``starts``, ``knots`` and ``scores``."""
        return {"starts": self.starts, "knots": self.knots, "scores": self.scores}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, ArrayLike]) -> Self:
        """Return the maps from the arrays of :meth:`arrays`; other keys are ignored."""
        names = ("starts", "knots", "scores")
        missing = [name for name in names if name not in arrays]
        if missing:
            raise ValueError(f"marginal transforms need the arrays {', '.join(names)}; missing: {', '.join(missing)}")
        return cls(*(np.asarray(arrays[name]) for name in names))

    def _check_positions(self, positions: ArrayLike) -> np.ndarray:
        chosen = np.asarray(positions)
        if chosen.size == 0:
            return np.empty(0, dtype=np.int64)
        if chosen.ndim != 1 or chosen.dtype.kind not in "iu":
            raise ValueError(f"positions must be a one-dimensional array of integers, got {positions!r}")
        if chosen.min() < 0 or chosen.max() >= self.n_columns:
            raise ValueError(f"positions must be between 0 and {self.n_columns - 1}, got {chosen.tolist()}")
        return chosen.astype(np.int64)

    def _apply(self, positions: ArrayLike, values: ArrayLike, source: np.ndarray, target: np.ndarray) -> np.ndarray:
        chosen = self._check_positions(positions)
        values = np.asarray(values, dtype=np.float64)
        if values.ndim not in (1, 2) or values.shape[-1] != len(chosen):
            raise ValueError(f"there must be {len(chosen)} values per row, one per position, got shape {values.shape}")
        out = np.empty_like(values, order="C")
        for k, j in enumerate(chosen):
            knots = slice(self.starts[j], self.starts[j + 1])
            out[..., k] = np.interp(values[..., k], source[knots], target[knots])
        return out


def _make_map(values: np.ndarray, method: str) -> tuple[np.ndarray, np.ndarray]:
    """Return knots and standardised scores from the sorted values of a column."""
    n = len(values)
    first = np.flatnonzero(np.concatenate(([True], values[1:] != values[:-1])))
    distinct, counts = values[first], np.diff(np.append(first, n))
    scores = normal_scores(first + 0.5 * (counts + 1), n, method)
    # If truncation gives several values the same score, only the innermost is a knot; the constant ends give the others
    # this score.
    low, high = np.count_nonzero(scores == scores[0]) - 1, len(scores) - np.count_nonzero(scores == scores[-1])
    if low >= high:
        return distinct[len(distinct) // 2 :][:1].copy(), np.zeros(1)
    inner, levels = distinct[low : high + 1], scores[low : high + 1]
    rising = np.concatenate(([True], np.diff(levels) > 0))
    inner, levels = inner[rising], levels[rising]
    if len(inner) > MOST_KNOTS:
        chosen = _choose_knots(levels, first[low : high + 1][rising])
        inner, levels = inner[chosen], levels[chosen]
    for _ in range(2):  # the second iteration removes the rounding errors of the first
        images = np.interp(distinct, inner, levels)
        centre = float(counts @ images) / n
        spread = np.sqrt(float(counts @ (images - centre) ** 2) / n)
        levels = (levels - centre) / spread
    return inner, levels


def _choose_knots(levels: np.ndarray, first: np.ndarray) -> np.ndarray:
    """Choose knots: half at evenly spaced ranks, half at evenly spaced scores, including both ends."""
    half = MOST_KNOTS // 2
    by_rank = np.searchsorted(first, np.linspace(first[0], first[-1], half))
    by_score = np.searchsorted(levels, np.linspace(levels[0], levels[-1], half))
    return np.unique(np.minimum(np.concatenate((by_rank, by_score)), len(levels) - 1))
