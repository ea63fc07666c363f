"""The base class of the learners of sparse linear dynamical systems: a run over blocks of targets."""

import warnings
from typing import Any

from numpy.typing import ArrayLike
from sklearn.exceptions import ConvergenceWarning

from pgmx.checks import caller_level
from pgmx.data.series import Panel, SeriesChunks
from pgmx.estimators.time_series.linear import LDSLearner
from pgmx.estimators.time_series.runs import RUN_CONSTRAINTS, RunsSolver, TargetRecord
from pgmx.runs.run import Run


class SparseLDSLearner(RunsSolver, LDSLearner):
    """Base of the learners that solve one block of targets after another; `_solve` ends with `_end_blocks`."""

    _parameter_constraints: dict[str, Any] = {**LDSLearner._parameter_constraints, **RUN_CONSTRAINTS}

    _unit = "blocks"

    def _fit(self, opened: Panel | SeriesChunks, sample_weight: ArrayLike | None) -> Run:
        self._refuse_weights(sample_weight)
        with self._open_run() as run:
            self._learn(opened, run)
        return self._end_run(run, run.stopped_by == "converged")

    def _end_blocks(self, record: TargetRecord, n_targets: int, run: Run | None) -> None:
        """End a run, with a warning if some targets were not solved."""
        if run is None:
            return
        if record.n_targets == n_targets:
            run.end("converged")
            return
        warnings.warn(
            f"{type(self).__name__} was ended by {run.stopped_by} after {record.n_targets} of {n_targets} "
            "regressions. The other regressions give no parents. Give a larger max_time",
            ConvergenceWarning,
            stacklevel=caller_level(),
        )
