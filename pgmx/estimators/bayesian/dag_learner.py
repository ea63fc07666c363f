"""What all learners of directed acyclic graphs hand back."""

from typing import Any, NamedTuple

import networkx as nx
import numpy as np
from sklearn.utils.validation import check_is_fitted

from pgmx.checks import check_same_names
from pgmx.data import DiscreteTable, Frame, open_frame
from pgmx.estimators.base import BaseStructureLearner, get_metrics
from pgmx.estimators.results import LazyResults
from pgmx.models import cpdag, to_dag, to_pdag
from pgmx.scores.binding.resolve import resolve_scoring
from pgmx.scores.binding.scoring import Scoring
from pgmx.scores.binding.sending import StoredScoring
from pgmx.search.knowledge.constraints import EdgeConstraints, read_constraints

#: What every learner of a directed graph can be told about its edges, for `_parameter_constraints`.
KNOWLEDGE_OPTIONS: dict[str, Any] = {
    "expert_knowledge": "no_validation",
    "required_edges": "no_validation",
    "forbidden_edges": "no_validation",
    "tiers": "no_validation",
    "root_nodes": "no_validation",
    "candidate_edges": "no_validation",
}


class Problem(NamedTuple):
    """A score bound to data, the names of its variables, and what is known of the edges."""

    scoring: Scoring
    names: list
    constraints: EdgeConstraints


class DagLearner(LazyResults, BaseStructureLearner):
    """Base of the learners whose result is a directed acyclic graph.

    A subclass has the option `return_type` and those of `KNOWLEDGE_OPTIONS`, calls ``_check_return_type`` first and
    ``_set_graph`` last in its ``_fit``; graphs and networks are then made from the arrays when they are asked for.
    """

    _scoring: StoredScoring

    def _problem(self, opened: Frame | DiscreteTable, sample_weight) -> Problem:
        """Bind the score to the data and translate what is known; contradictions are found here."""
        self._check_return_type()
        scoring = resolve_scoring(
            self.scoring_method,
            opened,
            state_names=self.state_names,
            missing=self.missing,
            n_jobs=self.n_jobs,
            sample_weight=sample_weight,
            structure_prior=self.structure_prior,
        )
        return Problem(scoring, scoring.names, self._constraints(scoring.names))

    def _constraints(self, names: list) -> EdgeConstraints:
        return read_constraints(names, **{option: getattr(self, option) for option in KNOWLEDGE_OPTIONS})

    def _check_return_type(self) -> None:
        if self.return_type.lower() not in ("dag", "pdag"):
            raise ValueError(f"the option 'return_type' must be 'dag' or 'pdag', got {self.return_type!r}")

    def _set_graph(self, scoring: Scoring, constraints: EdgeConstraints, edges: np.ndarray) -> None:
        self.edges_ = edges
        self._scoring = StoredScoring(scoring)
        self._names = scoring.names
        self._directed = constraints.forces_direction([(tail, head) for tail, head in edges.tolist()])
        self._wants_dag = self.return_type.lower() == "dag"
        self._results = {}

    @property
    def dag_(self):
        """The DAG found."""
        return self._make_once("dag", lambda: to_dag(self._names, self.edges_.tolist()))

    @property
    def graph_(self):
        """The learned graph, a PDAG or a DAG as `return_type` says."""
        self._require_fit()
        return self.dag_ if self._wants_dag else self._make_once("pdag", self._make_pdag)

    @property
    def causal_graph_(self):
        """The learned graph under pgmpy's name."""
        return self.graph_

    @property
    def model_(self):
        """The network of `dag_` with its parameters."""
        return self._make_once("model", self._make_model)

    def _make_model(self):
        try:
            scoring = self._scoring.get()
        except FileNotFoundError as error:
            raise FileNotFoundError(
                f"model_ is made from the coded table, whose file is gone ({error}); ask for model_ before the "
                "learner is pickled, or learn from a file of pgmx.data.write_table and keep it"
            ) from error
        return scoring.model(self.edges_.tolist())

    @property
    def adjacency_matrix_(self):
        """Adjacency matrix of the learned graph, rows are tails; built on each access."""
        return nx.to_pandas_adjacency(self.graph_, weight=1, dtype="int")

    def _class_edges(self) -> tuple[list, list]:
        """Return the directed and the undirected edges of the equivalence class, as ids."""
        edges = [(tail, head) for tail, head in self.edges_.tolist()]
        return cpdag(len(self._names), edges, compelled=self._directed)

    def _make_pdag(self):
        return to_pdag(self._names, *self._class_edges())

    def score(self, X=None, y=None, true_graph=None, metric=None):
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
        if metric is None:
            kind = {"requires_data": True} if X is not None else {"requires_true_graph": True}
            metric = get_metrics(is_default=True, **kind)[0]()
        elif isinstance(metric, str):
            found = get_metrics(name=metric)
            if not found:
                raise ValueError(f"metric={metric!r} is not known; pgmpy.metrics.get_metrics() lists the metrics")
            metric = found[0]()
        graph = self.graph_ if isinstance(self.graph_, metric.get_tag("supported_graph_types")) else self.dag_
        if X is not None:
            return metric.evaluate(self._frame_for_metric(X), graph)
        return metric.evaluate(true_causal_graph=true_graph, est_causal_graph=graph)

    def _frame_for_metric(self, X):
        opened = open_frame(X)
        if opened.n_columns != self.n_features_in_:
            raise ValueError(
                f"X has {opened.n_columns} features, but {type(self).__name__} is expecting {self.n_features_in_} "
                "features as input"
            )
        check_same_names(opened.names, self.variables_, "X", "the learned graph")
        frame = opened.to_pandas()  # a copy, checked for missing and infinite cells
        return X if isinstance(X, type(frame)) else frame
