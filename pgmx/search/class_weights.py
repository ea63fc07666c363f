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

    They are the gains of the log-likelihood if the class is a parent of both,
    :math:`-\sum_c \tfrac{N_c}{2} \ln(1 - \rho_c^2)` for two continuous columns. A class in which a column is constant,
    or that has too few rows for a regression, adds nothing; a correlation of 1 counts as one of rounding errors.
    """
    features = np.delete(np.arange(len(mixed.columns)), class_node)
    is_continuous = mixed.is_continuous[features]
    row_weights = np.ones(mixed.n_rows) if weights is None else weights
    assert mixed.table is not None  # it holds the class
    place = int(mixed.positions[class_node])
    matrix = np.full((len(features), len(features)), -inf)
    groups = _Groups(
        mixed, row_weights, mixed.table.codes[place].astype(np.int64), int(mixed.table.cardinalities[place])
    )
    matrix[np.ix_(is_continuous, is_continuous)] = groups.weigh_continuous()
    for v in np.flatnonzero(~is_continuous).tolist():
        d = int(mixed.positions[features[v]])
        matrix[is_continuous, v] = groups.weigh_discrete(mixed.table.codes[d], int(mixed.table.cardinalities[d]))
    if (~is_continuous).any():
        options = {"state_names": None, "missing": "error", "n_jobs": n_jobs, "prior_network": None}
        scoring = bind_forest_score(
            "mutual_info", mixed.table, sample_weight=weights, equivalent_sample_size=1.0, **options
        )
        members = np.delete(np.arange(mixed.table.n_variables), place)
        ids = np.arange(len(members))
        discrete = score_pairs(scoring, members, place, n_jobs).pair_weights
        matrix[np.ix_(~is_continuous, ~is_continuous)] = discrete.rows(ids, ids)
    np.fill_diagonal(matrix, -inf)
    total = float(row_weights.sum())
    return StoredWeights(matrix, total * max(log(total), 1.0))


class _Groups:
    """The rows of each class: weights, and variances of the standardised continuous columns."""

    def __init__(self, mixed: MixedTable, weights: np.ndarray, codes: np.ndarray, n_classes: int) -> None:
        self.weights, self.codes, self.n_classes = weights, codes.astype(np.int64), n_classes
        mean = mixed.numbers @ weights / weights.sum()
        centred = mixed.numbers - mean[:, None]
        self.numbers = centred / np.sqrt(centred**2 @ weights / weights.sum())[:, None]
        self.n_rows, self.sums, self.variances = self._measure(self.codes, n_classes)

    def _measure(self, cells: np.ndarray, n_cells: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the number of rows (k,), the sum of weights (k,) and the variances (k, p) of cells of rows."""
        n_rows = np.bincount(cells, minlength=n_cells)
        sums = np.bincount(cells, self.weights, n_cells)
        members = csr_array((self.weights, (cells, np.arange(len(cells)))), shape=(n_cells, len(cells)))
        divisors = np.where(sums > 0, sums, 1.0)[:, None]
        means = members @ self.numbers.T / divisors
        return n_rows, sums, members @ (self.numbers**2).T / divisors - means**2

    def weigh_continuous(self) -> np.ndarray:
        """Return the weights (p, p) of pairs of continuous columns."""
        total = np.zeros((len(self.numbers),) * 2)
        for c in range(self.n_classes):
            if self.n_rows[c] < 3:
                continue
            rows = self.codes == c
            numbers, weights = self.numbers[:, rows], self.weights[rows]
            centred = numbers - (numbers @ weights / self.sums[c])[:, None]
            products = (centred * weights) @ centred.T / self.sums[c]
            variances = products.diagonal()
            varies = variances > _LEAST_VARIANCE
            scale = np.sqrt(np.where(varies, variances, 1.0))
            unexplained = 1.0 - (products / np.outer(scale, scale)) ** 2
            gains = -0.5 * self.sums[c] * np.log(np.maximum(unexplained, _LEAST_VARIANCE))
            total += np.where(np.outer(varies, varies), gains, 0.0)
        return (total + total.T) / 2.0

    def weigh_discrete(self, codes: np.ndarray, n_states: int) -> np.ndarray:
        """Return the weights (p,) of edges from a discrete column; -inf where a regression has no maximum."""
        cells = self.codes * n_states + codes
        n_rows, sums, variances = self._measure(cells, self.n_classes * n_states)
        shape = (self.n_classes, n_states)
        n_rows, sums, variances = n_rows.reshape(shape), sums.reshape(shape), variances.reshape(*shape, -1)
        varies = (self.variances > _LEAST_VARIANCE) & (self.n_rows > 1)[:, None]  # (classes, p)
        occurs = (n_rows > 0)[:, :, None] & varies[:, None, :]
        is_regular = (n_rows > 1)[:, :, None] & (variances > _LEAST_VARIANCE)
        logs = np.where(occurs & is_regular, np.log(np.maximum(variances, _LEAST_VARIANCE)), 0.0)
        before = np.where(varies, np.log(np.maximum(self.variances, _LEAST_VARIANCE)), 0.0)
        gains = 0.5 * (self.sums @ before - np.einsum("cs,csp->p", sums, logs))
        return np.where((occurs & ~is_regular).any(axis=(0, 1)), -inf, gains)
