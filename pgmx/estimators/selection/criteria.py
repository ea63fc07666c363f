"""By what a penalty is chosen from a path: EBIC, held-out likelihood, stability of edges."""

from collections.abc import Callable
from itertools import takewhile
from math import inf, isnan, nan
from typing import Protocol

import numpy as np

from pgmx.estimators.gaussian.estimate import (
    GaussianEstimate,
    gaussian_loss,
    likelihood_precision,
    negative_log_likelihood,
)
from pgmx.estimators.gaussian.learner import GaussianLearner
from pgmx.estimators.paths import best_position, choose_stable, instability, subsample_size
from pgmx.estimators.selection.part_paths import paths_of_parts
from pgmx.runs.run import Run
from pgmx.solvers.gaussian.likelihood import maximum_likelihood_precision
from pgmx.statistics import GaussianSample

#: Penalties that all parts are solved for before the criterion is looked at.
_AT_A_TIME = 4


class Criterion(Protocol):
    """Compares the estimates of a path, which may grow between two calls."""

    def choose(self, estimates: list[GaussianEstimate]) -> tuple[np.ndarray, int]:
        """Return the criterion of each estimate, and the position of the one to choose."""


class _Options(Protocol):
    """What the criteria read off the learner that selects."""

    gamma: float
    n_folds: int
    n_subsamples: int
    stability: float
    n_jobs: int | None


class ExtendedBIC:
    """EBIC: 2 n L + |E| ln n + 4 γ |E| ln p, L by maximum likelihood under the graph.

    A graph under which the likelihood has no maximum cannot be compared, nor can the denser ones after it. Of repaired
    correlations the smallest eigenvalues are made, so that all graphs are compared on (1 - t) R + t I with t = 1 / √n.
    """

    def __init__(self, options: _Options, leaf: GaussianLearner, sample: GaussianSample, run: Run, seed: int):
        if sample.n_rows is None:
            raise ValueError("selection='ebic' of a covariance needs the number of rows behind it: give n_samples")
        self._n, self._gamma, self._run = float(sample.n_rows), options.gamma, run
        self._unbounded = False
        self._correlation = sample.correlation
        if sample.repaired > 0:
            share = 1 / np.sqrt(self._n)
            self._correlation = (1 - share) * sample.correlation + share * np.eye(sample.n_columns)
        self._least_loss = _least_loss(self._correlation)
        self._known: list[float] = []

    def choose(self, estimates: list[GaussianEstimate]) -> tuple[np.ndarray, int]:
        """Return the EBIC of each estimate, NaN where it cannot be the smallest, and the position of the smallest."""
        for found in estimates[len(self._known) :]:
            self._known.append(self._of(found))
        criterion = np.array(self._known)
        return criterion, best_position(criterion)

    def _of(self, found: GaussianEstimate) -> float:
        if self._unbounded or cut_short(found, self._run):
            return nan
        price = len(found.edges) * (np.log(self._n) + 4 * self._gamma * np.log(len(self._correlation)))
        if 2 * self._n * self._least_loss + price > min((one for one in self._known if not isnan(one)), default=inf):
            return nan  # no graph fits better than the complete one
        fitted = maximum_likelihood_precision(self._correlation, found.edges, n_rows=self._n)
        if fitted.regularised > 0:
            self._unbounded = True
            return nan
        return 2 * self._n * gaussian_loss(fitted.precision, self._correlation) + price


def _least_loss(correlation: np.ndarray) -> float:
    """Return the `gaussian_loss` of the inverse, -∞ where there is none."""
    sign, log_determinant = np.linalg.slogdet(correlation)
    return 0.5 * (log_determinant + len(correlation)) if sign > 0 else -inf


def cut_short(found: GaussianEstimate, run: Run) -> bool:
    """Tell whether an estimate was not solved because the clock or the callback ended the run."""
    return run.is_over() and not found.converged


