"""Results of learners of Gaussian graphical models."""

from abc import abstractmethod
from typing import TYPE_CHECKING, Any

import networkx as nx
import numpy as np
from sklearn.utils.validation import check_is_fitted

from pgmx.data import DistributedNumericTable, open_numeric
from pgmx.data.errors import check_rows_left
from pgmx.data.readers import is_path
from pgmx.estimators.base import BaseStructureLearner
from pgmx.estimators.gaussian.estimate import GaussianEstimate, get_units, make_network
from pgmx.models.distributed_rows import sum_parts
from pgmx.statistics import GaussianSample

if TYPE_CHECKING:
    from pgmx.models import GaussianMarkovNetwork


class GaussianResults(BaseStructureLearner):
    """Graph, network and matrices of a learner, computed from a sample and an estimate on first access.

    `_accept` sets `_sample`, `_estimate`, and an empty `_results`.

    Notes
    -----
    `model_` has the method's own precision if it is positive definite. Otherwise, and with `refit`, the precision is
    the maximum likelihood estimate given the graph. If the likelihood has no maximum, the correlations are shrunk
    towards zero. `dual_gap_` is computed from a feasible dual point (summed over columns that are solved separately),
    and is never below -1e-12 of the objective. ``"stalled"`` in `stopped_by_` means that the constraint cannot be
    satisfied, or that rounding errors prevent a better solution.
    """

    lam_: float
    lam_max_: float
    objective_: float
    dual_gap_: float
    converged_: bool
    stopped_by_: str
    n_iter_: int
    repaired_: float
    history_: dict[str, np.ndarray]

    _sample: GaussianSample
    _estimate: GaussianEstimate

    @abstractmethod
    def _should_refit(self) -> bool:
        """Return whether `model_` estimates the parameters of the graph by maximum likelihood."""

    @property
    def graph_(self) -> nx.Graph:
        """The learned graph; ``weight`` is the partial correlation."""
        return self._make_once("graph", self._make_graph)

    @property
    def model_(self) -> "GaussianMarkovNetwork":
        """The learned network, positive definite; `estimated_by` is the estimation method."""
        return self._make_once("model", lambda: make_network(self._sample, self._estimate, self._should_refit()))

    @property
    def precision_(self) -> np.ndarray:
        """Precision of shape (p, p) in the units of the data: the method's own or, if it has none, of `model_`."""
        return self._make_once("precision", self._make_precision)

    @property
    def covariance_(self) -> np.ndarray:
        """Covariance of shape (p, p) of `model_`, the inverse of its precision."""
        return self._make_once("covariance", lambda: self.model_.covariance.to_numpy(copy=True))

    @property
    def location_(self) -> np.ndarray:
        """Means of shape (p,)."""
        return self._make_once("location", lambda: np.array(get_units(self._sample)[0]))

    @property
    def correlation_(self) -> np.ndarray:
        """Correlations of shape (p, p) from which the graph was learned, after repair."""
        return self._make_once("correlation", lambda: np.array(self._sample.correlation))

    @property
    def edges_(self) -> np.ndarray:
        """Edges as positions in `variables_`, int64 of shape (n_edges, 2), i < j."""
        return self._make_once("edges", lambda: self._estimate.edges)

    def _make_graph(self) -> nx.Graph:
        graph = self.model_.to_networkx()
        names = self._sample.names
        for i, j in self._estimate.edges.tolist():
            if not graph.has_edge(names[i], names[j]):  # chosen by the method, but zero in the model
                graph.add_edge(names[i], names[j], weight=0.0, strength=0.0)
        return graph

    def _make_precision(self) -> np.ndarray:
        precision = self._estimate.precision
        if precision is None:
            return self.model_.precision.to_numpy(copy=True)
        return precision.toarray() / self._products_of_scales()

    def _products_of_scales(self) -> np.ndarray:
        _, scale = get_units(self._sample)
        return np.outer(scale, scale)

    def _accept(self, sample: GaussianSample, estimate: GaussianEstimate) -> None:
        """Set an estimate as the result."""
        self._sample, self._estimate, self._results = sample.without_rows(), estimate, {}
        self.lam_ = float(estimate.lam)
        self.objective_ = float(estimate.objective)
        self.dual_gap_ = float(estimate.dual_gap)
        self.converged_ = estimate.converged
        self.stopped_by_ = estimate.stopped_by
        self.n_iter_ = int(estimate.n_iter)
        self.repaired_ = float(sample.repaired)
        self._set_names(sample.names)

    def __sklearn_is_fitted__(self) -> bool:
        """Return whether there are results, for scikit-learn."""
        return hasattr(self, "_estimate")

    def score(self, X: Any, y: object = None) -> float:
        """Return the mean log-likelihood of rows under `model_`, in nats; higher is better.

        Parameters
        ----------
        X : DataFrame or array of shape (n_samples, n_features), or DistributedNumericTable
            Rows with the training columns. Rows of a distributed table are summed by its workers. The option `missing`
            of the learner decides about missing values: an error, or the row is left out ("drop", with a warning). With
            "pairwise" a row has the density of its observed values, and counts in the mean.
        y : None
            Ignored; scikit-learn's convention.

        Returns
        -------
        float
            (1 / n) Σ_m log p(x_m). For the nonparanormal p is the density of the normal scores.
        """
        check_is_fitted(self)
        self._check_n_features(X)
        network, missing = self.model_, self._choice_of_missing()
        if isinstance(X, DistributedNumericTable):
            return sum_parts(network, "log_likelihood", X) / X.n_rows
        if is_path(X):
            X = open_numeric(X, missing="pairwise", na_values=self.na_values)
        if missing == "error":
            return float(np.mean(network.log_likelihood(X)))
        rows = network.read_rows(X).values
        lacking = np.isnan(rows)
        if missing == "pairwise":
            return float(np.mean(network.log_evidence(rows)))
        if lacking.any():
            complete = ~lacking.any(axis=1)
            names = [self._sample.names[v] for v in np.flatnonzero(lacking.any(axis=0)).tolist()]
            check_rows_left(int(complete.sum()), len(rows), lambda: names)
            rows = rows[complete]
        return float(np.mean(network.log_likelihood(rows)))

    def _choice_of_missing(self) -> str:
        """Return the treatment of missing values."""
        return self.missing

    def state_counts(self, variable, parents=(), weighted=False, reindex=True):
        """Raise: continuous variables have no states.

        Parameters
        ----------
        variable, parents, weighted, reindex
            As in pgmpy.
        """
        raise TypeError(f"{type(self).__name__} learns from continuous variables, which have no states to count")
