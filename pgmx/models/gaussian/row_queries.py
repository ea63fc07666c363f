"""Row-wise methods of a Gaussian Markov network, computed from arrays only: no class of pgmpy is needed."""

from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from scipy.sparse import csr_array

from pgmx.checks import join_names
from pgmx.models.distributed_rows import ask_parts, is_distributed
from pgmx.models.gaussian.rows import NumericRows, read_rows
from pgmx.statistics import MarginalTransforms
from pgmx.statistics.precision import Blocks, fill_scores


class GaussianRowQueries:
    """Mixin of a network with a precision scaled to unit diagonal, and with units and means of its variables."""

    _names: tuple
    _precision: csr_array | None
    _scaled: csr_array  # K, the precision of z = (x - mean) / units
    _units: np.ndarray  # standard deviations given all other variables
    _mean: np.ndarray
    _scale: np.ndarray
    _transforms: MarginalTransforms | None
    _cache: dict[str, Any]

    def _require_precision(self) -> csr_array:
        if self._precision is None:
            raise ValueError(
                "this network has no precision: make it with GaussianMarkovNetwork.from_precision or from_covariance"
            )
        return self._precision

    def without_graph(self, question: str) -> "GaussianRowAnswers":
        """Return an object with the arrays and the row-wise methods of the network, without a pgmpy graph."""
        return GaussianRowAnswers(self)

    def read_rows(self, rows: Any) -> NumericRows:
        """Return rows in the order of the network; columns may be absent, values may be missing."""
        return read_rows(rows, self._names, allow_missing=True)

    def list_states(self) -> Mapping[Hashable, Sequence]:
        """Return an empty mapping: all variables are continuous."""
        return {}

    def _blocks(self) -> Blocks:
        self._require_precision()
        if "blocks" not in self._cache:
            self._cache["blocks"] = Blocks(self._scaled)
        return self._cache["blocks"]

    def _index(self, positions: Iterable[int] | None = None) -> pd.Index:
        names = list(self._names) if positions is None else [self._names[v] for v in positions]
        return pd.Index(names, tupleize_cols=False)

    def _frame(self, matrix: np.ndarray, positions: Iterable[int] | None = None) -> pd.DataFrame:
        labels = self._index(positions)
        return pd.DataFrame(matrix, index=labels, columns=labels)

    # ---- data and scores ----

    def _scores(self, values: np.ndarray, positions: np.ndarray) -> np.ndarray:
        """Return z for values of some variables in the units of the data; NaN for missing values."""
        if self._transforms is not None:
            values = self._transforms.forward(positions, values)
        return (values - self._mean[positions]) / self._units[positions]

    def _values(self, scores: np.ndarray, positions: np.ndarray) -> np.ndarray:
        """Return values in the units of the data for z of some variables."""
        values = self._mean[positions] + scores * self._units[positions]
        return values if self._transforms is None else self._transforms.backward(positions, values)

    # ---- predictions ----

    def predict(self, X, return_covariance: bool = False) -> pd.DataFrame | tuple[pd.DataFrame, pd.DataFrame]:
        r"""Return the conditional means of missing values given the rest of the row.

        .. math:: E(x_m | x_o) = \mu_m - \Theta_{mm}^{-1} \Theta_{mo} (x_o - \mu_o)

        Parameters
        ----------
        X : DataFrame, dict, array, path, iterator of frames, or DistributedNumericTable
            Any number of rows. Variables without a column and missing values are predicted. A dictionary of single
            values is one row. An array has a column for each variable, with NaN for missing values.
        return_covariance : bool, default=False
            Whether to also return the conditional covariance. All rows must then have the same missing variables, so
            that it is the same for all rows.

        Returns
        -------
        pandas.DataFrame of shape (n_samples, n_missing)
            The variables with no column or with missing values, in the order of `names`, with the index of `X`.
            Observed values are unchanged. With `transforms`, medians in the units of the data. For a distributed table,
            a dask.dataframe whose partitions the workers compute.
        pandas.DataFrame of shape (n_missing, n_missing)
            Only with `return_covariance`; the covariance of the scores if there are `transforms`.

        Raises
        ------
        ValueError
            If a column is not a variable or is not numeric, or, with `return_covariance`, if rows have different
            missing variables.
        """
        self._require_precision()
        if is_distributed(X):
            answers = ask_parts(self, "predict", X)
            return (answers, self.predict(X.without_rows(), True)[1]) if return_covariance else answers
        rows = read_rows(X, self._names, allow_missing=True)
        missing = np.isnan(rows.values)
        wanted = np.flatnonzero(missing.any(axis=0) | ~rows.known)
        scores = self._scores(rows.values, np.arange(len(self._names)))
        scores[missing] = 0.0
        values = self._values(fill_scores(self._scaled, scores, missing)[0][:, wanted], wanted)
        values = np.where(missing[:, wanted], values, rows.values[:, wanted])
        frame = pd.DataFrame(values, index=rows.index, columns=self._index(wanted))
        if not return_covariance:
            return frame
        if not missing[:, wanted].all():
            raise ValueError(
                f"the rows have different missing values in {join_names(frame.columns)}, so that their covariances "
                "differ: predict the rows of each pattern separately"
            )
        spread = Blocks(self._scaled[wanted][:, wanted]).invert() * np.outer(self._units[wanted], self._units[wanted])
        return frame, self._frame(spread, wanted)

    # ---- likelihoods ----

    def log_likelihood(self, X) -> np.ndarray:
        """Return the log-density of each row, in nats.

        Parameters
        ----------
        X : DataFrame, dict, array, path, iterator of frames, or DistributedNumericTable
            Rows without missing values; the columns are the variables, in any order.

        Returns
        -------
        ndarray of float64, shape (n_samples,)
            With `transforms`, the log-density of the normal scores of the row, without the derivatives of the maps. For
            a distributed table, a dask Series.

        Raises
        ------
        ValueError
            If columns are absent or unknown, or values are missing or not numeric.
        """
        self._require_precision()
        if is_distributed(X):
            return ask_parts(self, "log_likelihood", X)
        rows = read_rows(X, self._names)
        return self._log_densities(self._scores(rows.values, np.arange(len(self._names))))

    def log_evidence(self, X) -> np.ndarray:
        r"""Return the log-density of the observed values of each row, in nats, with missing values integrated out.

        .. math:: \ln p(x_o) = \ln p(x_o, \hat x_m) + \tfrac{k}{2} \ln 2\pi - \tfrac12 \ln |\Theta_{mm}|

        with the conditional means :math:`\hat x_m` of the k missing values (see `predict`).

        Parameters
        ----------
        X : DataFrame, dict, array, path, iterator of frames, or DistributedNumericTable
            Rows, in which columns and values may be missing; the columns are variables, in any order.

        Returns
        -------
        ndarray of float64, shape (n_samples,)
            `log_likelihood` for complete rows, 0 for rows without observed values. With `transforms`, the log-density
            of the observed normal scores. For a distributed table, a dask Series.

        Raises
        ------
        ValueError
            If a column is not a variable or is not numeric.

        Notes
        -----
        The cost is one factorisation per pattern of missing values.
        """
        self._require_precision()
        if is_distributed(X):
            return ask_parts(self, "log_evidence", X)
        rows = read_rows(X, self._names, allow_missing=True)
        missing = np.isnan(rows.values)
        scores = self._scores(rows.values, np.arange(len(self._names)))
        scores[missing] = 0.0
        filled, log_dets = fill_scores(self._scaled, scores, missing)
        log_dets -= 2.0 * missing @ np.log(self._units)
        return self._log_densities(filled) + 0.5 * (missing.sum(axis=1) * np.log(2.0 * np.pi) - log_dets)

    def _log_densities(self, scores: np.ndarray) -> np.ndarray:
        """Return the log-densities of rows of z."""
        squares = np.einsum("ij,ij->i", scores, np.asarray((self._scaled @ scores.T).T))
        return 0.5 * (self._log_det() - len(self._names) * np.log(2.0 * np.pi) - squares)

    def _log_det(self) -> float:
        """Return log |Θ|."""
        return self._blocks().log_det - 2.0 * float(np.log(self._units).sum())


class GaussianRowAnswers(GaussianRowQueries):
    """The arrays of a network with its row-wise methods."""

    def __init__(self, network: GaussianRowQueries):
        self._names = network._names
        self._precision, self._scaled = network._precision, network._scaled
        self._units, self._mean, self._scale = network._units, network._mean, network._scale
        self._transforms = network._transforms
        self._cache: dict[str, Any] = {}