class _OverParts:
    """Base of the criteria that learn from parts of the rows, a few penalties at a time.

    Beyond the penalty to choose graphs become dense and dear, and need not be learned. A subclass makes `_parts` and
    implements `_values`, `_settled` and `_position`.
    """

    _parts: list[GaussianSample]

    def __init__(self, options: _Options, leaf: GaussianLearner, sample: GaussianSample, run: Run, seed: int):
        if sample.table is None or sample.n_table_rows is None:
            raise ValueError("selection='cv' and 'stars' divide the rows, and a covariance has none: use 'ebic'")
        self._options, self._leaf, self._run = options, leaf, run
        self._rng = np.random.default_rng(seed)
        self._n_lams = 0
        self._paths: dict[int, list[GaussianEstimate]] = {}

    def choose(self, estimates: list[GaussianEstimate]) -> tuple[np.ndarray, int]:
        """Return the criterion of each estimate, NaN beyond the last that was needed, and the position to choose."""
        while self._n_lams < len(estimates):
            self._learn(np.array([found.lam for found in estimates[self._n_lams : self._n_lams + _AT_A_TIME]]))
            values = self._values([path[: self._n_known] for path in self._paths.values()])
            if self._n_known < self._n_lams or self._settled(values):
                break
        criterion = np.full(len(estimates), np.nan)
        criterion[: self._n_known] = values
        return criterion, self._position(criterion)

    def _learn(self, lams: np.ndarray) -> None:
        """Learn further penalties on all parts; those that the clock leaves out at first stay out."""
        found = paths_of_parts(self._leaf, self._parts, lams, self._run, self._options.n_jobs)
        if not self._paths:
            self._paths = {number: [] for number in sorted(found)}
        for number, path in self._paths.items():
            path.extend(takewhile(lambda one: not cut_short(one, self._run), found.get(number, [])))
        self._n_lams += len(lams)

    @property
    def _n_known(self) -> int:
        """Penalties that were learned on all parts."""
        return min(map(len, self._paths.values()))

    def _values(self, paths: list[list[GaussianEstimate]]) -> np.ndarray:
        """Return the criterion of each penalty, given the paths of the parts that were done."""
        raise TypeError(f"{type(self).__name__} does not implement _values")

    def _settled(self, values: np.ndarray) -> bool:
        """Tell whether no further penalty can be chosen, or none that is worth the wait."""
        raise TypeError(f"{type(self).__name__} does not implement _settled")

    def _position(self, criterion: np.ndarray) -> int:
        """Return the position to choose."""
        raise TypeError(f"{type(self).__name__} does not implement _position")


class CrossValidation(_OverParts):
    """Negative log-likelihood a row of held-out folds, less p ln(2π) / 2; ended once it has risen for a while."""

    def __init__(self, options: _Options, leaf: GaussianLearner, sample: GaussianSample, run: Run, seed: int):
        super().__init__(options, leaf, sample, run, seed)
        n, k = sample.n_table_rows, options.n_folds
        if n < 2 * k:
            raise ValueError(f"n_folds={k} of {n} rows leaves folds of one row: give fewer folds, or more rows")
        folds = np.array_split(self._rng.permutation(n), k)
        rests = [np.sort(np.concatenate([fold for other, fold in enumerate(folds) if other != k])) for k in range(k)]
        found = sample.parts([*rests, *map(np.sort, folds)])
        self._parts, self._held_out = found[:k], found[k:]
        self._losses: dict[int, list[float]] = {number: [] for number in range(k)}

    def _values(self, paths: list[list[GaussianEstimate]]) -> np.ndarray:
        for number, path in zip(self._paths, paths, strict=True):
            train, test, known = self._parts[number], self._held_out[number], self._losses[number]
            for found in path[len(known) :]:
                precision, _ = likelihood_precision(train, found, self._leaf.selects_by_refit)
                known.append(negative_log_likelihood(precision, train, test))
        losses = [self._losses[number][: self._n_known] for number in self._paths]
        return np.average(losses, axis=0, weights=[self._held_out[number].n_rows for number in self._paths])

    def _settled(self, values: np.ndarray) -> bool:
        return len(values) - 1 - best_position(values) >= _AT_A_TIME and values[-1] > values[-2]

    def _position(self, criterion: np.ndarray) -> int:
        return best_position(criterion)


class Stability(_OverParts):
    """Instability of the edges over subsamples, StARS; ended at the first unstable penalty."""

    def __init__(self, options: _Options, leaf: GaussianLearner, sample: GaussianSample, run: Run, seed: int):
        super().__init__(options, leaf, sample, run, seed)
        n = sample.n_table_rows
        size = subsample_size(n)
        if size < 2:
            raise ValueError(f"selection='stars' needs 3 rows at least, got {n}: give more rows")
        subsets = [np.sort(self._rng.choice(n, size, replace=False)) for _ in range(options.n_subsamples)]
        self._parts, self._n_columns = sample.parts(subsets), sample.n_columns

    def _values(self, paths: list[list[GaussianEstimate]]) -> np.ndarray:
        if len(paths) < 2:  # the clock left one subsample, which differs from none
            return np.full(self._n_known, nan)
        return instability([[found.edges for found in path] for path in paths], self._n_columns)

    def _settled(self, values: np.ndarray) -> bool:
        return bool(values[-1] > self._options.stability)

    def _position(self, criterion: np.ndarray) -> int:
        return choose_stable(criterion, self._options.stability)


CRITERIA: dict[str, Callable[..., Criterion]] = {"ebic": ExtendedBIC, "cv": CrossValidation, "stars": Stability}
