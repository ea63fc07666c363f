"""Criteria that choose a penalty from a path: EBIC, held-out likelihood, stability of edges; paths are solved once."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from itertools import takewhile
from math import inf, isnan, nan
from typing import Any, Protocol

import numpy as np
from sklearn.base import clone

from pgmx.estimators.gaussian.estimate import (
    GaussianEstimate,
    choose_precision,
    compute_held_out_loss,
    compute_loss,
)
from pgmx.estimators.gaussian.learner import GaussianLearner
from pgmx.estimators.gaussian.snapshots import ESTIMATE_FIGURES, pack_estimates, read_estimates
from pgmx.estimators.paths import choose_stable, count_subsample_rows, find_smallest, is_past_best, measure_instability
from pgmx.parallel.tasks import SharedArrays, run_tasks
from pgmx.runs.checkpoint import Snapshot
from pgmx.runs.progress import SolverProgress
from pgmx.runs.run import OutOfTimeError, Run, SectionStore, Store
from pgmx.solvers.gaussian.likelihood import fit_maximum_likelihood, shrink
from pgmx.statistics import GaussianSample
from pgmx.statistics.gaussian.correlations import DenseCorrelations, FactoredCorrelations

#: Number of penalties that are solved on all folds or subsamples before the criterion is computed.
_BATCH = 4


# ---- solved paths, in memory and as arrays of a checkpoint ----


class PathCache:
    """Paths by key, each solved once, and the path in progress, with the checkpoint of the run."""

    def __init__(self, run: Run, n: int):
        self._run = run
        self._paths: dict[str, list[GaussianEstimate]] = {}
        self._current: dict[str, Any] = {}  # as arrays, with the key of the path
        self._part = Snapshot({})
        snapshot = run.restore()
        if snapshot is not None:
            self._part = snapshot.take_part("begun_")
            self._current = {name: self._part.value(name) for name in self._part.names}
            self._paths = read_paths(snapshot, n)
            snapshot.check(self._paths or self._current, "no paths")
        self._n_rows = run.n_rows

    @property
    def n_estimates(self) -> int:
        """Number of the estimates of all solved paths."""
        return sum(map(len, self._paths.values()))

    def find(self, key: str, lams: np.ndarray) -> list[GaussianEstimate] | None:
        """Return the estimates of a solved path, or None if it is not solved."""
        path = self._paths.get(key)
        if path is not None and not np.array_equal([estimate.lam for estimate in path], lams):
            raise ValueError(f"the checkpoint holds other penalties for {key!r}: delete the file to start again")
        return path

    def add(self, key: str, lams: np.ndarray, path: list[GaussianEstimate]) -> bool:
        """Store a path, unless it is incomplete; return whether it was stored."""
        # the last estimates of a run that is over may not have reached their tolerance
        is_whole = len(path) == len(lams) and not self._run.is_over()
        if is_whole:
            self._paths[key] = path
            if self._run.is_snapshot_due():
                self.save()
        return is_whole

    def solve(
        self, key: str, lams: np.ndarray, solve: Callable[[np.ndarray, Store], list[GaussianEstimate]]
    ) -> list[GaussianEstimate]:
        """Return the estimates of a path; `solve` resumes it if it was started."""
        path = self.find(key, lams)
        if path is None:
            path = solve(
                lams, SectionStore(self._run, self._take_current(key, lams), partial(self._save_current, key, lams))
            )
            if len(path) == len(lams) and not self._run.is_over():
                self._current, self._n_rows = {}, self._run.n_rows
            self.add(key, lams, path)
        return list(path)

    def save(self) -> None:
        """Write a snapshot, if there is anything to write."""
        if (self._paths or self._current) and self._run.checkpoint is not None:
            begun = {f"begun_{name}": value for name, value in self._current.items()}
            self._run.save({**pack_paths(self._paths), **begun}, n_rows=self._n_rows)

    def _take_current(self, key: str, lams: np.ndarray) -> Snapshot | None:
        """Return the last state of a path, or None if it was not started."""
        part = self._part
        if "key" not in part or str(part.value("key")) != key:
            return None
        self._part = Snapshot({})
        part.check(np.array_equal(part.array("lams", float, (None,)), lams), f"other penalties for {key!r}")
        state = part.take_part("state_")
        part.check_names(("key", "lams"))
        return state

    def _save_current(self, key: str, lams: np.ndarray, state: dict[str, Any], n_rows: int | None) -> None:
        self._current = {"key": key, "lams": lams, **{f"state_{name}": value for name, value in state.items()}}
        self._n_rows = self._run.n_rows if n_rows is None else n_rows
        self.save()


def pack_paths(paths: dict[str, list[GaussianEstimate]]) -> dict[str, Any]:
    """Return paths by key as arrays."""
    lengths = np.array([len(path) for path in paths.values()], dtype=np.int64)
    estimates = [estimate for path in paths.values() for estimate in path]
    return {"keys": np.array(list(paths), dtype=str), "lengths": lengths, **pack_estimates(estimates)}


def read_paths(snapshot: Snapshot, n: int) -> dict[str, list[GaussianEstimate]]:
    """Return the paths over `n` variables that `pack_paths` wrote to a snapshot."""
    keys = [str(key) for key in snapshot.value("keys")] if "keys" in snapshot else []
    lengths = snapshot.array("lengths", np.int64, (len(keys),), least=1)
    snapshot.check(len(set(keys)) == len(keys) and lengths.sum() < 10**6, "one path twice, or too many estimates")
    estimates = read_estimates(snapshot, n, int(lengths.sum()))
    snapshot.check_names(("keys", "lengths", *ESTIMATE_FIGURES))
    cuts = np.cumsum([0, *lengths]).tolist()
    return {key: estimates[first:end] for key, first, end in zip(keys, cuts[:-1], cuts[1:], strict=True)}


# ---- criteria ----


class Criterion(Protocol):
    """Criterion that compares the estimates of a path, which may grow between two calls."""

    solved: PathCache

    def find_end(self, estimates: list[GaussianEstimate]) -> int | None:
        """Return how many of the estimates are enough, None while smaller penalties may be chosen."""
        ...

    def choose(self, estimates: list[GaussianEstimate]) -> tuple[np.ndarray, int]:
        """Return the criterion of each estimate, NaN if it was not computed, and the position to choose."""
        ...


class _Options(Protocol):
    """Options of the learner `SelectedGraph` that the criteria use."""

    early_stopping: bool
    gamma: float
    n_folds: int
    n_subsamples: int
    stability: float
    n_jobs: int | None


class ExtendedBIC:
    """EBIC: 2 n L + |E| ln n + 4 γ |E| ln p, with the negative log-likelihood L at its minimum given the graph.

    If the likelihood given a graph has no maximum, this graph and the denser graphs after it are not compared. The
    smallest eigenvalues of repaired correlations are arbitrary. All graphs are then compared on (1 - t) R + t I, t = 1
    / √n. The path may end at the first penalty for which `is_past_best` is true.
    """

    solved: PathCache  # not needed: there is only one path

    def __init__(self, options: _Options, solver: GaussianLearner, sample: GaussianSample, run: Run, seed: int):
        if sample.n_rows is None:
            raise ValueError(
                "selection='ebic' needs the number of rows from which the covariance was estimated: give n_samples"
            )
        self._n, self._gamma, self._run = float(sample.n_rows), options.gamma, run
        self._unbounded = False
        self._correlations, self._n_columns = sample.correlations, sample.n_columns
        # the repair has chosen the smallest eigenvalues, and they would decide the likelihood
        if sample.repaired > 0:
            self._correlations = DenseCorrelations(shrink(sample.correlation, 1 / np.sqrt(self._n)))
        # with fewer rows than columns the loss has no lower bound
        is_thin = isinstance(self._correlations, FactoredCorrelations)
        self._least_loss = (
            -inf if is_thin else _compute_least_loss(self._correlations.select(np.arange(self._n_columns)))
        )
        self._values: list[float] = []

    def find_end(self, estimates: list[GaussianEstimate]) -> int | None:
        """Return how many of the estimates are enough, None while smaller penalties may be chosen."""
        criterion, _ = self.choose(estimates)
        n_edges = [len(estimate.edges) for estimate in estimates]
        ends = (k for k in range(1, len(estimates) + 1) if is_past_best(criterion[:k], n_edges[:k]))
        return next(ends, None)

    def choose(self, estimates: list[GaussianEstimate]) -> tuple[np.ndarray, int]:
        """Return the EBIC of each estimate, NaN if it cannot be the smallest, and the position of the smallest."""
        for estimate in estimates[len(self._values) :]:
            self._values.append(self._compute(estimate))
        criterion = np.array(self._values[: len(estimates)])
        return criterion, find_smallest(criterion)

    def _compute(self, estimate: GaussianEstimate) -> float:
        if self._unbounded or _is_incomplete(estimate, self._run):
            return nan
        price = len(estimate.edges) * (np.log(self._n) + 4 * self._gamma * np.log(self._n_columns))
        smallest = min((value for value in self._values if not isnan(value)), default=inf)
        if 2 * self._n * self._least_loss + price > smallest:
            return nan  # no graph fits better than the complete one
        try:
            likelihood = fit_maximum_likelihood(
                self._correlations, estimate.edges, n_rows=self._n, is_over=self._run.is_over
            )
        except OutOfTimeError:
            return nan
        if likelihood.regularised > 0:
            # the likelihood given a denser graph has no maximum either
            self._unbounded = True
            return nan
        return 2 * self._n * compute_loss(likelihood.precision, self._correlations.read_pairs) + price


def _compute_least_loss(correlation: np.ndarray) -> float:
    """Return the loss of the inverse, -∞ if there is no inverse."""
    sign, log_determinant = np.linalg.slogdet(correlation)
    return 0.5 * (log_determinant + len(correlation)) if sign > 0 else -inf


def _is_incomplete(estimate: GaussianEstimate, run: Run) -> bool:
    """Return whether an estimate was not solved because the time limit or the callback ended the run."""
    return run.is_over() and not estimate.converged


class _ResamplingCriterion(ABC):
    """Base of the criteria that learn from folds or subsamples, a few penalties at a time, until the choice is decided.

    A subclass makes `_parts` and implements `_compute`, `_is_decided` and `_choose`.
    """

    _parts: list[GaussianSample]

    #: Paths that are already solved; set by the learner.
    solved: PathCache

    def __init__(self, options: _Options, solver: GaussianLearner, sample: GaussianSample, run: Run, seed: int):
        if sample.table is None or sample.n_table_rows is None:
            raise ValueError(
                "selection='cv' and 'stars' need rows in memory or in a file, got a covariance or a distributed "
                "table: use 'ebic'"
            )
        self._options, self._solver, self._run = options, solver, run
        self._n_rows = sample.n_table_rows
        self._rng = np.random.default_rng(seed)
        self._n_lams = 0
        self._values = np.zeros(0)
        self._paths: dict[int, list[GaussianEstimate]] = {}

    def find_end(self, estimates: list[GaussianEstimate]) -> int | None:
        """Return how many of the estimates are enough, None while smaller penalties may be chosen."""
        while len(estimates) - self._n_lams >= _BATCH and self._find_decision() is None and not self._run.is_over():
            self._learn(estimates[self._n_lams : self._n_lams + _BATCH])
        return self._find_decision()

    def choose(self, estimates: list[GaussianEstimate]) -> tuple[np.ndarray, int]:
        """Return the criterion of each estimate, NaN after the last one needed, and the position to choose."""
        while self._n_lams < len(estimates):
            self._learn(estimates[self._n_lams : self._n_lams + _BATCH])
            if self._n_known < self._n_lams or (self._options.early_stopping and self._find_decision() is not None):
                break
        criterion = np.full(len(estimates), np.nan)
        values = self._values[: len(estimates)]
        criterion[: len(values)] = values
        return criterion, self._choose(criterion)

    def _find_decision(self) -> int | None:
        """Return the number of penalties after which no further penalty is compared; None if undecided."""
        return next((k for k in range(1, len(self._values) + 1) if self._is_decided(self._values[:k])), None)

    def _learn(self, estimates: list[GaussianEstimate]) -> None:
        """Learn the penalties of further estimates on all folds or subsamples, and compute their criterion.

        Folds or subsamples for which the first call had no time are left out.
        """
        lams = np.array([estimate.lam for estimate in estimates])
        # with the number of penalties before: each batch is a path of its own in the checkpoint
        keys = [f"part {number} of {self._n_lams}" for number in range(len(self._parts))]
        more = {number: path for number, key in enumerate(keys) if (path := self.solved.find(key, lams)) is not None}
        due = [number for number in range(len(self._parts)) if number not in more]
        for k, path in _learn_subset_paths(
            self._solver, [self._parts[number] for number in due], lams, self._run, self._options.n_jobs
        ):
            more[due[k]] = path
            if self.solved.add(keys[due[k]], lams, path):
                self._run.advance(len(path))
        # the first batch decides which folds or subsamples are compared, also in later batches
        if not self._paths:
            self._paths = {number: [] for number in sorted(more)}
        for number, path in self._paths.items():
            path.extend(takewhile(lambda estimate: not _is_incomplete(estimate, self._run), more.get(number, [])))
        self._n_lams += len(lams)
        self._values = self._compute([path[: self._n_known] for path in self._paths.values()])

    @property
    def _n_known(self) -> int:
        """Number of penalties that were learned on all folds or subsamples."""
        return min(map(len, self._paths.values()))

    @abstractmethod
    def _compute(self, paths: list[list[GaussianEstimate]]) -> np.ndarray:
        """Return the criterion of each penalty from the paths of the folds or subsamples; fewer if time is over."""

    @abstractmethod
    def _is_decided(self, values: np.ndarray) -> bool:
        """Return whether further penalties cannot be chosen or are not worth their time."""

    @abstractmethod
    def _choose(self, criterion: np.ndarray) -> int:
        """Return the position of the penalty to choose."""


class CrossValidation(_ResamplingCriterion):
    """Negative log-likelihood per row of held-out folds minus p ln(2π) / 2; the path ends after a sustained rise."""

    def __init__(self, options: _Options, solver: GaussianLearner, sample: GaussianSample, run: Run, seed: int):
        super().__init__(options, solver, sample, run, seed)
        n, k = self._n_rows, options.n_folds
        if n < 2 * k:
            raise ValueError(
                f"n_folds={k} is too large for {n} rows, since folds need at least two rows: give fewer folds, or "
                "more rows"
            )
        folds = np.array_split(self._rng.permutation(n), k)
        rests = [np.sort(np.concatenate([fold for other, fold in enumerate(folds) if other != k])) for k in range(k)]
        parts = sample.parts([*rests, *map(np.sort, folds)])
        self._parts, self._held_out = parts[:k], parts[k:]
        self._losses: dict[int, list[float]] = {number: [] for number in range(k)}

    def _compute(self, paths: list[list[GaussianEstimate]]) -> np.ndarray:
        for number, path in zip(self._paths, paths, strict=True):
            train, test, losses_of_part = self._parts[number], self._held_out[number], self._losses[number]
            for estimate in path[len(losses_of_part) :]:
                try:
                    refit = self._solver._should_select_by_refit()
                    precision, _ = choose_precision(train, estimate, refit, self._run.is_over)
                except OutOfTimeError:
                    break
                losses_of_part.append(compute_held_out_loss(precision, train, test))
        n_known = min(len(self._losses[number]) for number in self._paths)
        losses = np.array([self._losses[number][:n_known] for number in self._paths])
        n_rows = np.array([self._held_out[number].n_rows for number in self._paths])
        # folds may differ by one row
        return np.average(losses, axis=0, weights=n_rows)

    def _is_decided(self, values: np.ndarray) -> bool:
        return len(values) - 1 - find_smallest(values) >= _BATCH and values[-1] > values[-2]

    def _choose(self, criterion: np.ndarray) -> int:
        return find_smallest(criterion)


class Stability(_ResamplingCriterion):
    """Instability of the edges over subsamples (StARS); the path ends at the first unstable penalty."""

    def __init__(self, options: _Options, solver: GaussianLearner, sample: GaussianSample, run: Run, seed: int):
        super().__init__(options, solver, sample, run, seed)
        n = self._n_rows
        size = count_subsample_rows(n)
        if size < 2:
            raise ValueError(f"selection='stars' needs at least 3 rows, got {n}: give more rows")
        subsets = [np.sort(self._rng.choice(n, size, replace=False)) for _ in range(options.n_subsamples)]
        self._parts, self._n_columns = sample.parts(subsets), sample.n_columns

    def _compute(self, paths: list[list[GaussianEstimate]]) -> np.ndarray:
        if len(paths) < 2:  # instability needs two subsamples, and there was only time for one
            return np.full(self._n_known, nan)
        return measure_instability([[estimate.edges for estimate in path] for path in paths], self._n_columns)

    def _is_decided(self, values: np.ndarray) -> bool:
        return bool(values[-1] > self._options.stability)

    def _choose(self, criterion: np.ndarray) -> int:
        return choose_stable(criterion, self._options.stability)


def _learn_subset_paths(
    solver: GaussianLearner, parts: list[GaussianSample], lams: np.ndarray, run: Run, n_jobs: int | None
) -> Iterator[tuple[int, list[GaussianEstimate]]]:
    """Yield number and estimates of each fold or subsample; after the deadline only the first one starts."""
    arrays = {}
    for k, part in enumerate(parts):
        arrays[f"mean{k}"], arrays[f"scale{k}"] = part.mean, part.scale
        if part.factor is None:
            arrays[f"correlation{k}"] = part.correlation
        else:
            arrays[f"factor{k}"] = part.factor
    headers = [(part.n_rows, part.method, part.repaired, part.factor is None) for part in parts]
    silent: Any = clone(solver)
    silent.set_params(n_jobs=None, callback=None, show_progress=False)
    task = _PathTask(silent, lams, headers, run.wall_deadline)
    with closing(
        run_tasks(task, SharedArrays(**arrays), len(parts), n_jobs=n_jobs, deadline=run.wall_deadline)
    ) as results:
        yield from results


@dataclass(frozen=True, eq=False)  # dask hashes its tasks, and an array has no hash
class _PathTask:
    """Task of a worker: the path of one fold or subsample."""

    solver: GaussianLearner
    lams: np.ndarray
    headers: list[tuple[float | None, str, float, bool]]
    wall_deadline: float

    def __call__(self, arrays: SharedArrays, number: int) -> list[GaussianEstimate]:
        n_rows, method, repaired, whole = self.headers[number]
        mean = getattr(arrays, f"mean{number}")
        matrix = "correlation" if whole else "factor"
        sample = GaussianSample(
            range(len(mean)),
            n_rows,
            mean,
            getattr(arrays, f"scale{number}"),
            method,
            repaired=repaired,
            **{matrix: getattr(arrays, f"{matrix}{number}")},
        )
        run = Run.from_wall_deadline(SolverProgress, self.wall_deadline)
        estimates = self.solver._solve(sample, self.lams, run)
        run.raise_error()
        return estimates


CRITERIA: dict[str, Callable[..., Criterion]] = {"ebic": ExtendedBIC, "cv": CrossValidation, "stars": Stability}
