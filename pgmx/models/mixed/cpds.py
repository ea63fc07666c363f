"""Distributions of variables given their parents, and their conversion from and into the fields of a mixed network."""

from collections.abc import Hashable, Iterable, Mapping, Sequence
from itertools import product
from typing import Any, cast

import networkx as nx
import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from pgmpy.factors.continuous import LinearGaussianCPD
from pgmpy.factors.discrete import TabularCPD

from pgmx.checks import as_reals, join_names, read_only
from pgmx.data.columns import python_scalar
from pgmx.data.mixed import MixedTable
from pgmx.inference.mixed.families import DiscreteFamily, GaussianFamily, MixedFamilies, normalise
from pgmx.models.base import check_names
from pgmx.models.bayesian.linear_gaussian_network import LinearGaussianBayesianNetwork
from pgmx.models.files.formats import check_probabilities
from pgmx.models.files.mixed import MixedParts
from pgmx.models.mixed.fitting import check_arcs

#: The name of the intercept in tables, as in R.
INTERCEPT = "(Intercept)"


class ConditionalGaussianCPD:
    r"""A continuous variable given its parents: one regression per configuration of its discrete parents.

    .. math:: x \mid d, c \sim \mathcal{N}\Big(\beta_{d0} + \sum_k \beta_{dk} c_k,\ \sigma_d^2\Big)

    Parameters
    ----------
    variable : hashable
        Name of the variable.
    coefficients : array_like of float, shape (states of each discrete parent ..., 1 + number of continuous parents)
        Intercepts and slopes :math:`\beta`, intercept first; finite.
    std : array_like of float, shape (states of each discrete parent ...)
        Standard deviations :math:`\sigma`, finite and above 0.
    discrete_parents : sequence of hashable, default=()
        Names of the discrete parents, in the order of the axes.
    continuous_parents : sequence of hashable, default=()
        Names of the continuous parents, in the order of the slopes.
    state_names : dict of {name: sequence}, optional
        The states of each discrete parent, in order; 0, 1, ... by default.

    Attributes
    ----------
    variable, discrete_parents, continuous_parents, state_names
        As given, converted to tuples and a dictionary of tuples.
    coefficients, std : ndarray of float64
        Read-only copies.

    Raises
    ------
    ValueError
        If shapes disagree, names occur twice, a coefficient is not finite, or a standard deviation is not above 0.

    Examples
    --------
    >>> from pgmx.models import ConditionalGaussianCPD
    >>> cpd = ConditionalGaussianCPD(
    ...     "level", [[1.0, 0.5], [3.0, 0.25]], [0.1, 0.2], ["dam"], ["rain"], {"dam": ["open", "shut"]}
    ... )
    >>> cpd
    ConditionalGaussianCPD('level' | 'dam', 'rain')
    >>> cpd.to_frame().loc["shut"].to_dict()
    {'(Intercept)': 3.0, 'rain': 0.25, 'std': 0.2}
    """

    def __init__(
        self,
        variable: Hashable,
        coefficients: ArrayLike,
        std: ArrayLike,
        discrete_parents: Sequence[Hashable] = (),
        continuous_parents: Sequence[Hashable] = (),
        state_names: Mapping[Hashable, Sequence] | None = None,
    ) -> None:
        names = check_names([variable, *discrete_parents, *continuous_parents])
        n_states = len(tuple(discrete_parents))
        self.variable = names[0]
        self.discrete_parents = names[1 : 1 + n_states]
        self.continuous_parents = names[1 + n_states :]
        self.coefficients = read_only(np.array(as_reals(coefficients, "coefficients"), dtype=np.float64))
        self.std = read_only(np.array(as_reals(std, "std"), dtype=np.float64))
        cards = self.std.shape
        wanted = (*cards, 1 + len(self.continuous_parents))
        if len(cards) != n_states or self.coefficients.shape != wanted:
            raise ValueError(
                f"{self.variable!r} has {n_states} discrete and {wanted[-1] - 1} continuous parents: its std must have "
                f"one axis per discrete parent, and its coefficients a further axis of length {wanted[-1]}; got the "
                f"shapes {cards} and {self.coefficients.shape}"
            )
        if not np.isfinite(self.coefficients).all():
            raise ValueError(f"the coefficients of {self.variable!r} must be finite")
        if not ((self.std > 0.0) & (self.std < np.inf)).all():
            wrong_one = float(self.std[~((self.std > 0.0) & (self.std < np.inf))][0])
            raise ValueError(f"the std of {self.variable!r} must be finite and above 0, got {wrong_one!r}")
        given = state_names or {}
        self.state_names = {
            name: tuple(given.get(name, range(card))) for name, card in zip(self.discrete_parents, cards, strict=True)
        }
        wrong = [
            name for name, card in zip(self.discrete_parents, cards, strict=True) if len(self.state_names[name]) != card
        ]
        if wrong:
            raise ValueError(f"state_names of {join_names(wrong)} must match the axes of std")

    def to_frame(self) -> pd.DataFrame:
        """Return a row per configuration of the discrete parents: intercept, slopes and standard deviation."""
        numbers = np.column_stack([self.coefficients.reshape(self.std.size, -1), self.std.ravel()])
        columns = pd.Index([INTERCEPT, *self.continuous_parents, "std"], tupleize_cols=False)
        rows = list(product(*self.state_names.values()))
        if len(self.discrete_parents) == 1:
            index = pd.Index([states[0] for states in rows], name=self.discrete_parents[0], tupleize_cols=False)
        elif rows == [()]:
            index = pd.RangeIndex(1)
        else:
            index = pd.MultiIndex.from_tuples(rows, names=self.discrete_parents)
        return pd.DataFrame(numbers, index=index, columns=columns)

    def __repr__(self) -> str:
        parents = ", ".join(map(repr, [*self.discrete_parents, *self.continuous_parents]))
        return f"ConditionalGaussianCPD({self.variable!r}{' | ' + parents if parents else ''})"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ConditionalGaussianCPD):
            return NotImplemented
        keys = ("variable", "discrete_parents", "continuous_parents", "state_names")
        return all(getattr(self, key) == getattr(other, key) for key in keys) and (
            np.array_equal(self.coefficients, other.coefficients) and np.array_equal(self.std, other.std)
        )

    def __hash__(self) -> int:
        return hash((self.variable, self.discrete_parents, self.continuous_parents))


