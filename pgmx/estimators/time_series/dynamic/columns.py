"""The columns of series as a score reads them, at all lags: coded if they are discrete, numeric if not."""

from collections.abc import Hashable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from pgmpy.structure_score import BaseStructureScore

from pgmx.checks import check_same_names
from pgmx.data import DiscreteTable, Frame
from pgmx.data.declared_states import check_state_names
from pgmx.data.mixed import MixedTable
from pgmx.data.series import LaggedSeries
from pgmx.data.series.lagged import Node
from pgmx.data.series.shifted import RowCodes, RowLanes, ShiftedNumbers, ShiftedTable
from pgmx.models.time_series.dynamic.columns import name_column
from pgmx.scores.discrete.base import DiscreteScore
from pgmx.scores.discrete.bde import BDe
from pgmx.scores.registry import check_score_name, find_score, name_default
from pgmx.statistics.moments import count_block_rows

#: Columns that are coded together: the codes of all are not in memory twice.
_BLOCK = 32


@dataclass(frozen=True, eq=False)
class LaggedColumns:
    """The columns of series: discrete ones coded, numeric ones as float64 (n_rows,).

    If all are discrete, `of_rows` has their rows, in lanes if they have no weights. These rows, and the numbers of a
    Gaussian score, are not copied for each lag.
    """

    series: LaggedSeries
    #: Name of the score.
    method: str
    coded: DiscreteTable | None
    numbers: dict[Hashable, np.ndarray]
    of_rows: RowLanes | RowCodes | None = None

    @classmethod
    def read(
        cls,
        series: LaggedSeries,
        scoring_method: str | BaseStructureScore | None,
        *,
        state_names: Any,
        missing: str,
        n_jobs: int | None,
        weighted: bool,
    ) -> Self:
        """Read the columns as the score needs them; raise naming columns that it cannot use.

        Gaussian scores read all columns as continuous, discrete scores none, others those with floating-point values.
        """
        frame = series.frame
        _check_labels(series)
        floats = frame.float_columns
        default = name_default(len(floats), frame.n_columns)
        if isinstance(scoring_method, BaseStructureScore):
            method = _name_object(scoring_method, series.names)
        else:
            method = default if scoring_method is None else check_score_name(scoring_method)
        kind = find_score(method).kind
        if kind == "continuous":
            return cls(series, method, None, series.read_numbers(series.names))
        numeric = floats if kind == "mixed" else ()
        discrete = [name for name in series.names if name not in numeric]
        if not numeric and weighted:
            return cls(series, method, None, {}, RowCodes(series.code(discrete, state_names, missing, n_jobs)))
        if not numeric:
            check_state_names(state_names or {}, series.names)
            lanes = RowLanes(series.n_rows, series.lags)
            lanes.fill(_code_in_blocks(series, state_names or {}, missing, n_jobs), frame.n_columns)
            return cls(series, method, None, {}, lanes)
        coded = series.code(discrete, state_names, missing, n_jobs) if discrete else None
        return cls(series, method, coded, series.read_numbers(numeric) if numeric else {})

    def take(self, nodes: Sequence[Node], rows: np.ndarray) -> DiscreteTable | Frame:
        """Return the columns at their lags before `rows`, named as a dynamic network names them."""
        labels = [self.label(node) for node in nodes]
        if self.of_rows is not None:
            return ShiftedTable(labels, self.of_rows, self._find_sources(nodes), rows, len(nodes)).to_plain()
        return self.series.take_columns(self.coded, self.numbers, nodes, labels, rows)

    def shift(self, nodes: Sequence[Node], rows: np.ndarray, n_children: int) -> Any:
        """Return nodes as a table. Only rows of mixed columns are copied for each lag."""
        labels = [self.label(node) for node in nodes]
        if find_score(self.method).kind == "continuous":
            columns = [(self.numbers[name], lag) for name, lag in nodes]
            return ShiftedNumbers(labels, columns, rows, count_block_rows(len(nodes)))
        if self.numbers:
            return self._mix(nodes, labels, rows)
        assert self.of_rows is not None
        return ShiftedTable(labels, self.of_rows, self._find_sources(nodes), rows, n_children)

    def _find_sources(self, nodes: Sequence[Node]) -> list[tuple[int, int]]:
        assert self.of_rows is not None and self.of_rows.table is not None
        return [(self.of_rows.table.index(name), lag) for name, lag in nodes]

    def _mix(self, nodes: Sequence[Node], labels: Sequence[Hashable], rows: np.ndarray) -> MixedTable:
        """Return copies of continuous and discrete columns."""
        is_continuous = np.array([name in self.numbers for name, _ in nodes])
        numbers = np.empty((int(is_continuous.sum()), len(rows)))
        floats = [node for node in nodes if node[0] in self.numbers]
        for out, (name, lag) in zip(numbers, floats, strict=True):
            np.take(self.numbers[name], rows - lag, out=out)
        table = None
        if self.coded is not None:
            places = np.flatnonzero(~is_continuous).tolist()
            table = self.series.take_codes(self.coded, [nodes[p] for p in places], [labels[p] for p in places], rows)
        return MixedTable(tuple(labels), is_continuous, numbers, table)

    def label(self, node: Node) -> Hashable:
        """Return the name of a column of the lagged table."""
        return _label(self.series, node)

    def list_constants(self, nodes: Sequence[Node], rows: np.ndarray) -> list[Hashable]:
        """Return the names of the numeric columns that hold one value at their lags before `rows`."""
        numeric = [(name, lag) for name, lag in nodes if name in self.numbers]
        return [self.label((name, lag)) for name, lag in numeric if np.ptp(self.numbers[name][rows - lag]) == 0]


def bind_object(score: BaseStructureScore, table: DiscreteTable) -> BaseStructureScore:
    """Return a score with the options of another one, made for the columns of a series, for their lagged columns."""
    bound: Any = copy(score)
    bound.data, bound.table, bound.variables, bound.state_names = None, table, list(table.columns), None
    return bound


def _label(series: LaggedSeries, node: Node) -> Hashable:
    name, lag = node
    return name if name in series.static else name_column(name, lag)


def _check_labels(series: LaggedSeries) -> None:
    """Raise ValueError if two columns of the lagged table would have the same name."""
    named: dict[Hashable, Node] = {}
    for node in series.nodes:
        label = _label(series, node)
        if label in named:
            raise ValueError(
                f"columns {named[label][0]!r} and {node[0]!r} would both be named {label!r} in a dynamic network: "
                "rename one of them"
            )
        named[label] = node


def _name_object(score: BaseStructureScore, names: Sequence[Hashable]) -> str:
    """Return the name of a score of the kind of an object; raise if it is not for discrete series, or for others."""
    if not isinstance(score, DiscreteScore) or isinstance(score, BDe) or not score.is_compiled():
        raise TypeError(
            f"scoring_method={type(score).__name__}(...) is bound to a table without lags: give the name of a score, "
            f"such as 'bic', or an object of pgmx's other discrete scores, such as BDeu(series, "
            "equivalent_sample_size=5)"
        )
    check_same_names(score.variables, names, "the score", "the series", "columns", "Make the score from this data")
    return name_default(0, len(names))


def _code_in_blocks(
    series: LaggedSeries, state_names: Mapping, missing: str, n_jobs: int | None
) -> Iterator[DiscreteTable]:
    """Yield the coded columns in their order, some at a time."""
    for first in range(0, len(series.names), _BLOCK):
        names = series.names[first : first + _BLOCK]
        yield series.code(names, {name: state_names[name] for name in names if name in state_names}, missing, n_jobs)
