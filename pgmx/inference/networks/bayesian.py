"""A discrete Bayesian network as arrays, read from pgmpy's objects for sampling, scores, likelihoods, divergences."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from graphlib import CycleError, TopologicalSorter
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from pgmx.checks import FittedLearner, take_model
from pgmx.inference.networks.factors import LogFactors, NamedTables

if TYPE_CHECKING:
    from pgmpy.models import DiscreteBayesianNetwork


class BayesianArrays(NamedTuple):
    """A discrete Bayesian network whose variables are numbered in the order of its nodes.

    ``tables[v][x, u1, u2, ...]`` is P(x | u1, u2, ...), parents in the order of ``parents[v]``, the states of each
    variable in the order of ``states``.
    """

    names: list[Hashable]
    states: list[tuple]
    parents: list[tuple[int, ...]]
    tables: list[np.ndarray]

    @classmethod
    def from_model(cls, model: DiscreteBayesianNetwork | FittedLearner, name: str = "model") -> BayesianArrays:
        """Read pgmpy's or a learner's network, without scaling its tables; messages use `name` for the argument.

        Raises a TypeError for another kind of model. Raises a ValueError if a node has no table, or if its table has
        other parents than the graph or other states of a parent than the parent's own table.
        """
        network: Any = take_model(model)
        cpds: list[Any] | None = list(network.cpds) if callable(getattr(network, "get_cpds", None)) else None
        if cpds is None or not all(hasattr(cpd, "get_values") for cpd in cpds):
            raise TypeError(f"{name} must be a fitted pgmpy DiscreteBayesianNetwork, got {type(network).__name__}")
        table_of = {cpd.variable: cpd for cpd in cpds}
        names = list(network.nodes())
        for node in names:
            if node not in table_of:
                raise ValueError(f"node {node!r} has no conditional probability table: fit the model or add its CPD")
            if set(table_of[node].variables[1:]) != set(network.predecessors(node)):
                raise ValueError(
                    f"the table of node {node!r} has the parents {table_of[node].variables[1:]}, the graph has others"
                )
        position = {node: v for v, node in enumerate(names)}
        states = [tuple(table_of[node].state_names[node]) for node in names]
        parents = [tuple(position[parent] for parent in table_of[node].variables[1:]) for node in names]
        tables = []
        for node, family in zip(names, parents, strict=True):
            values = np.asarray(table_of[node].values, dtype=np.float64)
            for axis, parent in enumerate(family, start=1):
                # A table may list the states of a parent in another order than the parent's own table does.
                place = {state: k for k, state in enumerate(table_of[node].state_names[names[parent]])}
                if place.keys() != set(states[parent]):
                    raise ValueError(
                        f"the table of node {node!r} gives {names[parent]!r} the states {list(place)}, the table "
                        f"of {names[parent]!r} has {list(states[parent])}: give both the same"
                    )
                values = values.take([place[state] for state in states[parent]], axis=axis)
            tables.append(values)
        return cls(names, states, parents, tables)

    @property
    def cards(self) -> list[int]:
        """Number of states of each variable."""
        return [len(states) for states in self.states]

    def normalise(self) -> BayesianArrays:
        """Return the network with every distribution scaled to the sum 1, since files hold rounded decimals."""
        return self._replace(tables=[table / table.sum(axis=0) for table in self.tables])

    def to_factors(self) -> LogFactors:
        """Return the tables as factors, each variable before its parents."""
        scopes = [(v, *family) for v, family in enumerate(self.parents)]
        return NamedTables(self.names, self.states, scopes, self.tables).to_factors()

    def align(self, names: Sequence[Hashable], states: Sequence[tuple]) -> BayesianArrays:
        """Return the network with its variables, and the states of each, in another order.

        States that are not in `states` are left out. States that the network does not have get probability 0.
        Distributions may then no longer sum to 1.
        """
        from pgmx.data.columns import match_states

        before = {name: v for v, name in enumerate(self.names)}
        after = {name: v for v, name in enumerate(names)}
        places = [
            match_states(wanted, self.states[before[name]], absent=-1)
            for name, wanted in zip(names, states, strict=True)
        ]
        parents, tables = [], []
        for v, name in enumerate(names):
            family = (v, *(after[self.names[u]] for u in self.parents[before[name]]))
            table = self.tables[before[name]]
            for axis, u in enumerate(family):
                table = table.take(np.maximum(places[u], 0), axis=axis)
            table[places[v] < 0] = 0.0
            parents.append(family[1:])
            tables.append(table)
        return BayesianArrays(list(names), [tuple(wanted) for wanted in states], parents, tables)

    def sort_parents_first(self) -> list[int]:
        """Return the variables in an order in which parents come before their children, or raise for a cycle."""
        try:
            return list(TopologicalSorter(dict(enumerate(self.parents))).static_order())
        except CycleError:
            raise ValueError("the graph of the model has a directed cycle, so there is no order to sample in") from None
