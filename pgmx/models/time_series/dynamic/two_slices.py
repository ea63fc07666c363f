"""Dynamic networks as networks of the first rows: as pgmpy's class for lag 1, and as Bayesian networks in files."""

import re
from collections.abc import Hashable
from typing import Any

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


def make_pgmpy(slices: Slices) -> pgmpy.models.DynamicBayesianNetwork:
    """Return a discrete network of one lag as pgmpy's dynamic Bayesian network; raise for others."""
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
    nodes: list[tuple[Hashable, int]] = []
    for position in range(len(columns.labels)):
        v, lag = columns.split(position)
        nodes.append((columns.static[v], 0) if lag < 0 else (columns.names[v], 1 - lag))
    scopes = {nodes[v]: [nodes[p] for p in families.parents[v]] for v in range(len(nodes))}
    tables = {node: families.families[v].table for v, node in enumerate(nodes)}  # type: ignore[union-attr]
    states = {node: list(slices.states[v] or ()) for v, node in enumerate(nodes)}
    for v, name in enumerate(columns.static):
        # a variable that keeps its value
        scopes[name, 1], tables[name, 1], states[name, 1] = [(name, 0)], np.eye(families.cards[v]), states[name, 0]
    # a parent of the present that is static is the variable of the same slice
    for (name, slice_), parents in scopes.items():
        if slice_ == 1 and name not in columns.static:
            scopes[name, 1] = [(p, 1) if p in columns.static else (p, s) for p, s in parents]
    within = {(p, name) for (name, slice_), parents in scopes.items() for p, s in parents if s == slice_}
    order = nx.DiGraph(sorted(within, key=repr))
    if not nx.is_directed_acyclic_graph(order):
        path = " -> ".join(repr(u) for u, _ in nx.find_cycle(order))
        raise ValueError(
            f"pgmpy's two slices have the same edges inside a slice, and the edges of the prior and of the transition "
            f"network together form the cycle {path}: learn the network without a prior"
        )
    network = pgmpy.models.DynamicBayesianNetwork()
    for name in (*columns.static, *columns.names):
        network.add_node(name)
        # pgmpy adds the second one with an edge only
        second: Any = name  # pgmpy annotates names as text
        nx.DiGraph.add_node(network, DynamicNode(second, 1))
    network.add_edges_from(sorted((((u, 0), (v, 0)) for u, v in within), key=repr))
    network.add_edges_from(((p, 0), (name, 1)) for (name, s), parents in scopes.items() for p, t in parents if t < s)
    for (name, slice_), parents in scopes.items():
        extra = [(u, slice_) for u, v in sorted(within, key=repr) if v == name and (u, slice_) not in parents]
        evidence = [*parents, *extra]
        cards = [len(states[p]) for p in evidence]
        shape = (*tables[name, slice_].shape, *(len(states[p]) for p in extra))
        table = np.broadcast_to(tables[name, slice_].reshape(*tables[name, slice_].shape, *[1] * len(extra)), shape)
        names = {node: states[node] for node in [(name, slice_), *evidence]}
        values = table.reshape(len(states[name, slice_]), -1)
        network.add_cpds(TabularCPD((name, slice_), len(values), values, evidence, cards, state_names=names))
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
