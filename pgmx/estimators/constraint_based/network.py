"""The network of a graph that tests have learned: its data are kept, and bound to a score on the first request."""

from collections.abc import Callable
from typing import Any

import numpy as np

from pgmx.ci_tests.sources import NamedTests
from pgmx.data import DiscreteTable, Frame, NumericTable
from pgmx.data.mixed import MixedTable, read_mixed
from pgmx.data.numeric import make_numeric_table
from pgmx.data.weights import weights_of_complete_rows
from pgmx.scores.binding.continuous import GaussianScoring, MixedScoring
from pgmx.scores.binding.resolve import resolve_scoring
from pgmx.scores.binding.scoring import StoredScoring
from pgmx.scores.registry import find_score
from pgmx.statistics.moments import sum_moments


class LateScoring(StoredScoring):
    """A `StoredScoring` whose score is made on the first access: tests need none."""

    def __init__(self, make: Callable[[], Any]):
        super().__init__(None)
        self._make: Callable[[], Any] | None = make

    def get(self) -> Any:
        """Return the score; raise FileNotFoundError if the file of its table does not exist."""
        if self._make is not None:
            self._scoring, self._make = self._make(), None
        return super().get()

    def __getstate__(self) -> dict[str, Any]:
        self.get()
        return {"_make": None, **super().__getstate__()}


def keep_data(
    opened: Any, tests: NamedTests, *, missing: str, state_names: dict | None, sample_weight: Any
) -> LateScoring:
    """Return the data of the tests, or of a frame that a function was asked about, in a form that stays valid."""
    table: Any = tests.table
    refusal = ""
    if table is None and isinstance(opened, Frame):
        try:
            table = _copy_rows(opened, missing, state_names)
        except ValueError as error:  # the function has answered about these data
            refusal = str(error)
    table = opened if table is None and not refusal else table
    names = list(opened.names)
    if sample_weight is not None:
        weights = np.asarray(sample_weight)
        sample_weight = weights_of_complete_rows(weights, opened) if missing == "drop" else weights

    def make() -> Any:
        if refusal:
            raise AttributeError(f"model_ needs data that a network can be fitted to: {refusal}")
        if isinstance(table, DiscreteTable):
            return resolve_scoring("bic", table, state_names=None, missing=missing, n_jobs=None)
        if _is_incomplete(table):
            raise AttributeError(
                "model_ needs complete rows of continuous variables: use missing='drop', or fit the parameters of the "
                "graph with HillClimbSearch(missing='em', required_edges=dag_.edges(), candidate_edges=dag_.edges())"
            )
        if isinstance(table, NumericTable):
            return _bind_numbers(table, names, sample_weight)
        score: Any = find_score("bic-clg").load()
        of_table = score.from_mixed(table)
        return MixedScoring(of_table, of_table.mixed)

    return LateScoring(make)


def _is_incomplete(table: NumericTable | MixedTable) -> bool:
    """Return whether values of a table with continuous columns are missing."""
    if isinstance(table, NumericTable):
        return bool(table.has_missing)
    has_marks = table.table is not None and (table.table.missing_codes >= 0).any()
    return bool(has_marks or np.isnan(table.numbers).any())


def _copy_rows(frame: Frame, missing: str, state_names: dict | None) -> DiscreteTable | NumericTable | MixedTable:
    """Return the rows of a frame as a table for the kind of its columns."""
    n_continuous = len(frame.float_columns)
    if n_continuous == frame.n_columns:
        return make_numeric_table(frame, missing)
    if n_continuous:
        return read_mixed(frame, state_names=state_names, missing=missing)
    return frame.encode(state_names=state_names, missing=missing)


def _bind_numbers(table: NumericTable, names: list, weights: Any) -> GaussianScoring:
    """Return a Gaussian score of the columns in the order of `names`."""
    moments = sum_moments(table, weights)
    places = {name: i for i, name in enumerate(table.names)}
    order = np.array([places[name] for name in names], dtype=np.int64)
    moments.mean, moments.cross = moments.mean[order], np.ascontiguousarray(moments.cross[np.ix_(order, order)])
    moments.low, moments.high = moments.low[order], moments.high[order]
    score: Any = find_score("bic-g").load()
    return GaussianScoring(score.from_moments(moments, names), None, sample_moments=moments)
