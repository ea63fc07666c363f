"""Row-wise methods of a Markov network, computed from its potentials only: no class of pgmpy is needed."""

from abc import abstractmethod
from collections.abc import Hashable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from pgmx.data import DiscreteTable
from pgmx.inference.approximate.imputation import impute
from pgmx.inference.problem import Problem
from pgmx.models.distributed_rows import ask_parts, is_distributed
from pgmx.models.markov.rows import Rows, code_rows


class MarkovRowQueries:
    """Mixin of a network with `inference_problem()` and a log-partition."""

    @abstractmethod
    def inference_problem(self) -> Problem:
        """Return the network in the form for :mod:`pgmx.inference`."""

    @property
    @abstractmethod
    def log_partition_(self) -> float:
        """Log-partition of the potentials in nats."""

    @abstractmethod
    def without_graph(self, question: str) -> Any:
        """Return an object that has only arrays and the row-wise methods of the network."""

    def read_rows(self, rows: Any) -> Rows:
        """Return rows in the codes of the network; columns may be absent, values may be missing."""
        return code_rows(rows, self.inference_problem(), allow_missing=True)

    def list_states(self) -> Mapping[Hashable, Sequence]:
        """Return the states of all variables, by name."""
        problem = self.inference_problem()
        return dict(zip(problem.names, problem.states, strict=True))

    def log_likelihood(self, X) -> np.ndarray:
        """Return the log-probability of each row, in nats.

        Parameters
        ----------
        X : DataFrame, array, DiscreteTable, path, iterator of frames, or distributed table
            Rows without missing values; the columns are the variables, in any order. A file or an iterator is read as
            by ``fit`` and has at least two rows.

        Returns
        -------
        ndarray of float64, shape (n_samples,)
            Minus infinity for an impossible row. If `partition_is_exact` is false, all values share the error of
            ``log_partition_``, which is estimated by annealed importance sampling. Its ``standard_error``, ``lower``
            and ``upper`` then apply to the mean of the rows too. For a distributed table, a dask Series.

        Warns
        -----
        ApproximationWarning
            If the exact log-partition needs too much memory; the warning reports the standard error.
        """
        if is_distributed(X):
            return ask_parts(self, "log_likelihood", X)
        rows = code_rows(X, self.inference_problem())
        return self.inference_problem().pairwise.log_score(rows.codes) - self.log_partition_

    def pseudo_log_likelihood(self, X) -> np.ndarray:
        """Return the log-pseudolikelihood of each row: the sum of log p(one variable | all others), in nats.

        Parameters
        ----------
        X : DataFrame, array, DiscreteTable, path, iterator of frames, or distributed table
            Rows without missing values, as for `log_likelihood`.

        Returns
        -------
        ndarray of float64, shape (n_samples,)
            The log-partition is not needed. The negative mean is the NPLL of the literature. For a distributed table, a
            dask Series.
        """
        if is_distributed(X):
            return ask_parts(self, "pseudo_log_likelihood", X)
        return self.inference_problem().pairwise.pseudo_log_likelihood(code_rows(X, self.inference_problem()).codes)

    def predict(self, X, *, method: str = "map", inference: str = "auto") -> pd.DataFrame:
        """Predict missing values and absent columns given the rest of the row.

        Parameters
        ----------
        X : DataFrame, array, DiscreteTable, path, iterator of frames, or distributed table
            Rows. Variables without a column and missing values are predicted.
        method : {"map", "marginal"}, default="map"
            The most probable joint configuration of the missing values of a row, or the most probable state of each
            variable.
        inference : {"auto", "exact", "loopy"}, default="auto"
            Method for rows with many connected missing values: "exact" uses junction trees, "loopy" uses loopy belief
            propagation (much faster on wide networks). "auto" is "exact" if a tree needs at most 16 MB.

        Returns
        -------
        pandas.DataFrame of shape (n_samples, n_variables)
            All variables in order, as categorical columns with all states declared, and with the index of `X` if it has
            one. Observed values are unchanged. For a distributed table, a dask.dataframe whose partitions the workers
            compute.

        Raises
        ------
        ValueError
            If a column is not a variable, a value is not among its states, or the observed values of a row are
            impossible.
        """
        if is_distributed(X):
            return ask_parts(self, "predict", X, method=method, inference=inference)
        problem = self.inference_problem()
        rows = code_rows(X, problem, allow_missing=True)
        with problem.naming_evidence():
            codes = impute(problem.pairwise, rows.codes, rows.missing, method=method, inference=inference)
        n_rows = codes.shape[1]
        if not n_rows:  # a table needs at least one row: it is computed for the columns, then removed
            codes = np.zeros((len(codes), 1), dtype=codes.dtype)
        frame = DiscreteTable(problem.names, problem.states, codes).to_pandas().iloc[:n_rows]
        return frame if rows.index is None else frame.set_axis(rows.index, axis=0)


class MarkovRowAnswers(MarkovRowQueries):
    """Potentials with the row-wise methods of a network; likelihoods need the `log_partition`."""

    def __init__(self, problem: Problem, log_partition: float | None):
        self._problem = problem
        self._log_partition = log_partition

    def inference_problem(self) -> Problem:
        """Return the network in the form for :mod:`pgmx.inference`."""
        return self._problem

    @property
    def log_partition_(self) -> float:
        """Log-partition of the potentials in nats."""
        assert self._log_partition is not None
        return self._log_partition

    def without_graph(self, question: str) -> "MarkovRowAnswers":
        """Return the object itself."""
        return self
