"""By what a penalty is chosen from a path: EBIC, held-out likelihood, stability of edges."""

from collections.abc import Callable
from typing import Protocol

import numpy as np

from pgmx.estimators._gaussian_estimate import (
    GaussianEstimate,
    gaussian_loss,
    likelihood_precision,
    negative_log_likelihood,
)
from pgmx.estimators._gaussian_learner import GaussianLearner
from pgmx.estimators._gaussian_run import GaussianRun
from pgmx.estimators._part_paths import paths_of_parts
from pgmx.estimators._selection import best_position, choose_stable, instability, subsample_size
from pgmx.solvers.gaussian_likelihood import maximum_likelihood_precision
from pgmx.statistics import GaussianSample

#: Penalties that all subsamples are solved for before their stability is looked at.
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

    Of singular correlations (more variables than rows, or repaired ones) the likelihood of dense graphs has no bound:
    all graphs are then compared on (1 - t) R + t I with t = 1 / √n.
    """

    def __init__(self, options: _Options, leaf: GaussianLearner, sample: GaussianSample, run: GaussianRun, seed: int):
        if sample.n_rows is None:
            raise ValueError("selection='ebic' of a covariance needs the number of rows behind it: give n_samples")
        self._n, self._gamma = float(sample.n_rows), options.gamma
        self._correlation = sample.correlation
        if sample.singular:
            share = 1 / np.sqrt(self._n)
            self._correlation = (1 - share) * sample.correlation + share * np.eye(sample.n_columns)
        self._known: list[float] = []

    def choose(self, estimates: list[GaussianEstimate]) -> tuple[np.ndarray, int]:
        """Return the EBIC of each estimate, and the position of the smallest."""
        n, price = self._n, np.log(self._n) + 4 * self._gamma * np.log(len(self._correlation))
        for found in estimates[len(self._known) :]:
            fitted = maximum_likelihood_precision(self._correlation, found.edges, n_rows=n)
            loss = gaussian_loss(fitted.precision, self._correlation)
            self._known.append(2 * n * loss + len(found.edges) * price)
        criterion = np.array(self._known)
        return criterion, best_position(criterion)


class _OverParts:
    """Base of the criteria that learn from parts of the rows; a subclass makes `_parts`."""

    _parts: list[GaussianSample]

    def __init__(self, options: _Options, leaf: GaussianLearner, sample: GaussianSample, run: GaussianRun, seed: int):
        if sample.table is None or sample.n_table_rows is None:
            raise ValueError("selection='cv' and 'stars' divide the rows, and a covariance has none: use 'ebic'")
        self._options, self._leaf, self._run = options, leaf, run
        self._rng = np.random.default_rng(seed)
        self._lams = np.empty(0)
        self._paths: list[list[GaussianEstimate]] = []

    def _paths_of(self, estimates: list[GaussianEstimate]) -> list[list[GaussianEstimate]]:
        """Return the paths of the parts that were done, all of one length."""
        lams = np.array([found.lam for found in estimates])
        more = lams[len(self._lams) :]
        found = paths_of_parts(self._leaf, self._parts, more, self._run, self._options.n_jobs)
        numbers = sorted(found)
        if not len(self._lams):
            self._numbers, self._paths = numbers, [found[k] for k in numbers]
        else:
            for k, path in zip(self._numbers, self._paths, strict=True):
                path.extend(found.get(k, []))
        self._lams = lams
        shortest = min(map(len, self._paths))
        return [path[:shortest] for path in self._paths]


class CrossValidation(_OverParts):
    """Negative log-likelihood a row of held-out folds, less p ln(2π) / 2."""

    def __init__(self, options: _Options, leaf: GaussianLearner, sample: GaussianSample, run: GaussianRun, seed: int):
        super().__init__(options, leaf, sample, run, seed)
        n, k = sample.n_table_rows, options.n_folds
        if n < 2 * k:
            raise ValueError(f"n_folds={k} of {n} rows leaves folds of one row: give fewer folds, or more rows")
        folds = np.array_split(self._rng.permutation(n), k)
        rests = [np.sort(np.concatenate([fold for other, fold in enumerate(folds) if other != k])) for k in range(k)]
        found = sample.parts([*rests, *map(np.sort, folds)])
        self._parts, self._held_out = found[:k], found[k:]

    def choose(self, estimates: list[GaussianEstimate]) -> tuple[np.ndarray, int]:
        """Return the criterion of each estimate, and the position of the smallest."""
        paths = self._paths_of(estimates)
        losses, rows = [], []
        for k, path in zip(self._numbers, paths, strict=True):
            train, test = self._parts[k], self._held_out[k]
            precisions = (likelihood_precision(train, found, self._leaf.selects_by_refit)[0] for found in path)
            losses.append([negative_log_likelihood(precision, train, test) for precision in precisions])
            rows.append(test.n_rows)
        criterion = np.full(len(estimates), np.nan)
        criterion[: len(losses[0])] = np.average(losses, axis=0, weights=rows)
        return criterion, best_position(criterion)


class Stability(_OverParts):
    """Instability of the edges over subsamples, StARS."""

    def __init__(self, options: _Options, leaf: GaussianLearner, sample: GaussianSample, run: GaussianRun, seed: int):
        super().__init__(options, leaf, sample, run, seed)
        n = sample.n_table_rows
        size = subsample_size(n)
        if size < 2:
            raise ValueError(f"selection='stars' needs 3 rows at least, got {n}: give more rows")
        subsets = [np.sort(self._rng.choice(n, size, replace=False)) for _ in range(options.n_subsamples)]
        self._parts, self._n_columns = sample.parts(subsets), sample.n_columns

    def choose(self, estimates: list[GaussianEstimate]) -> tuple[np.ndarray, int]:
        """Return the instability at each penalty, NaN beyond the stable ones, and the position to choose."""
        criterion = np.full(len(estimates), np.nan)
        while len(self._lams) < len(estimates):
            # a few penalties at a time: beyond the first unstable one graphs are dense, and need not be learned
            paths = self._paths_of(estimates[: len(self._lams) + _AT_A_TIME])
            found = instability([[one.edges for one in path] for path in paths], self._n_columns)
            criterion[: len(found)] = found
            if found[-1] > self._options.stability or len(found) < len(self._lams):
                break
        return criterion, choose_stable(criterion, self._options.stability)


CRITERIA: dict[str, Callable[..., Criterion]] = {"ebic": ExtendedBIC, "cv": CrossValidation, "stars": Stability}