# ---- the fields of a network ----


def make_parts(mixed: MixedTable, families: MixedFamilies, name: str = "") -> MixedParts:
    """Return the fields of a network over the columns of a table."""
    discrete_states = iter(() if mixed.table is None else mixed.table.states)
    states = [None if is_continuous else tuple(next(discrete_states)) for is_continuous in mixed.is_continuous.tolist()]
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
    discrete = [names[p] for p in family.discrete_parents]
    labels: dict = {names[p]: states[p] for p in family.discrete_parents}
    if isinstance(family, GaussianFamily):
        continuous = [names[p] for p in family.continuous_parents]
        return ConditionalGaussianCPD(names[v], family.coefficients, family.std, discrete, continuous, labels)
    card, cards = network.cards[v], [network.cards[p] for p in family.discrete_parents]
    state_names = {name: list(own) for name, own in {names[v]: states[v], **labels}.items()}
    return TabularCPD(names[v], card, family.table.reshape(card, -1), discrete, cards, state_names=state_names)


def make_linear_gaussian(
    parts: MixedParts, configuration: Mapping[Hashable, Hashable]
) -> LinearGaussianBayesianNetwork:
    """Return the network of the continuous variables in a configuration of the discrete variables."""
    names, states, network, _ = parts
    codes = _read_configuration(parts, configuration)
    continuous = [v for v, own in enumerate(states) if own is None]
    if not continuous:
        raise ValueError("the network has no continuous variables")
    lacking = sorted({p for v in continuous for p in network.families[v].discrete_parents} - set(codes))
    if lacking:
        raise ValueError(f"the configuration lacks a state of {join_names(names[p] for p in lacking)}")
    model = LinearGaussianBayesianNetwork()
    model.add_nodes_from(names[v] for v in continuous)
    for v in continuous:
        family = cast("GaussianFamily", network.families[v])
        at = tuple(codes[p] for p in family.discrete_parents)
        evidence = [names[p] for p in family.continuous_parents]
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
        arrays = {key: values for key, values in family._asdict().items() if isinstance(values, np.ndarray)}
        copies: dict[str, Any] = {key: read_only(values.copy()) for key, values in arrays.items()}
        families.append(family._replace(**copies))
    return MixedFamilies(network.cards, tuple(families))


def _read_cpd(cpd: Any, place: dict, states: tuple) -> DiscreteFamily | GaussianFamily:
    """Return a distribution as arrays; raise if it disagrees with the distributions of its parents."""
    discrete: tuple = ()
    continuous: tuple = ()
    if isinstance(cpd, TabularCPD):
        discrete = tuple(cpd.variables[1:])
    elif isinstance(cpd, LinearGaussianCPD):
        continuous = tuple(cpd.evidence)
    else:
        discrete, continuous = cpd.discrete_parents, cpd.continuous_parents
    unknown = [name for name in (*discrete, *continuous) if name not in place]
    if unknown:
        raise ValueError(f"{cpd.variable!r} has the parents {join_names(unknown)}, which have no distribution")
    wrong = [name for name in discrete if states[place[name]] is None]
    wrong += [name for name in continuous if states[place[name]] is not None]
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
        # The constructor checks shapes and numbers.
        cpd = ConditionalGaussianCPD(cpd.variable, cpd.beta, float(cpd.std), (), continuous)
    return GaussianFamily(parents, tuple(place[name] for name in continuous), cpd.coefficients, cpd.std)
