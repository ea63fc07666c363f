"""The bases of the learners of directed acyclic graphs: their results, and what is known of the edges."""

from collections.abc import Collection, Sequence
from numbers import Integral
from typing import TYPE_CHECKING, Any

import networkx as nx
import numpy as np
from pgmpy.base import DAG, PDAG
from pgmpy.models import DiscreteBayesianNetwork, LinearGaussianBayesianNetwork
from sklearn.utils.validation import check_is_fitted

from pgmx.checks import check_same_names
from pgmx.data import open_frame
from pgmx.estimators.base import BaseStructureLearner, StrOptions, get_metrics
from pgmx.models import cpdag, to_dag, to_pdag
from pgmx.scores.binding.scoring import Scoring, StoredScoring
from pgmx.search.knowledge.constraints import EdgeConstraints, read_constraints

if TYPE_CHECKING:
    pass


#: The options of what is known of the edges; `read_constraints` checks them.
KNOWLEDGE_OPTIONS = ("expert_knowledge", "required_edges", "forbidden_edges", "tiers", "root_nodes", "candidate_edges")


class NetworkResults(BaseStructureLearner):
    """Base of the learners of directed acyclic graphs: the graph that they learn, and a network.

    `_fit` sets `edges_`, `_names`, an empty `_results`, and `_scoring`, the score bound to data that makes `model_`.
    """

    edges_: np.ndarray
    _names: list
    _scoring: StoredScoring

    @property
    def dag_(self) -> DAG:
        """The learned graph with all edges directed."""
        return self._make_once("dag", lambda: to_dag(self._names, self.edges_.tolist()))

    @property
    def causal_graph_(self) -> nx.Graph:
        """The learned graph under pgmpy's name."""
        return self.graph_

    @property
    def model_(self) -> DiscreteBayesianNetwork | LinearGaussianBayesianNetwork:
        """The network of `dag_` with its parameters."""
        return self._make_once("model", self._make_model)

    def _make_model(self) -> DiscreteBayesianNetwork | LinearGaussianBayesianNetwork:
        try:
            scoring = self._scoring.get()
        except FileNotFoundError as error:
            raise FileNotFoundError(
                f"model_ is made from the coded table, whose file is gone ({error}); ask for model_ before the "
                "learner is pickled, or learn from a file of pgmx.data.write_table and keep it"
            ) from error
        return scoring.model(self.edges_.tolist())

    def score(self, X: Any = None, y: object = None, true_graph: DAG | None = None, metric: Any = None) -> float:
        """Measure the learned graph against data or against a true graph, as pgmpy's learners do.

        Parameters
        ----------
        X : DataFrame or array, optional
            Data for a metric that needs data.
        y : None
            Ignored; scikit-learn's convention.
        true_graph : DAG, optional
            Graph for a metric that compares graphs.
        metric : str or metric, optional
            A name or an instance from ``pgmpy.metrics``; pgmpy's default for what was given.

        Returns
        -------
        float
            Or what else the metric gives. A metric that takes no PDAG is given `dag_`.

        Raises
        ------
        ValueError
            If neither `X` nor `true_graph` is given, the metric is not known, or `X` has other columns.
        """
        check_is_fitted(self, "edges_")
        if isinstance(y, nx.Graph):
            raise TypeError("the second argument of score is scikit-learn's y: give the graph as true_graph=...")
        if X is None and true_graph is None:
            raise ValueError("score needs data or a true graph: give X=... or true_graph=...")
        chosen = _choose_metric(metric, X is not None)
        graph = self.graph_ if isinstance(self.graph_, chosen.get_tag("supported_graph_types")) else self.dag_
        if X is not None:
            return chosen.evaluate(self._frame_for_metric(X), graph)
        return chosen.evaluate(true_causal_graph=true_graph, est_causal_graph=graph)

    def _frame_for_metric(self, X: Any) -> Any:
        opened = open_frame(X)
        if opened.n_columns != self.n_features_in_:
            raise ValueError(
                f"X has {opened.n_columns} features, but {type(self).__name__} is expecting {self.n_features_in_} "
                "features as input"
            )
        check_same_names(opened.names, self.variables_, "X", "the learned graph")
        frame = opened.to_pandas()  # a copy, checked for missing and infinite cells
        return X if isinstance(X, type(frame)) else frame


class DagLearner(NetworkResults):
    """Base of the learners of one directed acyclic graph.

    A subclass has the options that are declared here, calls `_check_return_type` first and `_set_graph` last in its
    `_fit`.
    """

    _parameter_constraints: dict[str, Any] = {
        **dict.fromkeys(KNOWLEDGE_OPTIONS, "no_validation"),
        "return_type": [str],  # any case, judged by _check_return_type
        "state_names": [dict, None],
        "missing": [StrOptions({"error", "drop", "category", "pairwise"})],
        "n_jobs": [Integral, None],
        "random_state": ["random_state", np.random.Generator],
    }

    return_type: str

    def _check_return_type(self) -> None:
        if self.return_type.lower() not in ("dag", "pdag"):
            raise ValueError(f"the option 'return_type' must be 'dag' or 'pdag', got {self.return_type!r}")

    def _read_constraints(self, names: Sequence) -> EdgeConstraints:
        return read_constraints(names, **{option: getattr(self, option) for option in KNOWLEDGE_OPTIONS})

    def _set_graph(self, scoring: Scoring, constraints: EdgeConstraints, edges: np.ndarray) -> None:
        self.edges_ = edges
        self._scoring = StoredScoring(scoring)
        self._names = scoring.names
        self._compelled = constraints.forces_direction([(tail, head) for tail, head in edges.tolist()])
        self._kind = self.return_type.lower()
        self._results = {}

    @property
    def graph_(self) -> DAG | PDAG:
        """The learned graph, a PDAG or a DAG as `return_type` says."""
        self._require_fit()
        if self._kind == "dag":
            return self.dag_
        return self._make_once("pdag", lambda: to_pdag(self._names, *self._class_edges()))

    def _class_edges(self) -> tuple[Collection, Collection]:
        """Return the directed and the undirected edges of the equivalence class, as ids."""
        edges = [(tail, head) for tail, head in self.edges_.tolist()]
        return cpdag(len(self._names), edges, compelled=self._compelled)


def _choose_metric(metric: Any, has_data: bool) -> Any:
    """Return pgmpy's metric of that name, its default for data or for a true graph, or the metric itself."""
    if metric is not None and not isinstance(metric, str):
        return metric
    default = {"is_default": True, "requires_data" if has_data else "requires_true_graph": True}
    metrics: Any = get_metrics(**default) if metric is None else get_metrics(name=metric)
    if not metrics:
        raise ValueError(f"metric={metric!r} is not known; pgmpy.metrics.get_metrics() lists the metrics")
    return metrics[0]()
