"""What learners of Gaussian graphical models hand back."""

import networkx as nx
import numpy as np
from sklearn.utils.validation import check_is_fitted

from pgmx.estimators.base import BaseStructureLearner
from pgmx.estimators.gaussian.estimate import GaussianEstimate, network_of, units_of
from pgmx.estimators.results import LazyResults
from pgmx.models import GaussianMarkovNetwork
from pgmx.statistics import GaussianSample


class GaussianResults(LazyResults, BaseStructureLearner):
    """Graph, network and matrices of a learner, made from a sample and an estimate when they are asked for.

    `_accept` sets `_sample`, `_found`, and an empty `_results`.
    """

    _sample: GaussianSample
    _found: GaussianEstimate

    def _refits(self) -> bool:
        """Tell whether `model_` estimates the parameters of the graph anew."""
        raise TypeError(f"{type(self).__name__} does not implement _refits")

    @property
    def graph_(self) -> nx.Graph:
        """The learned graph, ``weight`` the partial correlation."""
        return self._make_once("graph", self._make_graph)

    @property
    def model_(self) -> GaussianMarkovNetwork:
        """The learned network, positive definite; its `estimated_by` tells how."""
        return self._make_once("model", lambda: network_of(self._sample, self._found, self._refits()))

    @property
    def precision_(self) -> np.ndarray:
        """Precision of shape (p, p) in the units of the data: the method's own, else that of `model_`."""
        return self._make_once("precision", self._make_precision)

    @property
    def covariance_(self) -> np.ndarray:
        """Covariance of shape (p, p) of `model_`, the inverse of its precision."""
        return self._make_once("covariance", lambda: self.model_.covariance.to_numpy(copy=True))

    @property
    def location_(self) -> np.ndarray:
        """Means of shape (p,)."""
        return self._make_once("location", lambda: np.array(units_of(self._sample)[0]))

    @property
    def correlation_(self) -> np.ndarray:
        """Correlations of shape (p, p) that were learned from, after repair."""
        return self._make_once("correlation", lambda: np.array(self._sample.correlation))

    @property
    def edges_(self) -> np.ndarray:
        """Edges as positions in `variables_`, int64 of shape (n_edges, 2), i < j."""
        return self._make_once("edges", lambda: self._found.edges)

    @property
    def adjacency_matrix_(self):
        """Adjacency matrix of the graph, built on each access."""
        return nx.to_pandas_adjacency(self.graph_, weight=None, dtype="int")

    def _make_graph(self) -> nx.Graph:
        graph = self.model_.to_networkx()
        names = self._sample.names
        for i, j in self._found.edges.tolist():
            if not graph.has_edge(names[i], names[j]):  # chosen by the method, but zero in the model
                graph.add_edge(names[i], names[j], weight=0.0, strength=0.0)
        return graph

    def _make_precision(self) -> np.ndarray:
        own = self._found.precision
        if own is None:
            return self.model_.precision.to_numpy(copy=True)
        return own.toarray() / self._products_of_scales()

    def _products_of_scales(self) -> np.ndarray:
        _, scale = units_of(self._sample)
        return np.outer(scale, scale)

    def _accept(self, sample: GaussianSample, found: GaussianEstimate) -> None:
        """Take an estimate as what was learned."""
        self._sample, self._found, self._results = sample.without_rows(), found, {}
        self.lam_ = float(found.lam)
        self.objective_ = float(found.objective)
        self.dual_gap_ = float(found.dual_gap)
        self.converged_ = bool(found.converged)
        self.n_iter_ = int(found.n_iter)
        self.repaired_ = float(sample.repaired)
        self._set_names(sample.names)

    def __sklearn_is_fitted__(self) -> bool:
        """Tell scikit-learn whether there are results."""
        return hasattr(self, "_found")

    def score(self, X, y=None):
        """Return the mean log-likelihood of rows under `model_`, in nats; higher is better.

        Parameters
        ----------
        X : DataFrame or array of shape (n_samples, n_features)
            Rows with the columns that were learned from.
        y : None
            Ignored; scikit-learn's convention.

        Returns
        -------
        float
            (1 / n) Σ_m log p(x_m); for the nonparanormal the density of the normal scores.
        """
        check_is_fitted(self)
        self._check_n_features(X)
        return float(np.mean(self.model_.log_likelihood(X)))

    def state_counts(self, variable, parents=(), weighted=False, reindex=True):
        """Raise: continuous variables have no states.

        Parameters
        ----------
        variable, parents, weighted, reindex
            As in pgmpy.
        """
        raise TypeError(f"{type(self).__name__} learns from continuous variables, which have no states to count")
