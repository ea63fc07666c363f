"""Rows of data under a linear Gaussian Bayesian network, answered from arrays; nothing here imports pgmpy."""

from abc import abstractmethod
from collections.abc import Hashable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from pgmx.data.distributed.tables import is_remote
from pgmx.inference.linear_gaussian import LinearGaussianArrays
from pgmx.models.distributed_rows import average_answers, let_workers_answer, sum_partitions
from pgmx.models.rows import NumericRows, find_variables, make_label_columns, read_numeric_rows


class LinearGaussianRowQueries:
    """Mixin of a network whose parameters are regressions."""

    @abstractmethod
    def _read_arrays(self) -> LinearGaussianArrays:
        """Return the parameters in the order of the nodes, or raise if a variable has none."""

    def _require_parameters(self) -> None:
        self._read_arrays()

    def read_rows(self, rows: Any) -> NumericRows:
        """Return rows in the order of the nodes; columns may be absent, values may be missing."""
        return read_numeric_rows(rows, self._read_arrays().names, allow_missing=True)

    def list_states(self) -> Mapping[Hashable, Sequence]:
        """Return an empty mapping: all variables are continuous."""
        return {}

    def without_graph(self, question: str) -> "LinearGaussianRowAnswers":
        """Return the parameters with the row-wise methods of the network, without a pgmpy graph."""
        return LinearGaussianRowAnswers(self._read_arrays())

    # ---- predictions ----

    @let_workers_answer
    def _predict(self, X: Any, whole: bool) -> pd.DataFrame:
        """Return all variables, or only the predicted ones in topological order."""
        arrays = self._read_arrays()
        rows = read_numeric_rows(X, arrays.names, allow_missing=True)
        if whole:
            wanted = [*rows.order, *np.flatnonzero(~rows.known).tolist()]
        else:
            incomplete = np.isnan(rows.values).any(axis=0) | ~rows.known
            wanted = [v for v in arrays.order if incomplete[v]]
            if not wanted:
                raise ValueError(
                    "the data have a column for every variable and no missing values: there is nothing to predict; "
                    'predict(data, method="map") then returns the data'
                )
        values = arrays.fill(rows.values)[:, wanted]
        return pd.DataFrame(values, index=rows.index, columns=_make_index([arrays.names[v] for v in wanted]))

    def predict_proba(self, X: Any, variables: Sequence[Hashable] | None = None) -> pd.DataFrame:
        """Return the means and standard deviations of variables given the rest of the row.

        Parameters
        ----------
        X : DataFrame, dict, array, path, iterator of frames, or DistributedNumericTable
            Rows, as for `predict`.
        variables : sequence of hashable, optional
            Names of variables to predict from the others in every row; their values in `X` are ignored. The default is
            all variables without a column or with missing values.

        Returns
        -------
        pandas.DataFrame
            Columns (variable, "mean") and (variable, "std") in the order of the nodes; the index is that of `X`.
            Observed values have their value and standard deviation 0. For a distributed table, a dask.dataframe.

        Raises
        ------
        TypeError, ValueError
            As `predict`, and if `variables` is no list, is empty, or has a name that is not a variable.

        Notes
        -----
        The standard deviation depends on which values are observed, not on the values. The cost is that of `predict`
        and of the inverse of each factor.
        """
        arrays = self._read_arrays()
        chosen = None if variables is None else find_variables(variables, arrays.names)
        return self._predict_proba(X, chosen=chosen)

    @let_workers_answer
    def _predict_proba(self, X: Any, chosen: list[int] | None) -> pd.DataFrame:
        arrays = self._read_arrays()
        rows = read_numeric_rows(X, arrays.names, allow_missing=True)
        if chosen is None:
            wanted = np.flatnonzero(np.isnan(rows.values).any(axis=0) | ~rows.known).tolist()
        else:
            wanted = chosen
            rows.values[:, wanted] = np.nan  # an array of its own
        means, deviations = (of_all[:, wanted] for of_all in arrays.describe_missing(rows.values))
        values = np.stack([means, deviations], axis=2).reshape(len(means), 2 * len(wanted))
        columns = make_label_columns([arrays.names[v] for v in wanted], [("mean", "std")] * len(wanted))
        return pd.DataFrame(values, index=rows.index, columns=columns)

    # ---- likelihoods ----

    def log_likelihood(self, data: Any, *, per_row: bool = False) -> Any:
        r"""Return the log-density of rows without missing values, in nats.

        .. math:: \ln p(x) = \sum_v \ln p(x_v \mid x_{\mathrm{pa}(v)})

        Parameters
        ----------
        data : DataFrame, dict, array, path, iterator of frames, or DistributedNumericTable
            Rows without missing values; the columns are the variables, in any order.
        per_row : bool, default=False
            False returns the sum over the rows, as pgmpy does; True the log-density of each row.

        Returns
        -------
        float or ndarray of float64, shape (n_samples,)
            With `per_row`, a dask Series for a distributed table.

        Raises
        ------
        ValueError
            If columns are absent or unknown, values are missing, infinite or not numeric, a CPD is missing, or a
            standard deviation is not positive.
        """
        if per_row:
            found: Any = self._log_density(data)
            return found.rename("log_likelihood") if is_remote(data) else found
        if is_remote(data):
            return sum_partitions(self, "_log_density", data)
        return float(np.sum(self._log_density(data)))

    @let_workers_answer
    def _log_density(self, X: Any) -> np.ndarray:
        arrays = self._read_arrays()
        return arrays.log_evidence(read_numeric_rows(X, arrays.names).values)

    @let_workers_answer
    def log_evidence(self, X: Any) -> np.ndarray:
        r"""Return the log-density of the observed values of each row, in nats, with missing values integrated out.

        .. math:: \ln p(x_o) = \ln p(x_o, \hat x_m) + \tfrac{k}{2} \ln 2\pi - \tfrac12 \ln |K_{mm}|

        with the conditional means :math:`\hat x_m` of the k missing values (see `predict`).

        Parameters
        ----------
        X : DataFrame, dict, array, path, iterator of frames, or DistributedNumericTable
            Rows, in which columns and values may be missing.

        Returns
        -------
        ndarray of float64, shape (n_samples,)
            The log-likelihood of complete rows, 0 for rows without observed values. For a distributed
            table, a dask Series.

        Raises
        ------
        ValueError
            If a column is not a variable or not numeric, a value is infinite, a CPD is missing, or a standard deviation
            is not positive.
        """
        arrays = self._read_arrays()
        return arrays.log_evidence(read_numeric_rows(X, arrays.names, allow_missing=True).values)

    def log_likelihood_terms(self, X: Any) -> np.ndarray:
        """Return the log-density of each variable given its parents, in nats; the sums are the log-likelihood.

        Parameters
        ----------
        X : DataFrame, dict, array, path or iterator of frames
            Rows without missing values, as for `log_likelihood`.

        Returns
        -------
        ndarray of float64, shape (n_variables, n_samples)
            In the order of the nodes.
        """
        arrays = self._read_arrays()
        return arrays.compute_terms(read_numeric_rows(X, arrays.names).values)

    def score(self, X: Any, y: object = None) -> float:
        """Return the mean log-density of the observed values of rows, in nats; higher is better.

        Parameters
        ----------
        X : DataFrame, dict, array, path, iterator of frames, or DistributedNumericTable
            Rows, as for `log_evidence`.
        y : None
            Ignored; a convention of scikit-learn.

        Returns
        -------
        float
            The mean of `log_evidence`, for complete rows of their log-likelihood; the workers of a distributed table
            compute the sums.
        """
        return average_answers(self, "log_evidence", X)


class LinearGaussianRowAnswers(LinearGaussianRowQueries):
    """Parameters with the row-wise methods of a network."""

    def __init__(self, arrays: LinearGaussianArrays):
        self._arrays = arrays

    def _read_arrays(self) -> LinearGaussianArrays:
        return self._arrays


def _make_index(names: list) -> pd.Index:
    return pd.Index(names, tupleize_cols=False)
