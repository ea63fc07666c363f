"""What a Markov network answers about rows, from its potentials alone: no class of pgmpy is needed."""

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
    """Mixin of a network that has `inference_problem()` and a log-partition."""

    @abstractmethod
    def inference_problem(self) -> Problem:
        """Return the network as :mod:`pgmx.inference` sees it."""

    @property
    @abstractmethod
    def log_partition_(self) -> float:
        """Log-partition of the potentials in nats."""

    @abstractmethod
    def without_graph(self, question: str) -> Any:
        """Return something that answers a question about rows with arrays alone."""

    def read_rows(self, rows: Any) -> Rows:
        """Return rows in the codes of the network; columns may be absent, cells missing."""
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
            Rows without missing cells; the columns are the variables, in any order. A file or an iterator is read as by
            ``fit``, and has two rows at least.

        Returns
        -------
        ndarray of float64, shape (n_samples,)
            Minus infinity for an impossible row. Where `partition_is_exact` is false, the same error is in all, that
            of ``log_partition_``, an estimate by annealed importance sampling: its ``standard_error`` is that of the
            mean of the rows too, and its ``lower`` and ``upper`` bound it. Of a distributed table a Series of dask.

        Warns
        -----
        ApproximationWarning
            If the log-partition takes too much memory to be exact; with its standard error.
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
            Rows without missing cells, as for `log_likelihood`.

        Returns
        -------
        ndarray of float64, shape (n_samples,)
            Needs no log-partition; its negative mean is the NPLL of the literature. Of a distributed table a Series of
            dask.
        """
        if is_distributed(X):
            return ask_parts(self, "pseudo_log_likelihood", X)
        return self.inference_problem().pairwise.pseudo_log_likelihood(code_rows(X, self.inference_problem()).codes)

    def predict(self, X, *, method: str = "map", inference: str = "auto") -> pd.DataFrame:
        """Fill missing cells and columns given the others of the row.

        Parameters
        ----------
        X : DataFrame, array, DiscreteTable, path, iterator of frames, or distributed table
            Rows; variables without a column, and missing cells, are predicted.
        method : {"map", "marginal"}, default="map"
            The most probable states of all that is missing in a row together, or of each variable alone.
        inference : {"auto", "exact", "loopy"}, default="auto"
            How rows with many connected cells missing are filled: by junction trees, by loopy belief propagation, which
            is far faster on wide networks, or by the former where a tree takes 16 MB at most.

        Returns
        -------
        pandas.DataFrame of shape (n_samples, n_variables)
            All variables in order, of category dtype with all states declared; known cells as they were, the index of
            `X` where it has one. Of a distributed table a dask.dataframe, whose partitions the workers compute.

        Raises
        ------
        ValueError
            If a column is no variable, a cell no state of it, or what is known of a row impossible.
        """
        if is_distributed(X):
            return ask_parts(self, "predict", X, method=method, inference=inference)
        problem = self.inference_problem()
        rows = code_rows(X, problem, allow_missing=True)
        with problem.naming_evidence():
            codes = impute(problem.pairwise, rows.codes, rows.missing, method=method, inference=inference)
        n_rows = codes.shape[1]
        if not n_rows:  # a table has rows: one that is cut off again brings the columns
            codes = np.zeros((len(codes), 1), dtype=codes.dtype)
        frame = DiscreteTable(problem.names, problem.states, codes).to_pandas().iloc[:n_rows]
        return frame if rows.index is None else frame.set_axis(rows.index, axis=0)


class MarkovRowAnswers(MarkovRowQueries):
    """Potentials that answer about rows; `log_partition` is that of the potentials, for likelihoods."""

    def __init__(self, problem: Problem, log_partition: float | None):
        self._problem = problem
        self._log_partition = log_partition

    def inference_problem(self) -> Problem:
        """Return the network as :mod:`pgmx.inference` sees it."""
        return self._problem

    @property
    def log_partition_(self) -> float:
        """Log-partition of the potentials in nats."""
        assert self._log_partition is not None
        return self._log_partition

    def without_graph(self, question: str) -> "MarkovRowAnswers":
        """Return the answers themselves."""
        return self
