"""Dynamic networks as networks of the first rows: as pgmpy's class for lag 1, and as Bayesian networks in files."""

import re
from collections.abc import Hashable
from typing import Any, NamedTuple

import networkx as nx
import numpy as np
import pgmpy.models
from pgmpy.factors.discrete import TabularCPD
from pgmpy.models.DynamicBayesianNetwork import DynamicNode

from pgmx.checks import join_names
from pgmx.inference.mixed.families import DiscreteFamily, MixedFamilies, normalise
from pgmx.models.files.dynamic import DynamicParts
from pgmx.models.files.mixed import MixedParts
from pgmx.models.time_series.dynamic.columns import Slices, name_column, read_network, take_variables

#: A variable and its slice, 0 or 1.
Node = tuple[Hashable, int]

_COLUMN = re.compile(r"(.*)@t-([0-9]+)", re.DOTALL)

# ---- the network of the first L + 1 rows ----


def read_first_rows(network: Any) -> DynamicParts:
    """Return a dynamic network from the network of its first L + 1 rows, whose columns are ``name@t-lag``.

    The greatest lag is L, and columns without a lag are static.
    """
    parts = read_network(network, "network")
    matches = {name: _COLUMN.fullmatch(name) for name in parts.names if isinstance(name, str)}
    found = {name: (match[1], int(match[2])) for name, match in matches.items() if match is not None}
    lags = max((lag for _, lag in found.values()), default=0)
    if not lags:
        raise ValueError(
            "it has no column of an earlier row, such as 'x@t-1': it is not the network of successive rows"
        )
    names = tuple(dict.fromkeys(name for name, lag in found.values() if lag == 0))
    static = tuple(name for name in parts.names if name not in found)
    lag_of: dict[Hashable, int] = {name: lag for name, (_, lag) in found.items()}
    past = [k for k, name in enumerate(parts.names) if lag_of.get(name, 1) > 0]
    later = [parts.names[k] for k in past if any(p not in past for p in parts.families.parents[k])]
    if later:
        raise ValueError(f"its column(s) {join_names(later)} depend on a later row")
    return DynamicParts(names, lags, static, parts, take_variables(parts, past))


# ---- pgmpy's class ----


class TwoSlices(NamedTuple):
    """The families of a discrete network of one lag over the nodes (name, 0) of the first row and (name, 1).

    Tables have axes (node, parents); a static column is a variable that keeps its value.
    """

    names: tuple[Hashable, ...]
    parents: dict[Node, list[Node]]
    tables: dict[Node, np.ndarray]
    states: dict[Node, list]
    #: Edges (source, target) inside a slice, in the first or in the second one.
    within: list[tuple[Hashable, Hashable]]


def is_two_slice(slices: Slices) -> bool:
    """Return whether a network is discrete and has one lag."""
    return slices.columns.lags == 1 and all(slices.families.cards)


def lay_out(slices: Slices) -> TwoSlices:
    """Return the families over the nodes of pgmpy's class; raise if it cannot have them."""
    columns, families = slices.columns, slices.families
    if columns.lags > 1:
        raise ValueError(
            f"pgmpy 1.1 has dynamic Bayesian networks of lag 1 only, and this one has {columns.lags} lags: "
            "to_bayesian_network() gives the network of its first rows"
        )
    if not all(families.cards):
        numbers = [columns.labels[v] for v, card in enumerate(families.cards) if not card]
        raise ValueError(
            f"pgmpy's dynamic Bayesian networks are discrete, and {join_names(numbers)} are continuous: "
            "to_bayesian_network() gives the network of the first rows"
        )
    nodes: list[Node] = []
    for position in range(len(columns.labels)):
        v, lag = columns.split(position)
        nodes.append((columns.static[v], 0) if lag < 0 else (columns.names[v], 1 - lag))
    parents = {nodes[v]: [nodes[p] for p in families.parents[v]] for v in range(len(nodes))}
    tables = {node: families.families[v].table for v, node in enumerate(nodes)}  # type: ignore[union-attr]
    states = {node: list(slices.states[v] or ()) for v, node in enumerate(nodes)}
    for v, name in enumerate(columns.static):
        parents[name, 1], tables[name, 1], states[name, 1] = [(name, 0)], np.eye(families.cards[v]), states[name, 0]
    # a parent of the present that is static is the variable of the same slice
    for (name, slice_), own in parents.items():
        if slice_ == 1 and name not in columns.static:
            parents[name, 1] = [(p, 1) if p in columns.static else (p, s) for p, s in own]
    within = {(p, name) for (name, slice_), own in parents.items() for p, s in own if s == slice_}
    order = nx.DiGraph(sorted(within, key=repr))
    if not nx.is_directed_acyclic_graph(order):
        path = " -> ".join(repr(u) for u, _ in nx.find_cycle(order))
        raise ValueError(
            f"pgmpy's two slices have the same edges inside a slice, and the edges of the prior and of the transition "
            f"network together form the cycle {path}: use pgmx.models.DynamicBayesianNetwork, or another prior"
        )
    return TwoSlices((*columns.static, *columns.names), parents, tables, states, sorted(within, key=repr))


