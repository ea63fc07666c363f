"""Answers of a discrete Bayesian network per row: predictions and likelihoods of tables with missing values.

Nothing here imports pgmpy, since workers of a cluster compute these answers too.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Hashable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from pgmx.checks import check_seed, join_names
from pgmx.inference.exact.components import BLOCK, ComponentEngine
from pgmx.inference.named_networks import draw_uniforms
from pgmx.inference.problem import Problem, check_method
from pgmx.models.distributed_rows import ImpossibleRowsError, average_answers, let_workers_answer, number_rows_from
from pgmx.models.rows import DiscreteRows, make_label_columns

#: Numbers per chunk of rows, unless a few blocks have more: 32 MB.
CHUNK_NUMBERS = 1 << 22
#: Blocks of rows in a chunk at least, which threads share.
LEAST_BLOCKS = 4

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
        engine, n = problem.engine, len(problem.names)
        filled = np.empty((n, rows.n_rows), dtype=np.min_scalar_type(-max(engine.cards)))
        impossible, begin, is_complete = _ImpossibleRows(problem), 0, True
        for codes in rows.chunks(_count_rows(sum(engine.cards) if method == "marginal" else n)):
            is_complete = is_complete and bool((codes >= 0).all())
            with number_rows_from(begin):
                if stochastic:
                    streams = [draw_uniforms(entropy, v, len(codes), first_row + begin) for v in range(n)]
                    states, logs = engine.complete_rows(codes, None, uniforms=np.stack(streams, axis=1), n_jobs=n_jobs)
                elif method == "map":
                    states, logs = engine.complete_rows(codes, None, n_jobs=n_jobs)
                else:
                    states, logs = _choose_states(engine, codes, n_jobs)
            impossible.add(logs, codes, begin)
            filled[:, begin : begin + len(codes)] = states.T
            begin += len(codes)
        if must_fill and is_complete and filled.shape[1]:
            raise ValueError(NOTHING_MISSING)
        impossible.raise_if_any()
        return self._frame(problem, filled, rows)

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
        chosen = None if variables is None else _find_variables(problem, variables)
        wanted = rows.incomplete if chosen is None else chosen
        engine = problem.engine
        starts, width = _starts(engine, wanted), sum(engine.cards[v] for v in wanted)
        values = np.empty((rows.n_rows, width))
        impossible, begin = _ImpossibleRows(problem), 0
        for codes in rows.chunks(_count_rows(max(len(problem.names), width))):
            if chosen is not None:
                codes[:, chosen] = -1
            with number_rows_from(begin):
                logs, shares = _compute_shares(engine, codes, wanted, -1)
            for v, start in zip(wanted, starts, strict=True):
                observed = np.flatnonzero(codes[:, v] >= 0)
                shares[observed, start + codes[observed, v]] = 1.0
            impossible.add(logs, codes, begin)
            values[begin : begin + len(codes)] = shares
            begin += len(codes)
        impossible.raise_if_any()
        columns = make_label_columns([problem.names[v] for v in wanted], [problem.states[v] for v in wanted])
        return pd.DataFrame(values, index=rows.index, columns=columns)

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
        return _compute_logs(problem.engine, DiscreteRows(X, problem, allow_missing=False))

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
        return _compute_logs(problem.engine, DiscreteRows(X, problem))

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

    def _frame(self, problem: Problem, codes: np.ndarray, rows: DiscreteRows) -> pd.DataFrame:
        """Return categorical columns: those of the data in their order, then the absent ones."""
        categories = [pd.Index(list(own), tupleize_cols=False) for own in problem.states]
        order = [*rows.columns, *(v for v in range(len(problem.names)) if v not in set(rows.columns))]
        columns = {k: pd.Categorical.from_codes(codes[v], categories[v]) for k, v in enumerate(order)}
        names = pd.Index([problem.names[v] for v in order], tupleize_cols=False)
        return pd.DataFrame(columns, index=rows.index).set_axis(names, axis=1)


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


class _ImpossibleRows:
    """The number of impossible rows, and the first one."""

    def __init__(self, problem: Problem) -> None:
        self._problem, self._n_rows, self._first = problem, 0, -1
        self._values: dict[Hashable, Hashable] = {}

    def add(self, logs: np.ndarray, codes: np.ndarray, first_row: int) -> None:
        """Count the impossible rows of a chunk that begins at row `first_row`."""
        found = np.flatnonzero(logs == -np.inf)
        if len(found) and not self._n_rows:
            row = codes[found[0]]
            self._first = first_row + int(found[0])
            names, states = self._problem.names, self._problem.states
            self._values = {names[v]: states[v][row[v]] for v in np.flatnonzero(row >= 0).tolist()}
        self._n_rows += len(found)

    def raise_if_any(self) -> None:
        """Raise if there are impossible rows."""
        if self._n_rows:
            raise ImpossibleRowsError(self._n_rows, self._first, self._values)


def _count_rows(width: int) -> int:
    """Return the rows of a chunk with about `width` numbers per row."""
    return BLOCK * max(LEAST_BLOCKS, CHUNK_NUMBERS // (BLOCK * max(1, width)))


def _starts(engine: ComponentEngine, variables: Sequence[int]) -> list[int]:
    """Return the first column of each variable among their states side by side."""
    return np.cumsum([0, *(engine.cards[v] for v in variables)])[:-1].tolist()


def _compute_shares(
    engine: ComponentEngine, codes: np.ndarray, wanted: Sequence[int], n_jobs: int | None
) -> tuple[np.ndarray, np.ndarray]:
    """Return log P of rows, and the distributions of hidden variables side by side; 0 for observed ones."""
    columns = np.full(len(engine.cards), -1, dtype=np.int64)
    columns[wanted] = _starts(engine, wanted)
    shares = np.zeros((len(codes), sum(engine.cards[v] for v in wanted)))
    return engine.answer_rows(codes, None, probabilities=shares, columns=columns, n_jobs=n_jobs), shares


def _choose_states(engine: ComponentEngine, codes: np.ndarray, n_jobs: int | None) -> tuple[np.ndarray, np.ndarray]:
    """Return rows in which each hidden variable has its most probable state, and log P of the observed values."""
    is_missing = codes < 0
    wanted = np.flatnonzero(is_missing.any(axis=0)).tolist()
    states = codes.copy()
    logs, shares = _compute_shares(engine, codes, wanted, n_jobs)
    for v, start in zip(wanted, _starts(engine, wanted), strict=True):
        best = shares[:, start : start + engine.cards[v]].argmax(axis=1)
        states[:, v] = np.where(is_missing[:, v], best, codes[:, v])
    return states, logs


def _compute_logs(engine: ComponentEngine, rows: DiscreteRows) -> np.ndarray:
    logs = [np.empty(0)]
    begin = 0
    for codes in rows.chunks(_count_rows(len(engine.cards))):
        with number_rows_from(begin):
            logs.append(engine.answer_rows(codes, None, n_jobs=-1))
        begin += len(codes)
    return np.concatenate(logs)


def _find_variables(problem: Problem, variables: Sequence[Hashable]) -> list[int]:
    names = [variables] if isinstance(variables, str) else list(variables)
    if not names:
        raise ValueError(f"variables is empty: name one or more of {join_names(problem.names)}")
    return sorted({problem.position(name) for name in names})
