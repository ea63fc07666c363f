"""What a Gaussian Markov network answers about rows, from arrays alone: no class of pgmpy is needed."""

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
    """Mixin of a network that has a precision scaled to unit diagonal, and units and means of its variables."""

    _names: tuple
    _precision: csr_array | None
    _scaled: csr_array  # K, the precision of z = (x - mean) / units
    _units: np.ndarray  # standard deviations given all others
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
        """Return the arrays that answer any question about rows, without a graph of pgmpy."""
        return GaussianRowAnswers(self)

    def read_rows(self, rows: Any) -> NumericRows:
        """Return rows in the order of the network; columns may be absent, cells missing."""
        return read_rows(rows, self._names, allow_missing=True)

    def list_states(self) -> Mapping[Hashable, Sequence]:
        """Return no states: all variables are numbers."""
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
        """Return z for values of some variables in the units of the data; NaN where missing."""
        if self._transforms is not None:
            values = self._transforms.forward(positions, values)
        return (values - self._mean[positions]) / self._units[positions]

    def _values(self, scores: np.ndarray, positions: np.ndarray) -> np.ndarray:
        """Return values in the units of the data for z of some variables."""
        values = self._mean[positions] + scores * self._units[positions]
        return values if self._transforms is None else self._transforms.backward(positions, values)

    # ---- predictions ----

    def predict(self, X, return_covariance: bool = False) -> pd.DataFrame | tuple[pd.DataFrame, pd.DataFrame]:
        r"""Return the conditional means of what is missing given the rest of the row.

        .. math:: E(x_m | x_o) = \mu_m - \Theta_{mm}^{-1} \Theta_{mo} (x_o - \mu_o)

        Parameters
        ----------
        X : DataFrame, dict, array, path, iterator of frames, or DistributedNumericTable
            Rows, any number of them; variables without a column, and missing cells, are predicted. A dictionary of
            numbers is one row. An array has a column for each variable, NaN where missing.
        return_covariance : bool, default=False
            Whether to return the conditional covariance as well, which is the same for all rows: they must lack the
            same cells.

        Returns
        -------
        pandas.DataFrame of shape (n_samples, n_missing)
            The variables that have no column or miss a cell, in the order of `names`; known cells as they were; with
            the index of `X`. With `transforms`, medians in the units of the data. Of a distributed table a
            dask.dataframe, whose partitions the workers compute.
        pandas.DataFrame of shape (n_missing, n_missing)
            Only with `return_covariance`; that of the scores where there are `transforms`.

        Raises
        ------
        ValueError
            If a column is no variable or holds other things than numbers, or rows lack different cells where the
            covariance is asked for.
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
                f"the rows lack different cells of {join_names(frame.columns)}, so that no one covariance holds for "
                "all: predict rows of one pattern at a time"
            )
        spread = Blocks(self._scaled[wanted][:, wanted]).invert() * np.outer(self._units[wanted], self._units[wanted])
        return frame, self._frame(spread, wanted)

    # ---- likelihoods ----

    def log_likelihood(self, X) -> np.ndarray:
        """Return the log-density of each row, in nats.

        Parameters
        ----------
        X : DataFrame, dict, array, path, iterator of frames, or DistributedNumericTable
            Rows without missing cells; the columns are the variables, in any order.

        Returns
        -------
        ndarray of float64, shape (n_samples,)
            With `transforms`, the log-density of the row's normal scores: the derivatives of the maps are left out.
            Of a distributed table a Series of dask.

        Raises
        ------
        ValueError
            If columns are absent or are no variables, or cells are missing or no numbers.
        """
        self._require_precision()
        if is_distributed(X):
            return ask_parts(self, "log_likelihood", X)
        rows = read_rows(X, self._names)
        return self._log_densities(self._scores(rows.values, np.arange(len(self._names))))

    def log_evidence(self, X) -> np.ndarray:
        r"""Return the log-density of what is known of each row, in nats, the rest integrated out.

        .. math:: \ln p(x_o) = \ln p(x_o, \hat x_m) + \tfrac{k}{2} \ln 2\pi - \tfrac12 \ln |\Theta_{mm}|

        with the conditional means :math:`\hat x_m` of the k missing cells, as `predict` has them.

        Parameters
        ----------
        X : DataFrame, dict, array, path, iterator of frames, or DistributedNumericTable
            Rows, in which columns and cells may be missing; the columns are variables, in any order.

        Returns
        -------
        ndarray of float64, shape (n_samples,)
            `log_likelihood` for rows that are complete, 0 for those of which nothing is known. With `transforms`, the
            log-density of the known normal scores. Of a distributed table a Series of dask.

        Raises
        ------
        ValueError
            If a column is no variable or holds other things than numbers.

        Notes
        -----
        One factorisation per pattern of missing cells.
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
    """The arrays of a network, which answer about rows."""

    def __init__(self, network: GaussianRowQueries):
        self._names = network._names
        self._precision, self._scaled = network._precision, network._scaled
        self._units, self._mean, self._scale = network._units, network._mean, network._scale
        self._transforms = network._transforms
        self._cache: dict[str, Any] = {}
