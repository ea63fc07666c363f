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
    """Graph and network of a learner, made from its arrays when they are asked for.

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
        """The learned network, which answers queries."""
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
            Rows with the columns and states that were learned from; those of a distributed table are summed by its
            workers. What a missing cell means is the learner's option `missing`: an error, a row that is left out
            ("drop", with a warning), or a state ("category").
        y : None
            Ignored; scikit-learn's convention.

        Returns
        -------
        float
            (1 / N) Σ_m log p(x_m).

        Warns
        -----
        ApproximationWarning
            If the log-partition takes too much memory to be exact. It is then an estimate by annealed importance
            sampling: ``model_.log_partition_.method`` says so, and its ``standard_error`` is that of the score.

        Notes
        -----
        ``model_.pseudo_log_likelihood(X).mean()``, the objective of most Markov learners, needs no log-partition.
        """
        check_is_fitted(self, "edges_")
        self._check_n_features(X)
        if is_distributed(X):
            return sum_parts(self.model_, "log_likelihood", X) / X.n_rows
        return float(np.mean(self.model_.log_likelihood(X if self.missing == "error" else self._code_rows(X))))

    def _code_rows(self, X: Any) -> DiscreteTable:
        """Return rows without missing cells: these make a state, or their rows are left out."""
        table = encode(X, **self._list_coding())
        if isinstance(X, np.ndarray):  # its columns are the variables in order
            return DiscreteTable._from_parts(tuple(self._names), table.states, table.codes)
        return table
