"""Predictions of missing values by a conditional linear Gaussian network."""

import warnings
from abc import abstractmethod
from collections.abc import Hashable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from pgmx.checks import DEFAULT_SEED, caller_level, check_natural, check_seed
from pgmx.data.distributed.tables import is_remote
from pgmx.inference import ApproximationWarning
from pgmx.inference.mixed.families import MixedFamilies, RowChunk
from pgmx.inference.mixed.row_answers import MarginalRows, MostProbableRows, RowAnswers, RowOptions
from pgmx.inference.mixed.weighting import make_key
from pgmx.inference.problem import check_method
from pgmx.models.distributed_rows import ImpossibleRowsError, let_workers_answer
from pgmx.models.rows import MixedColumns, find_variables, make_label_columns, read_mixed_rows

_ENGINES = ("auto", "exact", "weighting")


class Prediction(NamedTuple):
    """A request: positions of variables (None for missing ones), joint or single predictions, engine and sampling."""

    variables: list[int] | None
    method: str
    options: RowOptions


class ImpossibleRows:
    """Impossible rows: their number, the observed values of the first, and whether weighting found it impossible."""

    def __init__(self, names: Sequence[Hashable], states: Sequence[Sequence | None]) -> None:
        self.n_rows, self.first, self.is_sampled = 0, -1, False
        self.values: dict[Hashable, Hashable] = {}
        self._names, self._states = names, states

    def add(self, failed: np.ndarray, sizes: np.ndarray, begin: int, cells: RowChunk) -> None:
        """Count the `failed` rows of a chunk that begins at row `begin`; `sizes` are effective sample sizes."""
        if failed.any() and not self.n_rows:
            row = int(np.flatnonzero(failed)[0])
            self.first, self.is_sampled = begin + row, sizes[row] == 0.0
            for v in np.flatnonzero(~cells.missing[:, row]).tolist():
                states = self._states[v]
                value = float(cells.rows.numbers[v, row]) if states is None else states[cells.rows.codes[v, row]]
                self.values[self._names[v]] = value
        self.n_rows += int(failed.sum())

    def raise_if_any(self, n_samples: int) -> None:
        """Raise if there are impossible rows."""
        if self.n_rows:
            if not self.is_sampled:
                raise ImpossibleRowsError(self.n_rows, self.first, self.values)
            cause, remedy = f"all {n_samples} samples", "raise n_samples, or leave out some of these values"
            raise ImpossibleRowsError(self.n_rows, self.first, self.values, cause, remedy)


