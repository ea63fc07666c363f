r"""Tests of conditional independence of discrete and continuous variables.

The strata s are the configurations of the discrete variables of the set that occur. With its continuous variables as
regressors in each stratum, on their own coefficients:

- all variables discrete: `DiscreteTests`
- x or y continuous: regressions of that variable, with and without the other one (both continuous: either way has the
  same result). With residual sums of squares R0 and R1 on f0 and f1 degrees of freedom and the share
  :math:`q_s = 1 - R_{1s} / R_{0s}`,

  .. math:: F = \frac{\sum_s f_{0s} q_s / \sum_s (f_{0s} - f_{1s})}{\sum_s f_{0s} (1 - q_s) / \sum_s f_{1s}}.

  Each stratum is scaled by its own residual variance, so that variances may differ between strata.
- x and y discrete and a regressor: Rao's score test of a multinomial logistic regression of one of them, sums over
  strata. It needs no fit of the model with the other variable. The response is chosen by the data, not by its name: the
  variable with fewer states, then the one whose sorted counts of states are lexicographically larger. If both are
  alike, the regression with the larger p-value counts.

References: Edwards (2000), Introduction to Graphical Modelling, chapter 4; Rao (1948), Proceedings of the Cambridge
Philosophical Society 44, 50-57.
"""

from collections.abc import Iterator, Sequence

import numpy as np
from scipy.special import chdtrc, fdtrc

from pgmx.data.mixed import MixedTable
from pgmx.statistics.independence.discrete import DiscreteTests
from pgmx.statistics.independence.source import IdArray, IndependenceSource, TestRow

#: Relative length below which a column is a combination of others.
_LEAST_LENGTH = 1e-7
#: Newton steps of a logistic regression, and the change of its log-likelihood, in nats, that ends it.
_STEPS, _CHANGE = 30, 1e-8
#: Fitted regressions that are kept.
_KEPT = 64