def fill_graph(graph: nx.DiGraph, slices: TwoSlices) -> None:
    """Add the nodes and edges of both slices to an empty graph of pgmpy's class."""
    # methods of networkx: pgmpy's add the second slice with an edge only, and search a path for each edge
    second: Any = slices.names  # pgmpy annotates names as text
    nx.DiGraph.add_nodes_from(graph, (DynamicNode(name, s) for name in second for s in (0, 1)))
    edges: list[Any] = [((u, s), (v, s)) for u, v in slices.within for s in (0, 1)]
    edges += [(p, node) for node, own in slices.parents.items() for p in own if p[1] < node[1]]
    nx.DiGraph.add_edges_from(graph, ((DynamicNode(*u), DynamicNode(*v), {"weight": None}) for u, v in edges))


def make_tables(slices: TwoSlices) -> dict[Node, TabularCPD]:
    """Return the CPDs of all nodes: given the parents of the node in its graph, which it has in either slice."""
    cpds = {}
    states = slices.states
    for (name, slice_), own in slices.parents.items():
        extra = [(u, slice_) for u, v in slices.within if v == name and (u, slice_) not in own]
        table = slices.tables[name, slice_]
        shape = (*table.shape, *(len(states[p]) for p in extra))
        values = np.broadcast_to(table.reshape(*table.shape, *[1] * len(extra)), shape).reshape(len(table), -1)
        evidence = [*own, *extra]
        known = {node: states[node] for node in [(name, slice_), *evidence]}
        cards = [len(states[p]) for p in evidence]
        cpds[name, slice_] = TabularCPD((name, slice_), len(table), values, evidence, cards, state_names=known)
    return cpds


def make_pgmpy(slices: Slices) -> pgmpy.models.DynamicBayesianNetwork:
    """Return a discrete network of one lag as pgmpy's dynamic Bayesian network; raise for others."""
    layout = lay_out(slices)
    network = pgmpy.models.DynamicBayesianNetwork()
    fill_graph(network, layout)
    network.add_cpds(*make_tables(layout).values())
    return network


def read_pgmpy(network: pgmpy.models.DynamicBayesianNetwork) -> DynamicParts:
    """Return the fields of pgmpy's dynamic Bayesian network; raise if a node has no CPD."""
    names = list(dict.fromkeys(name for name, _ in network.nodes()))
    cpds = {tuple(cpd.variable): cpd for cpd in network.cpds}
    labels = {(name, slice_): name_column(name, 1 - slice_) for name in names for slice_ in (0, 1)}
    columns = [(name, slice_) for slice_ in (0, 1) for name in names]
    place = {node: k for k, node in enumerate(columns)}
    families, states = [], []
    for name, slice_ in columns:
        cpd, shift = cpds.get((name, slice_)), 0
        if cpd is None and (name, 1 - slice_) in cpds:
            # pgmpy's convention: the slices of a node without parents in another slice have one CPD
            cpd, shift = cpds[name, 1 - slice_], 2 * slice_ - 1
        parents = [] if cpd is None else [(p, s + shift) for p, s in cpd.variables[1:]]
        if cpd is None or not all(node in place for node in parents):
            raise ValueError(f"the node {(name, slice_)!r} has no CPD: add one")
        table = np.asarray(cpd.values, dtype=np.float64)
        families.append(DiscreteFamily(tuple(place[node] for node in parents), normalise(table)))
        states.append(tuple(cpd.state_names[cpd.variables[0]]))
    n = len(names)
    cards = tuple(map(len, states))
    parts = MixedParts([labels[node] for node in columns], states, MixedFamilies(cards, tuple(families)))
    for k, family in enumerate(families):
        if tuple(cards[p] for p in family.discrete_parents) != family.table.shape[1:]:
            raise ValueError(f"the CPD of {columns[k]!r} does not match the states of its parents")
    return DynamicParts(
        tuple(names), 1, (), parts, take_variables(parts, range(n)), None, None, str(network.name or "")
    )