class MixedPredictions:
    """Mixin of a network with `names`, states per variable (None for continuous variables), and families."""

    _names: tuple
    _states: tuple

    @abstractmethod
    def _require_families(self) -> MixedFamilies:
        """Return the parameters, or raise if there are none."""

    def _require_parameters(self) -> None:
        self._require_families()

    def read_rows(self, rows: Any) -> MixedColumns:
        """Return rows in the order of the network; columns may be absent, values may be missing."""
        return read_mixed_rows(rows, self._names, self._states, allow_missing=True)

    def list_states(self) -> Mapping[Hashable, Sequence]:
        """Return the states of the discrete variables, by name."""
        return {name: own for name, own in zip(self._names, self._states, strict=True) if own is not None}

    @abstractmethod
    def without_graph(self, question: str) -> Any:
        """Return an object that has only arrays and the row-wise methods of the network."""

    # ---- predictions ----

    def predict(
        self,
        X: Any,
        variables: Sequence[Hashable] | None = None,
        *,
        method: str = "map",
        inference: str = "auto",
        n_samples: int = 10_000,
        random_state: int | None = DEFAULT_SEED,
    ) -> pd.DataFrame:
        r"""Predict missing values and absent columns given the rest of the row.

        With ``method="map"`` the missing discrete variables :math:`i_m` of a row have their most probable joint
        configuration, with missing continuous variables integrated out. These have their means given the configuration:

        .. math::
            \hat\imath_m = \arg\max_{i_m} \int p(i, x)\, dx_m, \qquad
            \hat x_m = E(x_m \mid \hat\imath_m, i_o, x_o)

        With ``method="marginal"`` each variable is predicted for itself:

        .. math:: \hat\imath_v = \arg\max_k P(i_v = k \mid i_o, x_o), \qquad \hat x_v = E(x_v \mid i_o, x_o)

        Parameters
        ----------
        X : DataFrame, dict, array, path, iterator of frames, or distributed table
            Any number of rows. A dictionary of single values is one row; an array has a column for each variable.
        variables : sequence of hashable, optional
            Names of variables to predict; their values in `X` are ignored, and only they are returned. The default is
            all variables without a column or with missing values.
        method : {"map", "marginal"}, default="map"
            The most probable joint configuration of all missing values of a row, or each variable for itself.
        inference : {"auto", "exact", "weighting"}, default="auto"
            "exact" integrates continuous variables out and then sums or maximises over states by a junction tree.
            "weighting" is likelihood weighting with `n_samples` samples per row; the configuration of the largest total
            weight is then the most probable one, and means given it are exact. "auto" is exact up to 2^22 values per
            row. Otherwise it uses weighting and warns with the effective sample size.
        n_samples : int, default=10_000
            Samples per row of likelihood weighting, at least 1.
        random_state : int or None, default=0
            A non-negative seed of likelihood weighting; None draws fresh entropy.

        Returns
        -------
        pandas.DataFrame of shape (n_samples, n_variables)
            The columns of `X` in their order, then absent variables in the order of `names`, with the index of `X`;
            with `variables` only these, in the order of `names`. Discrete columns are categorical with all states
            declared, the others float. Observed values are unchanged. For a distributed table, a dask.dataframe whose
            partitions the workers compute.

        Raises
        ------
        ValueError
            If a column or a name is not a variable, a value is infinite or not a state of its variable, a row with
            missing values is impossible, or `method` or `inference` is unknown.
        TreewidthError
            If "exact" would need more than 2^27 values per row.

        Warns
        -----
        ApproximationWarning
            If weighting estimates a prediction; the warning reports the smallest effective sample size of a row.

        Notes
        -----
        Exact inference uses the strong junction tree of Lauritzen, with continuous variables eliminated first: so the
        maximum over configurations is exact (a marginal MAP), not that of a mixture replaced by one normal
        distribution. The cost per row is the number of cells of a junction tree over the unobserved discrete variables.
        Each connected component of k unobserved continuous variables adds O(k³) per configuration of the discrete
        variables on which it depends. Missing variables of a row that observed ones separate are answered apart, and
        rows share the plans. Of equally probable configurations the same one is always chosen.

        Rows are processed in chunks of a million values. In addition to `X` and the result this needs one or two bytes
        per value of discrete columns and about 100 MB, for any number of rows. The samples of a row depend on the seed
        and on its position.

        References
        ----------
        S. L. Lauritzen (1992), Propagation of probabilities, means, and variances in mixed graphical association
        models, JASA 87. S. L. Lauritzen, F. Jensen (2001), Stable local computation with conditional Gaussian
        distributions, Statistics and Computing 11. J. D. Park, A. Darwiche (2004), Complexity results and approximation
        strategies for MAP explanations, Journal of Artificial Intelligence Research 21. R. Fung, K.-C. Chang (1990),
        Weighing and integrating evidence for stochastic simulation in Bayesian networks, UAI 5.
        """
        if method in _ENGINES:
            raise ValueError(
                f"method must be 'map' or 'marginal', got {method!r}: the engine is chosen by inference={method!r}"
            )
        check_method(method, ("map", "marginal"))
        return self._compute("_predict", X, variables, method, inference, n_samples, random_state)

    @let_workers_answer
    def _predict(self, X: Any, prediction: Prediction, first_row: int) -> pd.DataFrame:
        read, wanted = self._read_rows_for(X, prediction)
        shown = wanted if prediction.variables is not None else self._order_columns(read)
        cells = {v: self._copy_column(read, v) for v in shown}
        for rows, chunk in self._answer_chunks(read, self._make_engine(wanted, prediction), first_row):
            for v in wanted:
                cells[v][rows] = chunk.rows.numbers[v] if self._states[v] is None else chunk.rows.codes[v]
        columns: dict[int, Any] = {
            v: column if self._states[v] is None else pd.Categorical.from_codes(column, self._categories(v))
            for v, column in cells.items()
        }
        return self._frame(columns, read.index)

    def _order_columns(self, read: MixedColumns) -> list[int]:
        """Return all variables: those with columns in the order of the columns, then the others."""
        place = {name: v for v, name in enumerate(self._names)}
        present = [place[name] for name in read.columns]
        return present + np.flatnonzero(read.absent).tolist()

    def _copy_column(self, read: MixedColumns, v: int) -> np.ndarray:
        """Return the numbers or codes of a variable; arbitrary values where they are missing."""
        column = read.numbers[v] if self._states[v] is None else read.codes[v]
        kind = np.float64 if self._states[v] is None else _code_type(len(self._states[v]))
        return np.empty(read.n_rows, dtype=kind) if column is None else np.array(column, dtype=kind)

    def predict_proba(
        self,
        X: Any,
        variables: Sequence[Hashable] | None = None,
        *,
        inference: str = "auto",
        n_samples: int = 10_000,
        random_state: int | None = DEFAULT_SEED,
    ) -> pd.DataFrame:
        """Return the distributions of missing values given the rest of the row, for each variable separately.

        Parameters
        ----------
        X : DataFrame, dict, array, path, iterator of frames, or distributed table
            Rows, as for `predict`.
        variables : sequence of hashable, optional
            Names of variables to predict; their values in `X` are ignored. The default is all variables without a
            column or with missing values.
        inference : {"auto", "exact", "weighting"}, default="auto"
            The engine, as for `predict`.
        n_samples : int, default=10_000
            Samples per row of likelihood weighting.
        random_state : int or None, default=0
            A non-negative seed of likelihood weighting.

        Returns
        -------
        pandas.DataFrame
            A frame with the index of `X` and two levels of columns. (variable, state) holds the probability of a state;
            (variable, "mean") and (variable, "std") hold the mean and standard deviation of a continuous variable (of a
            mixture of normal distributions if states are missing). Observed values have probability 1, or standard
            deviation 0. For a distributed table, a dask.dataframe.

        Raises
        ------
        ValueError, TreewidthError
            As `predict`.
        """
        return self._compute("_predict_proba", X, variables, "marginal", inference, n_samples, random_state)

    @let_workers_answer
    def _predict_proba(self, X: Any, prediction: Prediction, first_row: int) -> pd.DataFrame:
        read, wanted = self._read_rows_for(X, prediction)
        labels = [self._states[v] or ("mean", "std") for v in wanted]
        values = np.empty((read.n_rows, sum(map(len, labels))))
        engine = MarginalRows(self._require_families(), self._names, wanted, prediction.options)
        for rows, chunk in self._answer_chunks(read, engine, first_row):
            answers = engine.answers
            begin = 0
            for v in wanted:
                missing = chunk.missing[v]
                if self._states[v] is None:
                    shares = np.column_stack([chunk.rows.numbers[v], np.zeros(missing.shape)])
                    shares[missing, 0] = answers.means[v][missing]
                    shares[missing, 1] = np.sqrt(answers.variances[v][missing])
                else:
                    shares = np.eye(len(self._states[v]))[chunk.rows.codes[v]]
                    shares[missing] = answers.probabilities[v][missing]
                values[rows, begin : begin + shares.shape[1]] = shares
                begin += shares.shape[1]
        columns = make_label_columns([self._names[v] for v in wanted], labels)
        return pd.DataFrame(values, index=read.index, columns=columns)

    def _compute(
        self,
        what: str,
        X: Any,
        variables: Sequence[Hashable] | None,
        method: str,
        inference: str,
        n_samples: int,
        random_state: int | None,
    ) -> Any:
        """Check the options of a prediction and compute it; for a distributed table, on its workers."""
        self._require_families()
        check_method(inference, _ENGINES, "inference")
        n_samples = check_natural(n_samples, "n_samples", 1)
        key = make_key(check_seed(random_state, "random_state"))
        chosen = None if variables is None else find_variables(variables, self._names)
        prediction = Prediction(chosen, method, RowOptions(inference, n_samples, key))
        answers = getattr(self, what)(X, prediction=prediction, first_row=0)
        if is_remote(X):  # the workers, which know the effective sample sizes, can only log them
            self._warn_of_partitions(X, prediction)
        return answers

    def _read_rows_for(self, X: Any, prediction: Prediction) -> tuple[MixedColumns, list[int]]:
        """Return the rows, and the variables to predict."""
        chosen = prediction.variables
        ignore = [] if chosen is None else [self._names[v] for v in chosen]
        read = read_mixed_rows(X, self._names, self._states, allow_missing=True, ignore=ignore)
        return read, np.flatnonzero(read.incomplete).tolist() if chosen is None else chosen

    def _make_engine(self, wanted: list[int], prediction: Prediction) -> RowAnswers:
        make = MostProbableRows if prediction.method == "map" else MarginalRows
        return make(self._require_families(), self._names, wanted, prediction.options)

    def _answer_chunks(
        self, read: MixedColumns, engine: RowAnswers, first_row: int
    ) -> Iterator[tuple[slice, RowChunk]]:
        """Yield rows in chunks, with answers; raise in the end for impossible rows.

        `first_row` is the position of the first row in the table, on which samples depend.
        """
        impossible_rows, sizes = ImpossibleRows(self._names, self._states), []
        for chunk in read.chunks():
            cells = read.take(chunk)
            engine.fill(cells, first_row + chunk.start)
            effective = engine.effective_sizes
            impossible_rows.add(engine.failed, effective, chunk.start, cells)
            sizes.append(effective[effective < np.inf])
            yield chunk, cells
        impossible_rows.raise_if_any(engine.options.n_samples)
        self._warn_of_sizes(np.concatenate(sizes) if sizes else np.empty(0), read.n_rows, engine.options.n_samples)

    def _warn_of_sizes(self, sizes: np.ndarray, n_rows: int, n_samples: int) -> None:
        """Warn if predictions are estimates with these effective sample sizes."""
        if len(sizes):
            warnings.warn(
                f"{len(sizes)} of {n_rows} rows are predicted by likelihood weighting of {n_samples} "
                f"samples: their effective sample size is at least {sizes.min():.0f}, its median "
                f"{np.median(sizes):.0f}; standard errors correspond to this sample size",
                ApproximationWarning,
                stacklevel=caller_level(),
            )

    def _warn_of_partitions(self, X: Any, prediction: Prediction) -> None:
        """Warn if workers will use weighting: all rows of a distributed table have the same missing variables."""
        read, wanted = self._read_rows_for(X.without_rows(), prediction)
        if self._make_engine(wanted, prediction).needs_samples(read.absent):
            warnings.warn(
                f"rows are predicted by likelihood weighting of {prediction.options.n_samples} samples each; their "
                "effective sample sizes are written to the logs of the workers",
                ApproximationWarning,
                stacklevel=caller_level(),
            )

    def _categories(self, v: int) -> pd.Index:
        return pd.Index(list(self._states[v]), tupleize_cols=False)

    def _frame(self, columns: dict[int, Any], index: pd.Index) -> pd.DataFrame:
        names = pd.Index([self._names[v] for v in columns], tupleize_cols=False)
        return pd.DataFrame(dict(enumerate(columns.values())), index=index).set_axis(names, axis=1)


def _code_type(n_states: int) -> np.dtype:
    """Return the smallest signed type for n codes, as in pandas."""
    return np.min_scalar_type(-n_states)