class MixedTests(IndependenceSource):
    """Tests of the variables of a mixed table; variable ``order[i]`` of it has the id i, by default i.

    NaN and the missing codes of the discrete columns are missing values: a test leaves out these rows. `kind` is the
    statistic of tests of discrete variables, see `discrete.KINDS`.
    """

    def __init__(
        self,
        mixed: MixedTable,
        *,
        kind: str = "pearson",
        order: Sequence[int] | np.ndarray | None = None,
        n_jobs: int | None = None,
    ) -> None:
        order = np.arange(len(mixed.columns)) if order is None else np.asarray(order)
        self.n_variables = len(order)
        self.is_continuous = mixed.is_continuous[order]
        self.place = mixed.positions[order]
        self.columns: list[np.ndarray] = []
        self.known: list[np.ndarray | None] = []
        self.cards = np.ones(self.n_variables, dtype=np.int64)
        self._ranks: list[tuple] = [()] * self.n_variables  # of responses: number of states, and minus their counts
        for i, is_continuous in enumerate(self.is_continuous.tolist()):
            if is_continuous:
                column = mixed.numbers[self.place[i]]
                known = ~np.isnan(column)
                self.columns.append(column)
                self.known.append(None if known.all() else known)
            else:
                assert mixed.table is not None
                codes, missing = mixed.table.codes[self.place[i]], mixed.table.missing_codes[self.place[i]]
                self.columns.append(codes.astype(np.int64))
                self.known.append(codes != missing if missing >= 0 else None)
                self.cards[i] = mixed.table.cardinalities[self.place[i]]
                counts = np.bincount(codes, minlength=self.cards[i])
                counts = np.sort(counts[: len(counts) - (missing >= 0)])[::-1]
                self._ranks[i] = (np.count_nonzero(counts), *(-counts[counts > 0]).tolist())
        self._discrete = None if mixed.table is None else DiscreteTests(mixed.table, kind, n_jobs=n_jobs)
        self._n_rows = mixed.n_rows
        self._fits: dict[tuple, list[_Fit]] = {}

    def test_row(self, x: int, ys: Sequence[int] | IdArray, z: Sequence[int]) -> TestRow:
        """Test x with each of `ys` given the set `z`."""
        ys = np.asarray(ys, dtype=np.intp)
        results = np.full((4, len(ys)), np.nan)
        is_plain = not self.is_continuous[[x, *z]].any()
        by_counts = np.flatnonzero(~self.is_continuous[ys]) if is_plain else np.empty(0, dtype=np.intp)
        if by_counts.size:
            assert self._discrete is not None
            row = self._discrete.test_row(
                int(self.place[x]), self.place[ys[by_counts]], sorted(self.place[list(z)].tolist())
            )
            results[:, by_counts] = row.statistic, row.dof, row.p_value, row.effect_size
        rest = np.setdiff1d(np.arange(len(ys)), by_counts)
        known = self._find_known([x, *z])
        # variables without further missing values share the regressions on the set
        alone = [i for i in rest.tolist() if self._has_gaps(int(ys[i]), known)]
        groups = [[i] for i in alone]
        for is_continuous in (True, False):
            groups.append([i for i in rest if i not in alone and self.is_continuous[ys[i]] == is_continuous])
        for group in groups:
            if group:
                results[:, group] = self._test_group(x, ys[group], list(z))
        return TestRow(results[0], results[1], results[2], results[3])

    def _find_known(self, variables: Sequence[int]) -> np.ndarray | None:
        """Return the rows in which some variables are observed; None means all."""
        masks = [mask for mask in (self.known[v] for v in variables) if mask is not None]
        return np.logical_and.reduce(masks) if masks else None

    def _has_gaps(self, y: int, known: np.ndarray | None) -> bool:
        mask = self.known[y]
        return mask is not None and not (mask.all() if known is None else mask[known].all())

    def _test_group(self, x: int, ys: np.ndarray, z: list[int]) -> np.ndarray:
        """Return the results of x with variables of one kind, which are observed in the same rows."""
        rows = self._find_known([x, *z, *ys.tolist()])
        if self.is_continuous[x] or self.is_continuous[ys[0]]:
            return self._test_regressions(x, ys, z, rows)
        return np.array([self._test_states(x, y, z, rows) for y in ys.tolist()]).T

    def _cut_strata(self, z: list[int], rows: np.ndarray | None) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Yield the rows of each stratum, and an orthonormal basis (k, rows) of constant and continuous variables."""
        numbers = np.arange(self._n_rows) if rows is None else np.flatnonzero(rows)
        key = np.zeros(len(numbers), dtype=np.int64)
        for v in z:
            if not self.is_continuous[v]:
                _, key = np.unique(key * self.cards[v] + self.columns[v][numbers], return_inverse=True)
        order = np.argsort(key, kind="stable")
        floats = [self.columns[v] for v in z if self.is_continuous[v]]
        for stratum in np.split(numbers[order], np.flatnonzero(np.diff(key[order])) + 1):
            if len(stratum) > 2:
                constant = np.full((1, len(stratum)), 1.0 / np.sqrt(len(stratum)))
                yield (
                    stratum,
                    span(np.array([values[stratum] for values in floats]).reshape(-1, len(stratum)), constant),
                )

    # ---- regressions of a continuous variable ----

    def _test_regressions(self, x: int, ys: np.ndarray, z: list[int], rows: np.ndarray | None) -> np.ndarray:
        """Return (statistic, dof, p-value, effect size) of each y; x or all ys are continuous."""
        sums = np.zeros((4, len(ys)))  # f0 q, f0, f0 - f1, f1
        for stratum, basis in self._cut_strata(z, rows):
            f0 = len(stratum) - len(basis)
            if f0 < 2:
                continue
            if self.is_continuous[x] and self.is_continuous[ys[0]]:
                left = self._find_residuals([x], stratum, basis)
                right = self._find_residuals(ys, stratum, basis)
                shares, n_more = np.square(right @ left[0]), (left.any() & right.any(axis=1)).astype(float)
            elif self.is_continuous[x]:
                residual = self._find_residuals([x], stratum, basis)[0]
                bases = [self._span_states(y, stratum, basis) for y in ys.tolist()]
                shares = np.array([np.square(more @ residual).sum() for more in bases])
                n_more = np.array([len(more) for more in bases], dtype=float) * residual.any()
            else:
                residuals, more = self._find_residuals(ys, stratum, basis), self._span_states(x, stratum, basis)
                shares, n_more = np.square(residuals @ more.T).sum(axis=1), len(more) * residuals.any(axis=1)
            used = (n_more > 0) & (n_more < f0)
            sums += np.array([f0 * shares, np.full(len(ys), f0), n_more, f0 - n_more]) * used
        explained, total, d0, d1 = sums
        with np.errstate(divide="ignore", invalid="ignore"):
            statistic = np.where(d0 > 0, explained / d0 / (np.maximum(total - explained, 0.0) / d1), 0.0)
            p_values = np.where(d0 > 0, fdtrc(np.maximum(d0, 1), np.maximum(d1, 1), statistic), 1.0)
            effects = np.where(d0 > 0, np.sqrt(explained / total), 0.0)
        return np.array([statistic, d0, np.where(np.isinf(statistic), 0.0, p_values), effects])

    def _find_residuals(
        self, variables: Sequence[int] | np.ndarray, stratum: np.ndarray, basis: np.ndarray
    ) -> np.ndarray:
        """Return residuals (variables, rows) of unit length; 0 for a variable that the basis determines."""
        values = np.array([self.columns[v][stratum] for v in variables])
        lengths = np.sqrt(np.square(values).sum(axis=1))
        for _ in range(2):  # twice: the first leaves rounding errors of the size of the values
            values = values - (values @ basis.T) @ basis
        rest = np.sqrt(np.square(values).sum(axis=1))
        is_free = rest > _LEAST_LENGTH * lengths
        return np.where(is_free[:, None], values / np.where(is_free, rest, 1.0)[:, None], 0.0)

    def _span_states(self, v: int, stratum: np.ndarray, basis: np.ndarray) -> np.ndarray:
        """Return an orthonormal basis of what the states of a discrete variable add to another basis."""
        return span(self._list_indicators(v, stratum), basis)[len(basis) :]

    def _list_indicators(self, v: int, stratum: np.ndarray) -> np.ndarray:
        """Return 0/1 rows for the states that occur, without the first."""
        codes = self.columns[v][stratum]
        return (np.unique(codes)[1:, None] == codes).astype(float)

    # ---- multinomial logistic regressions ----

    def _test_states(self, x: int, y: int, z: list[int], rows: np.ndarray | None) -> tuple[float, ...]:
        """Return (statistic, dof, p-value, effect size) of two discrete variables."""
        if self._ranks[x] > self._ranks[y]:
            x, y = y, x
        answer = self._test_scores(x, y, z, rows)
        if self._ranks[x] == self._ranks[y]:
            answer = max(answer, self._test_scores(y, x, z, rows), key=lambda one: (one[2], -one[0]))
        return answer

    def _test_scores(self, response: int, other: int, z: list[int], rows: np.ndarray | None) -> tuple[float, ...]:
        """Return (statistic, dof, p-value, effect size) of a regression of `response`."""
        statistic, dof, n_rows = 0.0, 0, 0
        for fit in self._fit_strata(response, z, rows):
            values, rank = fit.score(self._list_indicators(other, fit.stratum))
            statistic, dof, n_rows = statistic + values, dof + rank, n_rows + len(fit.stratum)
        if dof == 0:
            return 0.0, 0.0, 1.0, 0.0
        least = max(min(self.cards[response], self.cards[other]) - 1, 1)
        return statistic, float(dof), float(chdtrc(dof, statistic)), float(np.sqrt(statistic / (n_rows * least)))

    def _fit_strata(self, response: int, z: list[int], rows: np.ndarray | None) -> "list[_Fit]":
        """Return the regressions of a discrete variable on the set, per stratum; those of all rows are kept."""
        key = (response, *z)
        if rows is None and key in self._fits:
            return self._fits[key]
        fits = []
        for stratum, basis in self._cut_strata(z, rows):
            indicators = self._list_indicators(response, stratum)
            if len(indicators) and len(stratum) > len(basis) * len(indicators) + len(indicators):
                fits.append(_Fit(stratum, basis * np.sqrt(len(stratum)), indicators))
        if rows is None:
            if len(self._fits) >= _KEPT:
                self._fits.clear()
            self._fits[key] = fits
        return fits


def span(values: np.ndarray, basis: np.ndarray) -> np.ndarray:
    """Return an orthonormal basis (k, n) of the rows of `basis`, which are orthonormal, and of `values`."""
    for row in values:
        length = np.sqrt(row @ row)
        for _ in range(2):
            row = row - (basis @ row) @ basis
        rest = np.sqrt(row @ row)
        if rest > _LEAST_LENGTH * length:
            basis = np.concatenate((basis, row[None] / rest))
    return basis


class _Fit:
    """A multinomial logistic regression in a stratum: `indicators` (states - 1, n) on `basis` (k, n)."""

    def __init__(self, stratum: np.ndarray, basis: np.ndarray, indicators: np.ndarray) -> None:
        self.stratum, self.basis = stratum, basis
        r, k = len(indicators), len(basis)
        coefficients, before = np.zeros((r, k)), -np.inf
        self.shares = self._predict(coefficients)[0]
        for _ in range(_STEPS):
            self.shares, log_rest = self._predict(coefficients)
            likelihood = float((indicators * (coefficients @ basis)).sum() + log_rest.sum())
            if likelihood - before < _CHANGE:
                break
            before = likelihood
            gradient = ((indicators - self.shares) @ basis.T).ravel()
            information = self._cross(basis, basis).reshape(r * k, r * k)
            information[np.diag_indices(r * k)] += 1e-8 * len(stratum)  # if states can be told apart, it is singular
            coefficients = coefficients + np.linalg.solve(information, gradient).reshape(r, k)
        self.residuals = indicators - self.shares

    def _predict(self, coefficients: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the probabilities of all states but the first (r, n), and the logarithm of that of the first."""
        powers = coefficients @ self.basis
        largest = np.maximum(powers.max(axis=0), 0.0)
        powers = np.exp(powers - largest)
        total = np.exp(-largest) + powers.sum(axis=0)
        return powers / total, -largest - np.log(total)

    def _cross(self, left: np.ndarray, right: np.ndarray) -> np.ndarray:
        """Return the information of coefficients of two sets of regressors, of shape (r, left, r, right)."""
        p = self.shares
        r = len(p)
        blocks = np.empty((r, len(left), r, len(right)))
        for i in range(r):
            for j in range(r):
                blocks[i, :, j] = (left * (p[i] * ((i == j) - p[j]))) @ right.T
        return blocks

    def score(self, values: np.ndarray) -> tuple[float, int]:
        """Return Rao's statistic of further regressors (m, n), and its degrees of freedom."""
        r, m, k = len(self.shares), len(values), len(self.basis)
        if m == 0:
            return 0.0, 0
        score = (self.residuals @ values.T).ravel()
        whole = self._cross(values, values).reshape(r * m, r * m)
        mixed = self._cross(values, self.basis).reshape(r * m, r * k)
        alone = self._cross(self.basis, self.basis).reshape(r * k, r * k)
        information = whole - mixed @ np.linalg.pinv(alone, rcond=1e-10, hermitian=True) @ mixed.T
        sizes, vectors = np.linalg.eigh(information)
        is_free = sizes > 1e-8 * max(float(np.trace(whole)), 1e-300)
        parts = np.square(vectors.T[is_free] @ score) / sizes[is_free]
        return float(parts.sum()), int(is_free.sum())
