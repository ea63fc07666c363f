"""Columns of a lagged frame, and the networks of a dynamic Bayesian network over them, checked.

The column ``name@t-2`` holds a variable two rows before the present, ``name@t-0`` its present value. Static columns,
which are constant in each series, keep their names.
"""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import pgmpy.models

from pgmx.checks import check_natural, join_names
from pgmx.fitted import get_model
from pgmx.inference.mixed.families import MixedFamilies
from pgmx.models.base import check_names
from pgmx.models.bayesian.discrete_network import DiscreteBayesianNetwork
from pgmx.models.bayesian.linear_gaussian_network import LinearGaussianBayesianNetwork
from pgmx.models.files.mixed import MixedParts
from pgmx.models.mixed.network import ConditionalGaussianNetwork

_PRESENT = "@t-0"


def name_column(name: Hashable, lag: int) -> str:
    """Return the name of the column of a variable `lag` rows before the present."""
    return f"{name}@t-{lag}"


#: Largest number of columns of a network: their names alone take 0.1 GB.
MOST_COLUMNS = 1_000_000


@dataclass(frozen=True)
class Columns:
    """The variables of a dynamic network and their columns.

    Positions count static columns first, then the variables at the lags L, ..., 1, 0: the newest row is last.
    """

    #: Names of the n variables.
    names: tuple[Hashable, ...]
    #: Number of lags L.
    lags: int
    #: Names of the static columns.
    static: tuple[Hashable, ...]

    @cached_property
    def labels(self) -> tuple[Hashable, ...]:
        """Names of all columns, in the order of their positions."""
        lags = range(self.lags, -1, -1)
        return (*self.static, *(name_column(name, lag) for lag in lags for name in self.names))

    def position(self, v: int, lag: int) -> int:
        """Return the position of the variable v at a lag."""
        return len(self.static) + (self.lags - lag) * len(self.names) + v

    def split(self, position: int) -> tuple[int, int]:
        """Return the variable and the lag at a position; (number of the static column, -1) for a static column."""
        if position < len(self.static):
            return position, -1
        slice_, v = divmod(position - len(self.static), len(self.names))
        return v, self.lags - slice_

    @property
    def present(self) -> range:
        """Positions of the present row."""
        return range(len(self.labels) - len(self.names), len(self.labels))

    @property
    def past(self) -> range:
        """Positions of the static columns and of the rows before the present, which the prior network models."""
        return range(len(self.labels) - len(self.names))

    def describe(self, position: int) -> tuple[Hashable, int]:
        """Return the node (name, lag) of a `TimeSeriesGraph`; static columns are at lag 0."""
        v, lag = self.split(position)
        return (self.static[v], 0) if lag < 0 else (self.names[v], lag)


def read_columns(parts: MixedParts, lags: int, static: Sequence[Hashable], names: Sequence[Hashable] | None) -> Columns:
    """Return the columns of a transition network; raise if it has others, or lacks the present of a variable."""
    lags = check_natural(lags, "lags", 1)
    static = check_names(static) if len(tuple(static)) else ()
    if names is None:
        texts = [label for label in parts.names if isinstance(label, str) and label.endswith(_PRESENT)]
        names = [label.removesuffix(_PRESENT) for label in texts if label not in static]
        if not names:
            raise ValueError(
                f"the transition network has no column of the present, such as 'x{_PRESENT}': its columns are "
                f"{join_names(parts.names)}"
            )
    columns = Columns(check_names(names), lags, static)
    if lags * len(columns.names) > MOST_COLUMNS:  # as a damaged file may say
        raise ValueError(
            f"lags is {lags}: with {len(columns.names)} variables a network has more than {MOST_COLUMNS:,} columns; "
            "give fewer lags"
        )
    if len(set(columns.labels)) < len(columns.labels):
        raise ValueError(
            f"two of the columns {join_names(columns.labels)} have the same name: rename a variable, or a static column"
        )
    unknown = [label for label in parts.names if label not in set(columns.labels)]
    if unknown:
        raise ValueError(
            f"the transition network has the column(s) {join_names(unknown)}, which are neither static_columns nor "
            f"one of the variables {join_names(columns.names)} at a lag from 0 to {lags}, such as "
            f"{columns.labels[-1]!r}"
        )
    absent = [columns.labels[v] for v in columns.present if columns.labels[v] not in set(parts.names)]
    if absent:
        raise ValueError(f"the transition network lacks the column(s) {join_names(absent)} of the present")
    return columns


@dataclass(frozen=True, eq=False)
class Slices:
    """The families of both networks over the columns, and the states of the columns.

    The families of the present come from the transition network, all others from the prior network, or without one
    from the marginal distributions in the transition network.
    """

    columns: Columns
    #: States of each column, None for continuous ones.
    states: tuple[tuple | None, ...]
    families: MixedFamilies
    has_prior: bool

    def parts(self, positions: Sequence[int]) -> MixedParts:
        """Return the network of some columns, all parents of which are among them."""
        return take_variables(MixedParts(self.columns.labels, self.states, self.families), positions)


