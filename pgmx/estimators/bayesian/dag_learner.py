"""The base of the learners of directed acyclic graphs: what is known of the edges, and the equivalence class."""

from collections.abc import Collection, Sequence
from typing import Any

import numpy as np
from pgmpy.base import DAG, PDAG

from pgmx.estimators.bayesian.results import NetworkResults
from pgmx.models import cpdag, to_pdag
from pgmx.scores.binding.scoring import Scoring
from pgmx.scores.binding.sending import StoredScoring
from pgmx.search.knowledge.constraints import EdgeConstraints, read_constraints

#: The options of what is known of the edges, for `_parameter_constraints`.
KNOWLEDGE_OPTIONS: dict[str, Any] = {
    "expert_knowledge": "no_validation",
    "required_edges": "no_validation",
    "forbidden_edges": "no_validation",
    "tiers": "no_validation",
    "root_nodes": "no_validation",
    "candidate_edges": "no_validation",
}


class DagLearner(NetworkResults):
    """Base of the learners of one directed acyclic graph.

    A subclass has the option `return_type` and those of `KNOWLEDGE_OPTIONS`, calls `_check_return_type` first and
    `_set_graph` last in its `_fit`.
    """

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
