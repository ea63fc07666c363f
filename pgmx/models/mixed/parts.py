"""Conversions between distributions and the fields of a conditional linear Gaussian network."""

from collections.abc import Hashable, Iterable, Mapping
from typing import Any, cast

import networkx as nx
import numpy as np
from pgmpy.factors.continuous import LinearGaussianCPD
from pgmpy.factors.discrete import TabularCPD
from pgmpy.models import LinearGaussianBayesianNetwork

from pgmx.checks import join_names, read_only
from pgmx.data.columns import python_scalar
from pgmx.data.mixed import MixedTable
from pgmx.inference.mixed.families import DiscreteFamily, GaussianFamily, MixedFamilies, normalise
from pgmx.models.files.formats import check_probabilities
from pgmx.models.files.mixed import MixedParts
from pgmx.models.mixed.fitting import check_arcs
from pgmx.models.mixed.parameters import ConditionalGaussianCPD
from pgmx.models.names import check_names


def make_parts(mixed: MixedTable, families: MixedFamilies, name: str = "") -> MixedParts:
    """Return the fields of a network over the columns of a table."""
    of_states = iter(() if mixed.table is None else mixed.table.states)
    states = [None if is_float else tuple(next(of_states)) for is_float in mixed.is_float.tolist()]
    return MixedParts(tuple(map(python_scalar, mixed.columns)), states, families, name)


def read_cpds(cpds: Iterable[Any]) -> MixedParts:
    """Return the fields of a network from one distribution per variable; raise if they contradict each other."""
    cpds = list(cpds)
    for cpd in cpds:
        if not isinstance(cpd, TabularCPD | ConditionalGaussianCPD | LinearGaussianCPD):
            raise TypeError(
                f"cpds must be TabularCPD, ConditionalGaussianCPD or LinearGaussianCPD, got {type(cpd).__name__}"
            )
    names = check_names([cpd.variable for cpd in cpds])
    place = {name: v for v, name in enumerate(names)}
    states = tuple(
        tuple(map(python_scalar, cpd.state_names[cpd.variable])) if isinstance(cpd, TabularCPD) else None
        for cpd in cpds
    )
    cards = tuple(0 if own is None else len(own) for own in states)
    network = MixedFamilies(cards, tuple(_read_cpd(cpd, place, states) for cpd in cpds))
    edges = [(p, v) for v, parents in enumerate(network.parents) for p in parents]
    check_arcs(names, np.array([own is None for own in states]), edges)
    return MixedParts(names, states, network)


def make_cpd(parts: MixedParts, v: int) -> TabularCPD | ConditionalGaussianCPD:
    """Return the distribution of a variable given its parents."""
    names, states, network, _ = parts
    family = network.families[v]
    discrete = [names[p] for p in family.states]
    labels: dict = {names[p]: states[p] for p in family.states}
    if isinstance(family, GaussianFamily):
        floats = [names[p] for p in family.floats]
        return ConditionalGaussianCPD(names[v], family.coefficients, family.std, discrete, floats, labels)
    card, cards = network.cards[v], [network.cards[p] for p in family.states]
    state_names = {name: list(own) for name, own in {names[v]: states[v], **labels}.items()}
    return TabularCPD(names[v], card, family.table.reshape(card, -1), discrete, cards, state_names=state_names)


def make_linear_gaussian(
    parts: MixedParts, configuration: Mapping[Hashable, Hashable]
) -> LinearGaussianBayesianNetwork:
    """Return the network of the continuous variables in a configuration of the discrete variables."""
    names, states, network, _ = parts
    codes = _read_configuration(parts, configuration)
    floats = [v for v, own in enumerate(states) if own is None]
    if not floats:
        raise ValueError("the network has no continuous variables")
    lacking = sorted({p for v in floats for p in network.families[v].states} - set(codes))
    if lacking:
        raise ValueError(f"the configuration lacks a state of {join_names(names[p] for p in lacking)}")
    model = LinearGaussianBayesianNetwork()
    model.add_nodes_from(names[v] for v in floats)
    for v in floats:
        family = cast("GaussianFamily", network.families[v])
        at = tuple(codes[p] for p in family.states)
        evidence = [names[p] for p in family.floats]
        # The method of networkx: pgmpy's method adds edges one by one.
        nx.DiGraph.add_edges_from(model, ((p, names[v], {"weight": None}) for p in evidence))
        model.add_cpds(LinearGaussianCPD(names[v], family.coefficients[at].tolist(), float(family.std[at]), evidence))
    return model


def _read_configuration(parts: MixedParts, configuration: Mapping[Hashable, Hashable]) -> dict[int, int]:
    """Return states of discrete variables as codes, by position."""
    if not isinstance(configuration, Mapping):
        raise TypeError(f"configuration must be a dictionary {{name: state}}, got {type(configuration).__name__}")
    discrete = {name: own for name, own in zip(parts.names, parts.states, strict=True) if own is not None}
    codes = {}
    for name, state in configuration.items():
        if name not in discrete:
            raise ValueError(
                f"{name!r} is not a discrete variable of the network: these are {join_names(discrete) or 'none'}"
            )
        if state not in discrete[name]:
            raise ValueError(f"{state!r} is not a state of {name!r}: it has {join_names(discrete[name])}")
        codes[list(parts.names).index(name)] = discrete[name].index(state)
    return codes


def freeze_families(network: MixedFamilies) -> MixedFamilies:
    """Return a network with read-only copies of the arrays."""
    families: list = []
    for family in network.families:
        arrays = {key: part for key, part in family._asdict().items() if isinstance(part, np.ndarray)}
        copies: dict[str, Any] = {key: read_only(part.copy()) for key, part in arrays.items()}
        families.append(family._replace(**copies))
    return MixedFamilies(network.cards, tuple(families))


def _read_cpd(cpd: Any, place: dict, states: tuple) -> DiscreteFamily | GaussianFamily:
    """Return a distribution as arrays; raise if it disagrees with the distributions of its parents."""
    discrete: tuple = ()
    floats: tuple = ()
    if isinstance(cpd, TabularCPD):
        discrete = tuple(cpd.variables[1:])
    elif isinstance(cpd, LinearGaussianCPD):
        floats = tuple(cpd.evidence)
    else:
        discrete, floats = cpd.discrete_parents, cpd.continuous_parents
    unknown = [name for name in (*discrete, *floats) if name not in place]
    if unknown:
        raise ValueError(f"{cpd.variable!r} has the parents {join_names(unknown)}, which have no distribution")
    wrong = [name for name in discrete if states[place[name]] is None]
    wrong += [name for name in floats if states[place[name]] is not None]
    if wrong:
        raise ValueError(f"{cpd.variable!r} confuses discrete and continuous parents: {join_names(wrong)}")
    own: Any = getattr(cpd, "state_names", {})
    for name in discrete:
        if tuple(map(python_scalar, own[name])) != states[place[name]]:
            raise ValueError(
                f"{cpd.variable!r} lists the states {join_names(own[name])} of its parent {name!r}, which "
                f"has the states {join_names(states[place[name]])}"
            )
    parents = tuple(place[name] for name in discrete)
    if isinstance(cpd, TabularCPD):
        check_probabilities(cpd.get_values(), cpd.variable)
        return DiscreteFamily(parents, normalise(np.array(cpd.values, dtype=np.float64)))
    if isinstance(cpd, LinearGaussianCPD):
        cpd = ConditionalGaussianCPD(cpd.variable, cpd.beta, float(cpd.std), (), floats)
    return GaussianFamily(parents, tuple(place[name] for name in floats), cpd.coefficients, cpd.std)
