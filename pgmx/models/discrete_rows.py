"""Answers of a discrete Bayesian network per row: predictions and likelihoods of tables with missing values.

Nothing here imports pgmpy, since workers of a cluster compute these answers too.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any, Protocol

import numpy as np
import pandas as pd

from pgmx._ext._row_columns import RowColumns, choose_states, mark_observed
from pgmx.checks import check_seed
from pgmx.inference.exact.components import BLOCK, LEAST_BLOCK, RowWorker
from pgmx.inference.named_networks import draw_uniforms
from pgmx.inference.problem import Problem, check_method
from pgmx.models.distributed_rows import ImpossibleRowsError, average_answers, let_workers_answer, number_rows_from
from pgmx.models.rows import DiscreteRows, find_variables, make_label_columns
from pgmx.models.state_codes import StateCodes

#: Numbers per block of rows, and rows that are coded at a time if they are not categorical.
BLOCK_NUMBERS, CHUNK_ROWS = 1 << 20, 1 << 14

NOTHING_MISSING = "no value is missing in the data: there is nothing to predict"


class DiscreteRowQueries:
    """Mixin of a network with row-wise answers, which are exact for any pattern of missing values."""

    @abstractmethod
    def inference_problem(self) -> Problem:
        """Return names, states and tables, in which all changes of the network are seen."""

    @abstractmethod
    def without_graph(self, question: str) -> Any:
        """Return an object that has only arrays and the row-wise methods of the network."""

    def read_rows(self, rows: Any) -> np.ndarray:
        """Return rows in the codes of the network; columns may be absent, values may be missing."""
        return DiscreteRows(rows, self.inference_problem()).read_all()

    def _require_parameters(self) -> None:
        self.inference_problem()

    def list_states(self) -> Mapping[Hashable, Sequence]:
        """Return the states of all variables, by name."""
        problem = self.inference_problem()
        return dict(zip(problem.names, problem.states, strict=True))

    # ---- predictions ----

    @let_workers_answer
    def fill(
        self,
        X: Any,
        *,
        method: str = "map",
        stochastic: bool = False,
        seed: int | None = None,
        n_jobs: int | None = -1,
        first_row: int = 0,
        must_fill: bool = False,
    ) -> pd.DataFrame:
        """Return the rows with all variables, as `DiscreteBayesianNetwork.predict` does.

        Draws depend on the seed and on the position of a row; the first row of `X` has the position `first_row`.
        With `must_fill` rows without missing values are an error, as in pgmpy.
        """
        check_method(method, ("map", "marginal"))
        entropy = np.random.SeedSequence(check_seed(seed)).entropy
        problem = self.inference_problem()
        rows = DiscreteRows(X, problem)

        def draw(worker: RowWorker, codes: np.ndarray, start: int, position: int, hidden: Sequence[int]) -> np.ndarray:
            uniforms = np.empty(codes.shape)
            for v in hidden:
                uniforms[:, v] = draw_uniforms(entropy, v, len(codes), first_row + position)
            return worker.complete(codes, start, uniforms)

        how = draw if stochastic else method
        return fill_rows(problem, problem.engine, rows, how, n_jobs=n_jobs, must_fill=must_fill)

    @let_workers_answer
    def predict_proba(self, X: Any, variables: Sequence[Hashable] | None = None) -> pd.DataFrame:
        r"""Return the distributions of missing values given the rest of the row, for each variable separately.

        .. math:: P(x_v = k \mid x_o)

        Parameters
        ----------
        X : DataFrame, dict, array, DiscreteTable, path, iterator of frames, or distributed table
            Rows, in which columns and values may be missing.
        variables : sequence of hashable, optional
            Names of variables to predict from the others in every row; their values in `X` are ignored. The default is
            all variables without a column or with a missing value.

        Returns
        -------
        pandas.DataFrame of float64, shape (n_samples, n_states)
            A frame with the index of `X` and two levels of columns, (variable, state). An observed state has the
            probability 1. For a distributed table, a dask.dataframe.

        Raises
        ------
        ValueError
            If a column or a name is not a variable, a value is not a state of its variable, or a row is impossible.
        TreewidthError
            If a row needs more than 2 GB, or the free memory if that is less; the error names the row.

        Notes
        -----
        Cost per row: as for `predict`, and one number per state of the result.
        """
        problem = self.inference_problem()
        rows = DiscreteRows(X, problem)
        return list_shares(problem, problem.engine, rows, variables)

    # ---- likelihoods ----

    @let_workers_answer
    def log_likelihood(self, X: Any) -> np.ndarray:
        r"""Return the log-probability of each row, in nats.

        .. math:: \ln P(x) = \sum_v \ln P(x_v \mid x_{\mathrm{pa}(v)})

        Parameters
        ----------
        X : DataFrame, dict, array, DiscreteTable, path, iterator of frames, or distributed table
            Rows without missing values; the columns are the variables, in any order.

        Returns
        -------
        ndarray of float64, shape (n_samples,)
            Minus infinity for impossible rows. For a distributed table, a dask Series.

        Raises
        ------
        ValueError
            If columns are absent or unknown, or a value is missing or not a state of its variable.
        """
        problem = self.inference_problem()
        rows = DiscreteRows(X, problem, allow_missing=False)
        return compute_logs(problem.engine, rows)

    @let_workers_answer
    def log_evidence(self, X: Any) -> np.ndarray:
        r"""Return the log-probability of the observed values of each row, in nats, with missing values summed out.

        .. math:: \ln P(x_o) = \ln \sum_{x_m} P(x_o, x_m)

        Parameters
        ----------
        X : DataFrame, dict, array, DiscreteTable, path, iterator of frames, or distributed table
            Rows, in which columns and values may be missing.

        Returns
        -------
        ndarray of float64, shape (n_samples,)
            `log_likelihood` for complete rows, 0 for rows without observed values, minus infinity for impossible rows.
            For a distributed table, a dask Series.

        Raises
        ------
        ValueError
            If a column is not a variable, or a value is not a state of its variable.
        TreewidthError
            If a row needs more than 2 GB, or the free memory if that is less; the error names the row.
        """
        problem = self.inference_problem()
        rows = DiscreteRows(X, problem)
        return compute_logs(problem.engine, rows)

    def score(self, X: Any, y: object = None) -> float:
        """Return the mean log-probability of the observed values of rows, in nats; higher is better.

        Parameters
        ----------
        X : DataFrame, dict, array, DiscreteTable, path, iterator of frames, or distributed table
            Rows, as for `log_evidence`.
        y : None
            Ignored; a convention of scikit-learn.

        Returns
        -------
        float
            The mean of `log_evidence`, for complete rows of `log_likelihood`; the workers of a distributed table
            compute the sums.
        """
        return average_answers(self, "log_evidence", X)


class DiscreteRowAnswers(DiscreteRowQueries):
    """Names, states and tables with the row-wise methods of a network."""

    def __init__(self, problem: Problem):
        self._problem = problem

    def inference_problem(self) -> Problem:
        """Return names, states and tables."""
        return self._problem

    def without_graph(self, question: str) -> DiscreteRowAnswers:
        """Return the object itself."""
        return self


class RowAnswers(Protocol):
    """Answers of blocks of rows by one thread, as of `RowWorker`."""

    def read(self, columns: RowColumns, block: slice) -> np.ndarray:
        """Return rows of a table, int32 (n_rows, n) with hidden variables -1, valid until the next call."""
        ...

    def answer(
        self, codes: np.ndarray, start: int, probabilities: np.ndarray | None = None, columns: np.ndarray | None = None
    ) -> np.ndarray:
        """Return the logarithms of sums over the hidden variables, and set their distributions."""
        ...

    def complete(self, codes: np.ndarray, start: int) -> np.ndarray:
        """Set the most probable states together; returns the logarithms of the maxima."""
        ...


class RowEngine(Protocol):
    """Answers of blocks of rows, as of `ComponentEngine`."""

    cards: list[int]

    def run_blocks(
        self,
        answer: Callable[[Any, slice], np.ndarray],
        n_rows: int,
        memory: int | None,
        n_jobs: int | None,
        most: int = BLOCK,
    ) -> np.ndarray:
        """Return a number per row, from blocks of about `most` rows."""
        ...


#: Fills the hidden variables of rows: worker, codes, number of the first row of the block in its part of the table,
#: position of this row in the whole table, variables with missing values; returns logarithms.
Fill = Callable[[Any, np.ndarray, int, int, Sequence[int]], np.ndarray]


def fill_rows(
    problem: Problem,
    engine: RowEngine,
    rows: DiscreteRows,
    how: str | Fill,
    *,
    n_jobs: int | None = -1,
    must_fill: bool = False,
) -> pd.DataFrame:
    """Return rows with all variables: those of the data in their order, then the absent ones.

    `how` is "map" (most probable together), "marginal" (each by itself), or a function that fills the rows.
    """
    kept, copied = StateCodes.of(problem), rows.copy_complete()
    filled = [np.empty(rows.n_rows, kept.dtype(v)) if codes is None else codes for v, codes in enumerate(copied)]
    target = RowColumns([new if old is None else None for new, old in zip(filled, copied, strict=True)])
    impossible, is_complete = _ImpossibleRows(problem), True
    most = _count_rows(sum(engine.cards) if how == "marginal" else len(problem.names))
    for begin, table in rows.tables(CHUNK_ROWS):
        hidden = table.find_incomplete()
        is_complete = is_complete and not hidden

        def complete(worker: RowAnswers, block: slice, begin=begin, table=table, hidden=hidden) -> np.ndarray:
            codes = worker.read(table, block)
            if callable(how):
                logs = how(worker, codes, block.start, begin + block.start, hidden)
            elif how == "map":
                logs = worker.complete(codes, block.start)
            else:
                logs = _choose_states(engine.cards, worker, codes, block.start, hidden)
            target.write(begin + block.start, codes)
            return logs

        with number_rows_from(begin):
            logs = engine.run_blocks(complete, table.n_rows, None, n_jobs, most)
        impossible.add(logs, table, begin)
    if must_fill and is_complete and rows.n_rows:
        raise ValueError(NOTHING_MISSING)
    impossible.raise_if_any()
    present = set(rows.columns)
    order = [*rows.columns, *(v for v in range(len(problem.names)) if v not in present)]
    columns = {k: kept.make_column(v, filled[v]) for k, v in enumerate(order)}
    frame = pd.DataFrame(columns, index=rows.index, copy=False)
    frame.columns = pd.Index([problem.names[v] for v in order], tupleize_cols=False)
    return frame


def list_shares(
    problem: Problem, engine: RowEngine, rows: DiscreteRows, variables: Sequence[Hashable] | None
) -> pd.DataFrame:
    """Return the distributions of variables given the rest of each row, by default of all with missing values."""
    chosen = [] if variables is None else find_variables(variables, problem.names)
    wanted = rows.incomplete if variables is None else chosen
    places, width = _place(engine.cards, wanted)
    values = np.zeros((rows.n_rows, width))
    impossible = _ImpossibleRows(problem)
    for begin, table in rows.tables(CHUNK_ROWS):

        def answer(worker: RowAnswers, block: slice, begin=begin, table=table) -> np.ndarray:
            codes = worker.read(table, block)
            codes[:, chosen] = -1
            shares = values[begin + block.start : begin + block.stop]
            logs = worker.answer(codes, block.start, shares, places)
            mark_observed(codes, places, shares)
            return logs

        with number_rows_from(begin):
            logs = engine.run_blocks(answer, table.n_rows, None, -1, _count_rows(max(len(problem.names), width)))
        impossible.add(logs, table, begin, chosen)
    impossible.raise_if_any()
    columns = make_label_columns([problem.names[v] for v in wanted], [problem.states[v] for v in wanted])
    return pd.DataFrame(values, index=rows.index, columns=columns, copy=False)


def compute_logs(engine: RowEngine, rows: DiscreteRows) -> np.ndarray:
    """Return the logarithms of the sums over the missing values of rows."""
    logs = [np.empty(0)]
    for begin, table in rows.tables(CHUNK_ROWS):

        def answer(worker: RowAnswers, block: slice, table=table) -> np.ndarray:
            return worker.answer(worker.read(table, block), block.start)

        with number_rows_from(begin):
            logs.append(engine.run_blocks(answer, table.n_rows, None, -1, _count_rows(len(engine.cards))))
    return np.concatenate(logs)


class _ImpossibleRows:
    """The number of impossible rows, and the first one."""

    def __init__(self, problem: Problem) -> None:
        self._problem, self._n_rows, self._first = problem, 0, -1
        self._values: dict[Hashable, Hashable] = {}

    def add(self, logs: np.ndarray, table: RowColumns, first_row: int, ignored: Sequence[int] = ()) -> None:
        """Count the impossible rows of a table that begins at row `first_row`; some columns are not looked at."""
        found = np.flatnonzero(logs == -np.inf)
        if len(found) and not self._n_rows:
            row = np.empty((1, table.n_columns), dtype=np.int32)
            table.read(int(found[0]), row)
            row[0, ignored] = -1
            self._first = first_row + int(found[0])
            names, states = self._problem.names, self._problem.states
            self._values = {names[v]: states[v][row[0, v]] for v in np.flatnonzero(row[0] >= 0).tolist()}
        self._n_rows += len(found)

    def raise_if_any(self) -> None:
        """Raise if there are impossible rows."""
        if self._n_rows:
            raise ImpossibleRowsError(self._n_rows, self._first, self._values)


def _count_rows(width: int) -> int:
    """Return the rows of a block with about `width` numbers per row."""
    return max(LEAST_BLOCK, min(BLOCK, BLOCK_NUMBERS // max(1, width)))


def _place(cards: Sequence[int], variables: Sequence[int]) -> tuple[np.ndarray, int]:
    """Return the first column of each variable if their states are side by side, -1 for others, and their number."""
    places = np.full(len(cards), -1, dtype=np.int64)
    sizes = [cards[v] for v in variables]
    places[variables] = np.cumsum([0, *sizes])[:-1]
    return places, sum(sizes)


def _choose_states(
    cards: Sequence[int], worker: RowAnswers, codes: np.ndarray, start: int, hidden: Sequence[int]
) -> np.ndarray:
    """Give each hidden variable its most probable state; returns the logarithms of sums over the hidden variables."""
    places, width = _place(cards, hidden)
    shares = np.zeros((len(codes), width))
    logs = worker.answer(codes, start, shares, places)
    choose_states(shares, places, np.array(cards, dtype=np.int32), codes)
    return logs