def take_variables(parts: MixedParts, chosen: Sequence[int]) -> MixedParts:
    """Return the network of some variables, all parents of which are among them."""
    place = [-1] * len(parts.names)
    for k, v in enumerate(chosen):
        place[v] = k
    families = tuple(_move_family(parts.families.families[v], place) for v in chosen)
    names, states = [parts.names[v] for v in chosen], [parts.states[v] for v in chosen]
    return MixedParts(names, states, MixedFamilies(tuple(parts.families.cards[v] for v in chosen), families))


def make_slices(columns: Columns, transition: MixedParts, prior: MixedParts | None) -> Slices:
    """Join the networks of the transition and of the first rows; raise if they contradict each other."""
    place = {label: position for position, label in enumerate(columns.labels)}
    found: list[tuple[Any, tuple | None] | None] = [None] * len(place)
    for parts, wanted, what in (
        (transition, columns.present if prior is not None else range(len(place)), "transition network"),
        (prior, columns.past, "prior network"),
    ):
        if parts is None:
            continue
        numbers = [place.get(label, -1) for label in parts.names]
        for number, label in zip(numbers, parts.names, strict=True):
            if number < 0 or (what == "prior network" and number not in columns.past):
                raise ValueError(
                    f"the {what} has the column {label!r}: it models the columns "
                    f"{join_names([columns.labels[v] for v in wanted])}"
                )
        for v, number in enumerate(numbers):
            if number in wanted:
                found[number] = _move_family(parts.families.families[v], numbers), parts.states[v]
    absent = [columns.labels[v] for v, own in enumerate(found) if own is None]
    if absent:
        what = "transition" if prior is None else "prior"
        remedy = "give their distributions there, or a prior network" if prior is None else "add them"
        raise ValueError(f"the {what} network lacks the column(s) {join_names(absent)}: {remedy}")
    own = [entry for entry in found if entry is not None]
    states = tuple(states for _, states in own)
    families = MixedFamilies(tuple(0 if s is None else len(s) for s in states), tuple(family for family, _ in own))
    slices = Slices(columns, states, families, prior is not None)
    _check_states(slices, transition, place)
    _check_time(slices)
    return slices


def _move_family(family: Any, numbers: Sequence[int]) -> Any:
    """Return a family with other positions of its parents."""
    changes = {"discrete_parents": tuple(numbers[p] for p in family.discrete_parents)}
    if hasattr(family, "continuous_parents"):
        changes["continuous_parents"] = tuple(numbers[p] for p in family.continuous_parents)
    return family._replace(**changes)


def _check_states(slices: Slices, transition: MixedParts, place: dict) -> None:
    """Raise if a variable has other states, or another kind, at another lag or in the other network."""
    columns = slices.columns
    seen = [(place[label], own) for label, own in zip(transition.names, transition.states, strict=True)]
    for position, own in [*enumerate(slices.states), *seen]:
        v, lag = columns.split(position)
        wanted = slices.states[v] if lag < 0 else slices.states[columns.present[v]]
        if own != wanted:
            raise ValueError(
                f"{columns.labels[position]!r} is {_describe_states(own)}, but "
                f"{columns.labels[v if lag < 0 else columns.present[v]]!r} is {_describe_states(wanted)}: a variable "
                "has the same states, in the same order, in all rows"
            )


def _describe_states(states: tuple | None) -> str:
    return "continuous" if states is None else f"discrete with the states {join_names(states)}"


def _check_time(slices: Slices) -> None:
    """Raise for an edge from a later to an earlier row, or one into the past without a prior network."""
    columns = slices.columns
    for position, parents in enumerate(slices.families.parents):
        _, lag = columns.split(position)
        for p in parents:
            _, lag_of_parent = columns.split(p)
            is_later = lag_of_parent >= 0 and (lag < 0 or lag_of_parent < lag)
            if is_later or (not slices.has_prior and lag != 0):
                edge = f"{columns.labels[p]!r} -> {columns.labels[position]!r}"
                raise ValueError(
                    f"the edge {edge} leads {'back in time' if lag >= 0 else 'into a static column'}: remove it"
                    if is_later
                    else f"the edge {edge} of the transition network ends before the present: give it in a prior "
                    "network"
                )


# ---- native networks ----


def read_network(network: Any, what: str) -> MixedParts:
    """Return the fields of a network of pgmpy or pgmx of any kind, or of a fitted learner of one."""
    network = get_model(network)
    kinds = (
        pgmpy.models.DiscreteBayesianNetwork,
        pgmpy.models.LinearGaussianBayesianNetwork,
        ConditionalGaussianNetwork,
    )
    if not isinstance(network, kinds):
        raise TypeError(
            f"{what} must be a DiscreteBayesianNetwork, LinearGaussianBayesianNetwork or ConditionalGaussianNetwork "
            f"over lagged columns, got {type(network).__name__}"
        )
    if not len(network):
        raise ValueError(f"{what} has no variables")
    if not isinstance(network, ConditionalGaussianNetwork):
        network = ConditionalGaussianNetwork.from_network(network)
    return network.parts()


def make_network(parts: MixedParts) -> Any:
    """Return the fields as a network of the class for its kinds of variables."""
    network = ConditionalGaussianNetwork.from_parts(parts)
    if not network.continuous:
        return DiscreteBayesianNetwork.from_network(network.to_pgmpy())
    if not network.states:
        return LinearGaussianBayesianNetwork.from_network(network.to_pgmpy())
    return network
