"""Graph and network of a fitted learner of discrete Markov networks."""

from typing import Any

import networkx as nx
import numpy as np
from sklearn.utils.validation import check_is_fitted

from pgmx.data import DiscreteTable, encode
from pgmx.estimators.base import BaseStructureLearner
from pgmx.inference import PairwisePotentials
from pgmx.models import PairwiseMarkovNetwork
from pgmx.models.distributed_rows import is_distributed, sum_parts
from pgmx.models.markov.factors import measure_strengths


class MarkovResults(BaseStructureLearner):
    """Graph and network of a learner, made from its arrays on access.

    A subclass sets `edges_`, `_potentials`, `_names`, `_states` and an empty `_results`.
    """

    edges_: np.ndarray
    _potentials: PairwisePotentials
    _names: list
    _states: tuple

    @property
    def graph_(self) -> nx.Graph:
        """The learned graph."""
        return self._make_once("graph", self._make_graph)

    @property
    def model_(self) -> PairwiseMarkovNetwork:
        """The learned network."""
        return self._make_once(
            "model", lambda: PairwiseMarkovNetwork.from_potentials(self._names, self._states, self._potentials)
        )

    def _make_graph(self) -> nx.Graph:
        graph = nx.Graph()
        graph.add_nodes_from(self._names)
        sizes = measure_strengths(self._potentials).tolist()
        strength = dict(zip(map(tuple, self._potentials.edges.tolist()), sizes, strict=True))
        for i, j in self.edges_.tolist():
            graph.add_edge(self._names[i], self._names[j], weight=strength.get((i, j), 0.0))
        return graph

    def score(self, X, y=None):
        """Return the mean log-likelihood of rows under `model_`, in nats; higher is better.

        Parameters
        ----------
        X : DataFrame, array, DiscreteTable or distributed table
            Rows with the columns and states of the training data. Workers of a distributed table sum their rows. The
            learner's option `missing` sets the treatment of missing values: an error, dropping the row ("drop", with a
            warning), or a state ("category").
        y : None
            Ignored; scikit-learn's convention.

        Returns
        -------
        float
            The mean (1 / N) Σ_m log p(x_m).

        Warns
        -----
        ApproximationWarning
            If the exact log-partition function needs too much memory. It is then estimated by annealed importance
            sampling, as shown by ``model_.log_partition_.method``. Its ``standard_error`` is the standard error of the
            score.

        Notes
        -----
        ``model_.pseudo_log_likelihood(X).mean()``, the objective of most Markov learners, does not need the
        log-partition function.
        """
        check_is_fitted(self, "edges_")
        self._check_n_features(X)
        if is_distributed(X):
            return sum_parts(self.model_, "log_likelihood", X) / X.n_rows
        return float(np.mean(self.model_.log_likelihood(X if self.missing == "error" else self._code_rows(X))))

    def _code_rows(self, X: Any) -> DiscreteTable:
        """Return rows without missing values: they become a state, or their rows are dropped."""
        table = encode(X, **self._list_coding())
        if isinstance(X, np.ndarray):  # its columns are the variables in order
            return DiscreteTable._from_parts(tuple(self._names), table.states, table.codes)
        return table
