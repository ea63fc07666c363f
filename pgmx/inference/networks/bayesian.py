"""A discrete network as arrays: what sampling, likelihoods and divergences read instead of pgmpy's objects."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from pgmpy.models import DiscreteBayesianNetwork


class NetworkArrays(NamedTuple):
    """A discrete Bayesian network by position.

    Parameters
    ----------
    names : list
        Names of the variables, in the order of the nodes.
    states : list of tuple
        States of each variable, in the order of its own table.
    parents : list of tuple of int
        Positions of the parents of each variable.
    tables : list of ndarray of float64
        ``tables[v][x, u1, u2, ...]`` is P(x | u1, u2, ...), parents in the order of ``parents[v]``, each variable's
        states in the order of ``states``.
    """

    names: list
    states: list
    parents: list
    tables: list

    @property
    def cards(self) -> list[int]:
        """Number of states of each variable."""
        return [len(states) for states in self.states]

    @property
    def edges(self) -> list[tuple[int, int]]:
        """Edges (tail, head) by position, sorted."""
        return sorted((u, v) for v, above in enumerate(self.parents) for u in above)

    def normalised(self) -> NetworkArrays:
        """Return the network with every distribution scaled to the sum 1: files hold rounded decimals."""
        return self._replace(tables=[table / table.sum(axis=0) for table in self.tables])


def network_arrays(model: DiscreteBayesianNetwork) -> NetworkArrays:
    """Read the arrays of a discrete Bayesian network, which is not changed.

    Parameters
    ----------
    model : pgmpy.models.DiscreteBayesianNetwork
        A network with a conditional probability table for every node.

    Returns
    -------
    NetworkArrays
        Tables as the network has them, without scaling.

    Raises
    ------
    ValueError
        If a node has no table, or one for other parents or for other states of a parent than that parent's own.

    Examples
    --------
    >>> from pgmx.datasets import load_network
    >>> from pgmx.inference.networks.bayesian import network_arrays
    >>> arrays = network_arrays(load_network("cancer"))
    >>> arrays.names[2], arrays.parents[2], arrays.tables[2].shape
    ('Cancer', (0, 1), (2, 2, 2))
    """
    cpds = {node: model.get_cpds(node) for node in model.nodes()}
    for node, cpd in cpds.items():
        if cpd is None:
            raise ValueError(f"node {node!r} has no conditional probability table: fit the model or add its CPD")
        if set(cpd.variables[1:]) != set(model.predecessors(node)):
            raise ValueError(f"the table of node {node!r} is given {cpd.variables[1:]}, which are not its parents")
    position = {node: at for at, node in enumerate(cpds)}
    states = {node: tuple(cpd.state_names[node]) for node, cpd in cpds.items()}
    tables = []
    for node, cpd in cpds.items():
        values = np.asarray(cpd.values, dtype=np.float64)
        for axis, parent in enumerate(cpd.variables[1:], start=1):
            # A table may list the states of a parent in another order than the parent's own table does.
            own = {state: at for at, state in enumerate(cpd.state_names[parent])}
            if own.keys() != set(states[parent]):
                raise ValueError(
                    f"the table of node {node!r} knows {parent!r} with the states {list(own)}, the table of "
                    f"{parent!r} has {list(states[parent])}: give both the same"
                )
            values = np.take(values, [own[state] for state in states[parent]], axis=axis)
        tables.append(values)
    parents = [tuple(position[name] for name in cpd.variables[1:]) for cpd in cpds.values()]
    return NetworkArrays(list(cpds), list(states.values()), parents, tables)


def parents_first(arrays: NetworkArrays) -> list[int]:
    """Return the positions in an order in which parents stand before their children, or raise for a cycle."""
    from graphlib import CycleError, TopologicalSorter

    try:
        return list(TopologicalSorter(dict(enumerate(arrays.parents))).static_order())
    except CycleError:
        raise ValueError("the graph of the model has a directed cycle, so there is no order to sample in") from None
