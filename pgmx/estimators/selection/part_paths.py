"""Paths of a Gaussian learner over parts of the rows, by parallel workers."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone

from pgmx.estimators.gaussian.estimate import GaussianEstimate
from pgmx.estimators.gaussian.learner import GaussianLearner
from pgmx.parallel.arrays import SharedArrays
from pgmx.parallel.spread import spread
from pgmx.runs.progress import SolverProgress
from pgmx.runs.run import Run
from pgmx.statistics import GaussianSample


def learn_paths_of_parts(
    leaf: GaussianLearner, parts: list[GaussianSample], lams: np.ndarray, run: Run, n_jobs: int | None
) -> dict[int, list[GaussianEstimate]]:
    """Return the estimates for descending penalties of each part, by the number of the part.

    The deadline of the run leaves out parts not begun, but never all, and ends paths early.
    """
    arrays = {}
    for k, part in enumerate(parts):
        arrays[f"mean{k}"], arrays[f"scale{k}"] = part.mean, part.scale
        if part.factor is None:
            arrays[f"correlation{k}"] = part.correlation
        else:
            arrays[f"factor{k}"] = part.factor
    heads = [(part.n_rows, part.method, part.repaired, part.factor is None) for part in parts]
    solver: Any = clone(leaf)
    solver.set_params(n_jobs=None, callback=None, show_progress=False)
    task = _Part(solver, lams, heads, run.wall_deadline)
    return dict(spread(task, SharedArrays(**arrays), len(parts), n_jobs=n_jobs, deadline=run.wall_deadline))


@dataclass(frozen=True, eq=False)  # dask hashes its tasks, and an array has no hash
class _Part:
    """Task of a worker: the path of one part."""

    solver: GaussianLearner
    lams: np.ndarray
    heads: list[tuple[float | None, str, float, bool]]
    wall_deadline: float

    def __call__(self, arrays: SharedArrays, number: int) -> list[GaussianEstimate]:
        n_rows, method, repaired, whole = self.heads[number]
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
        return self.solver._solve(sample, self.lams, run)
