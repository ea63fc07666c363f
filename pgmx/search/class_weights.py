"""Weights of pairs of features given a class, for mixed data: conditional mutual information of Gaussian classes."""

from math import inf, log

import numpy as np
from scipy.sparse import csr_array

from pgmx.data.mixed import MixedTable
from pgmx.search.forest_weights import StoredWeights, bind_forest_score, score_pairs

#: Smallest residual variance, as a share of the variance in the table, as in conditional Gaussian scores.
_LEAST_VARIANCE = 1e-10


def weigh_given_class(
    mixed: MixedTable, weights: np.ndarray | None, class_node: int, n_jobs: int | None
) -> StoredWeights:
    r"""Return the weights of all pairs of the other columns, in their order; -inf from continuous to discrete ones.

    They are gains of the log-likelihood if the class is a parent of both, :math:`-\sum_c \tfrac{N_c}{2} \ln(1 -
    \rho_c^2)` for two continuous columns, in the rows in which both are observed, scaled to all rows. A class in which
    a column is constant, or that has too few rows for a regression, adds nothing.
    """
    features = np.delete(np.arange(len(mixed.columns)), class_node)
    is_continuous = mixed.is_continuous[features]
    assert mixed.table is not None  # it holds the class
    place = int(mixed.positions[class_node])
    classes = _Classes(mixed, weights, place)
    matrix = np.full((len(features), len(features)), -inf)
    matrix[np.ix_(is_continuous, is_continuous)] = classes.weigh_continuous()
    for v in np.flatnonzero(~is_continuous).tolist():
        matrix[is_continuous, v] = classes.weigh_discrete(int(mixed.positions[features[v]]))
    if not is_continuous.all():
        marked = "pairwise" if (mixed.table.missing_codes >= 0).any() else "error"
        options = {"state_names": None, "missing": marked, "n_jobs": n_jobs, "prior_network": None}
        scoring = bind_forest_score(
            "mutual_info", mixed.table, sample_weight=weights, equivalent_sample_size=1.0, **options
        )
        members = np.delete(np.arange(mixed.table.n_variables), place)
        ids = np.arange(len(members))
        discrete = score_pairs(scoring, members, place, n_jobs).pair_weights
        matrix[np.ix_(~is_continuous, ~is_continuous)] = discrete.rows(ids, ids)
    np.fill_diagonal(matrix, -inf)
    return StoredWeights(matrix, classes.total * max(log(classes.total), 1.0))


class _Classes:
    """Continuous columns in units of their deviation in the table, minus the means of the classes; 0 if missing."""

    def __init__(self, mixed: MixedTable, weights: np.ndarray | None, place: int) -> None:
        assert mixed.table is not None
        self.table = mixed.table
        self.codes = mixed.table.codes[place].astype(np.int64)
        self.n_classes = int(mixed.table.cardinalities[place])
        self.weights = np.ones(mixed.n_rows) if weights is None else np.asarray(weights, dtype=np.float64)
        self.total = float(self.weights.sum())
        self.seen = ~np.isnan(mixed.numbers)
        numbers = np.where(self.seen, mixed.numbers, 0.0)
        sums = self.seen @ self.weights
        centred = np.where(self.seen, numbers - (numbers @ self.weights / sums)[:, None], 0.0)
        self.numbers = centred / np.sqrt(centred**2 @ self.weights / sums)[:, None]
        _, sums, firsts, _ = self._sum_cells(self.codes, self.n_classes, slice(None))
        means = firsts / np.where(sums > 0.0, sums, 1.0)
        self.numbers = np.where(self.seen, self.numbers - means[self.codes].T, 0.0)

    def _sum_cells(self, cells: np.ndarray, n_cells: int, rows: np.ndarray | slice) -> tuple[np.ndarray, ...]:
        """Return the observed rows, their weights, and the sums of numbers and squares, (cells, columns) each."""
        weights, seen, numbers = self.weights[rows], self.seen[:, rows].T, self.numbers[:, rows].T
        shape, where = (n_cells, len(cells)), (cells, np.arange(len(cells)))
        members = csr_array((weights, where), shape=shape)
        return csr_array((np.ones(len(cells)), where), shape=shape) @ seen, *(
            members @ values for values in (seen, numbers, numbers**2)
        )

    def weigh_continuous(self) -> np.ndarray:
        """Return the weights of pairs of continuous columns."""
        n = len(self.numbers)
        gains = np.zeros((n, n))
        for c in range(self.n_classes):
            rows = self.codes == c
            seen, numbers, weights = self.seen[:, rows].astype(float), self.numbers[:, rows], self.weights[rows]
            sums = (seen * weights) @ seen.T
            divisors = np.where(sums > 0.0, sums, 1.0)
            # of the first column, in the rows in which the second one is observed too
            means = (numbers * weights) @ seen.T / divisors
            variances = (numbers**2 * weights) @ seen.T / divisors - means**2
            covariances = (numbers * weights) @ numbers.T / divisors - means * means.T
            varies = np.minimum(variances, variances.T) > _LEAST_VARIANCE
            varies &= seen @ seen.T > 2
            explained = covariances**2 / np.where(varies, variances * variances.T, 1.0)
            unexplained = np.maximum(1.0 - np.where(varies, explained, 0.0), _LEAST_VARIANCE)
            gains -= 0.5 * sums * np.log(unexplained)
        known = (self.seen * self.weights) @ self.seen.T
        return (gains + gains.T) / 2.0 * (self.total / np.where(known > 0.0, known, 1.0))

    def weigh_discrete(self, column: int) -> np.ndarray:
        """Return the weights of edges from a discrete column; -inf if a configuration has no regression."""
        codes, marker = self.table.codes[column], int(self.table.missing_codes[column])
        n_states = int(self.table.cardinalities[column])
        rows: np.ndarray | slice = slice(None) if marker < 0 else codes != marker
        cells = self.codes[rows] * n_states + codes[rows]
        sums_of_cells = self._sum_cells(cells, self.n_classes * n_states, rows)
        whole = [part.reshape(self.n_classes, n_states, -1) for part in sums_of_cells]
        logs, weights, is_regular = _take_logs(*whole)
        logs_of_classes, weights_of_classes, varies = _take_logs(*(part.sum(axis=1) for part in whole))
        gains = (weights_of_classes * logs_of_classes).sum(axis=0) - (weights * logs * varies[:, None]).sum(axis=(0, 1))
        is_impossible = ((whole[0] > 0) & ~is_regular & varies[:, None]).any(axis=(0, 1))
        known = weights.sum(axis=(0, 1))
        return np.where(is_impossible, -inf, 0.5 * gains * (self.total / np.where(known > 0.0, known, 1.0)))


def _take_logs(
    n_rows: np.ndarray, weights: np.ndarray, firsts: np.ndarray, squares: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return logarithms of variances, 0 without a regression; the weights; and whether there is a regression."""
    divisors = np.where(weights > 0.0, weights, 1.0)
    variances = squares / divisors - (firsts / divisors) ** 2
    is_regular = (n_rows > 1) & (variances > _LEAST_VARIANCE)
    return np.log(np.where(is_regular, variances, 1.0)), weights, is_regular
