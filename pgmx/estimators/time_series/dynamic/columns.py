"""The columns of series as a score reads them, at all lags: coded if they are discrete, numeric if not."""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from pgmx.data import DiscreteTable, Frame
from pgmx.data.series import LaggedSeries
from pgmx.data.series.lagged import Node
from pgmx.models.time_series.dynamic.columns import name_column
from pgmx.scores.registry import check_score_name, find_score, name_default


@dataclass(frozen=True, eq=False)
class LaggedColumns:
    """The discrete columns of series as a coded table, None without any, and the numeric ones as float64 (n_rows,)."""

    series: LaggedSeries
    coded: DiscreteTable | None
    numbers: dict[Hashable, np.ndarray]

    @classmethod
    def read(
        cls, series: LaggedSeries, scoring_method: str | None, *, state_names: Any, missing: str, n_jobs: int | None
    ) -> Self:
        """Read the columns as the score needs them; raise naming columns that it cannot use.

        Gaussian scores read all columns as numbers, discrete scores none, others those with floating-point values.
        """
        frame = series.frame
        floats = frame.float_columns
        default = name_default(len(floats), frame.n_columns)
        kind = find_score(default if scoring_method is None else check_score_name(scoring_method)).kind
        if kind == "continuous":
            return cls(series, None, series.read_numbers(series.names))
        numeric = floats if kind == "mixed" else ()
        discrete = [name for name in series.names if name not in numeric]
        coded = series.code(discrete, state_names, missing, n_jobs) if discrete else None
        return cls(series, coded, series.read_numbers(numeric) if numeric else {})

    def take(self, nodes: Sequence[Node], rows: np.ndarray) -> DiscreteTable | Frame:
        """Return the columns at their lags before `rows`, named as a dynamic network names them."""
        labels = [self.label(node) for node in nodes]
        if not self.numbers and self.coded is not None:
            return self.series.take_codes(self.coded, nodes, labels, rows)
        return self.series.take_columns(self.coded, self.numbers, nodes, labels, rows)

    def label(self, node: Node) -> Hashable:
        """Return the name of a column of the lagged table."""
        name, lag = node
        return name if name in self.series.static else name_column(name, lag)

    def list_constants(self, nodes: Sequence[Node], rows: np.ndarray) -> list[Hashable]:
        """Return the names of the numeric columns that hold one value at their lags before `rows`."""
        numeric = [(name, lag) for name, lag in nodes if name in self.numbers]
        return [self.label((name, lag)) for name, lag in numeric if np.ptp(self.numbers[name][rows - lag]) == 0]
