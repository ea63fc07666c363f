"""Networks with names of variables and states, read from pgmpy's objects as arrays.

Markov networks (`read_network`) and discrete Bayesian networks (`BayesianArrays`, with forward sampling). Nothing here
imports pgmpy: any objects with the same methods will do.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from graphlib import CycleError, TopologicalSorter
from operator import attrgetter
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from pgmx._ext._components import Components
from pgmx.checks import read_only
from pgmx.fitted import FittedLearner, get_model
from pgmx.inference.networks import LogFactors, take_logs

if TYPE_CHECKING:
    from pgmpy.factors.discrete import DiscreteFactor
    from pgmpy.models import DiscreteBayesianNetwork, DiscreteMarkovNetwork


class NamedFactors(NamedTuple):
    """A network as arrays, with the names of variables and states.

    Attributes
    ----------
    names : tuple of hashable
        The variables, in the order of the network's nodes.
    states : tuple of tuple
        State names of each variable, in the order of the codes.
    factors : LogFactors
        The factors in the network's order, then a factor of ones for each variable without a factor.
    """

    names: tuple[Hashable, ...]
    states: tuple[tuple, ...]
    factors: LogFactors


class NamedTables(NamedTuple):
    """Factors of the original network: names, states, the positions of each factor's variables, values (not logs)."""

    names: Sequence[Hashable]
    states: Sequence[Sequence]
    scopes: Sequence[Sequence[int]]
    tables: Sequence[np.ndarray]

    def to_factors(self) -> LogFactors:
        """Return the factors in logarithms."""
        cards = np.array([len(labels) for labels in self.states])
        scopes = tuple(tuple(scope) for scope in self.scopes)
        return LogFactors(cards, scopes, tuple(read_only(take_logs(values)) for values in self.tables))


def read_network(model: DiscreteMarkovNetwork, states: Mapping[Hashable, Sequence] | None = None) -> NamedFactors:
    """Read a discrete Markov network of another package, such as pgmpy's ``DiscreteMarkovNetwork``.

    Parameters
    ----------
    model : pgmpy.models.DiscreteMarkovNetwork
        Or any object with ``nodes()`` and ``get_factors()``. Factors have ``variables``, ``values`` (one axis per
        variable) and, for states other than 0, 1, ..., ``state_names``.
    states : dict of {name: sequence}, optional
        State names of variables that do not occur in any factor; such a variable is uniform.

    Returns
    -------
    NamedFactors
        Names, states and factors. If factors list the states of a variable in different orders, the order of the first
        factor is used and the other tables are permuted.

    Raises
    ------
    TypeError
        If the model has no such methods.
    ValueError
        If a variable is neither in a factor nor in `states`, factors disagree about the states of a variable, a factor
        has a variable that is not a node, or a value is negative, NaN or infinite.

    Examples
    --------
    >>> from pgmpy.factors.discrete import DiscreteFactor
    >>> from pgmpy.models import DiscreteMarkovNetwork
    >>> from pgmx.inference import read_network
    >>> model = DiscreteMarkovNetwork([("a", "b")])
    >>> model.add_factors(DiscreteFactor(["a", "b"], [2, 2], [3, 1, 1, 3], {"a": ["no", "yes"], "b": [0, 1]}))
    >>> names, states, factors = read_network(model)
    >>> names, states
    (('a', 'b'), (('no', 'yes'), (0, 1)))
    >>> factors.scopes
    ((0, 1),)
    """
    tables = read_tables(model, states)
    return NamedFactors(tuple(tables.names), tuple(map(tuple, tables.states)), tables.to_factors())


def read_tables(model: DiscreteMarkovNetwork, states: Mapping[Hashable, Sequence] | None = None) -> NamedTables:
    """Read a network as `read_network` does, but with values instead of logarithms."""
    if not callable(getattr(model, "nodes", None)) or not callable(getattr(model, "get_factors", None)):
        raise TypeError(
            f"a discrete Markov network with nodes() and get_factors() is needed, got {type(model).__name__}"
        )
    names = tuple(model.nodes())
    if not names:
        raise ValueError("the network has no variables: add nodes and factors to it")
    position = {name: i for i, name in enumerate(names)}
    known: dict[Hashable, tuple] = {}
    scopes, tables = [], []
    for factor in model.get_factors():
        variables = list(factor.variables)
        for name in variables:
            if name not in position:
                raise ValueError(f"a factor has the variable {name!r}, which is not a node: add it to the network")
        tables.append(_read_table(factor, variables, known))
        scopes.append(tuple(position[name] for name in variables))
    for name in names:
        if name in known:
            continue
        if name not in (states or {}):
            raise ValueError(
                f"variable {name!r} is in no factor, so its states are unknown: add a factor of it "
                "(of ones for a uniform variable), or give its states in `states`"
            )
        known[name] = tuple((states or {})[name])
        scopes.append((position[name],))
        tables.append(np.ones(len(known[name])))
    return NamedTables(names, tuple(known[name] for name in names), scopes, tables)


def _read_table(factor: DiscreteFactor, variables: list, known: dict[Hashable, tuple]) -> np.ndarray:
    """Return a factor's values, states in the order of `known`, to which new variables are added."""
    values = np.array(factor.values, dtype=np.float64)
    if not (values >= 0).all() or not np.isfinite(values).all():
        wrong = values[~((values >= 0) & (values < np.inf))][0]
        raise ValueError(f"the factor of {variables!r} holds {wrong}: values must be finite and not negative")
    for axis, (name, states) in enumerate(
        zip(variables, _list_state_names(factor, variables, values.shape), strict=True)
    ):
        first = known.setdefault(name, states)
        if states == first:
            continue
        if len(states) != len(first) or set(states) != set(first):
            raise ValueError(
                f"factors disagree about the states of {name!r}: {list(first)!r} and {list(states)!r}; "
                "give it the same states in each"
            )
        values = values.take([states.index(state) for state in first], axis=axis)
    return values


def _list_state_names(factor: DiscreteFactor, variables: list, shape: tuple[int, ...]) -> Iterator[tuple]:
    state_names = getattr(factor, "state_names", None) or {}
    for name, size in zip(variables, shape, strict=True):
        yield tuple(state_names[name]) if name in state_names else tuple(range(size))


# ---- discrete Bayesian networks ----


#: Largest difference from 1 of the sum of a distribution: files hold rounded decimals.
SUM_TOLERANCE = 0.01


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
        network: Any = get_model(model)
        cpds: list[Any] | None = list(network.cpds) if callable(getattr(network, "get_cpds", None)) else None
        if cpds is None or not all(hasattr(cpd, "get_values") for cpd in cpds):
            own = ": use the methods of the network" if hasattr(network, "log_evidence") else ""
            raise TypeError(f"{name} must be a fitted pgmpy DiscreteBayesianNetwork, got {type(network).__name__}{own}")
        table_of = {cpd.variable: cpd for cpd in cpds}
        names = list(network.nodes())
        if not names:
            raise ValueError("the network has no variables: add nodes and tables to it")
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
        """Return the network with every distribution scaled to the sum 1, since files hold rounded decimals.

        Raises a ValueError that names the node of a table with a cell that is negative or not finite, or with a column
        whose sum is not 1 within 0.01, as pgmpy and the readers of files do.
        """
        sums = [table.sum(axis=0) for table in self.tables]
        # one test of all cells: questions about single networks are short
        cells, totals = (np.concatenate([part.ravel() for part in parts]) for parts in (self.tables, sums))
        if not (cells.min() >= 0.0 and abs(totals - 1.0).max() <= SUM_TOLERANCE):
            for name, table, total in zip(self.names, self.tables, sums, strict=True):
                if not (table.min() >= 0.0 and abs(total - 1.0).max() <= SUM_TOLERANCE):
                    raise ValueError(
                        f"the table of node {name!r} is not a conditional distribution: its values must be at least 0 "
                        f"and sum to 1 in each column, got sums from {total.min():.4g} to {total.max():.4g}"
                    )
        return self._replace(tables=[table / total for table, total in zip(self.tables, sums, strict=True)])

    def cut(self, do: Mapping[int, int]) -> BayesianArrays:
        """Return the network in which some variables are set to a state and have no parents (Pearl 2009, eq. 3.10)."""
        parents, tables = list(self.parents), list(self.tables)
        for v, state in do.items():
            parents[v] = ()
            tables[v] = np.zeros(self.cards[v])
            tables[v][state] = 1.0
        return self._replace(parents=parents, tables=tables)

    def to_factors(self) -> LogFactors:
        """Return the tables as factors, each variable before its parents."""
        scopes = [(v, *family) for v, family in enumerate(self.parents)]
        return NamedTables(self.names, self.states, scopes, self.tables).to_factors()

    def align(self, names: Sequence[Hashable], states: Sequence[tuple]) -> BayesianArrays:
        """Return the network with its variables, and the states of each, in another order.

        States that are not in `states` are left out. States that the network does not have get probability 0.
        Distributions may then no longer sum to 1.
        """
        from pgmx.data.declared_states import match_states

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


_VALUES = attrgetter("values")


class TableSnapshot:
    """The tables of a pgmpy network when it was read; tells whether it has changed since."""

    def __init__(self, model: Any) -> None:
        self._n_nodes, self._tables = len(model), list(list_tables(model))
        self._arrays = list(map(_VALUES, self._tables))
        self._values = self._join_values()

    def is_current(self, model: Any) -> bool:
        """Return whether no node and no table of the network was added, removed or replaced."""
        return self._n_nodes == len(model) and Components.have_arrays(list_tables(model), self._tables, self._arrays)

    def has_same_values(self) -> bool:
        """Return whether no value was edited in place; takes longer than `is_current`."""
        return np.array_equal(self._join_values(), self._values, equal_nan=True)

    def _join_values(self) -> np.ndarray:
        return np.concatenate([np.ravel(values) for values in self._arrays] or [np.empty(0)])


def list_tables(model: Any) -> list[Any]:
    """Return the tables of pgmpy's Bayesian network, or the factors of its Markov network."""
    return model.cpds if hasattr(model, "cpds") else model.factors


# ---- forward sampling of discrete Bayesian networks, one vectorised pass per variable ----


def draw_codes(
    arrays: BayesianArrays,
    n_rows: int,
    random_state: int | Sequence[int] | None,
    known: Mapping[int, np.ndarray] | None = None,
) -> list[np.ndarray]:
    """Draw rows as state codes: one integer array per variable, each from its own stream unless it is known."""
    entropy = np.random.SeedSequence(random_state).entropy
    codes = dict(known or {})
    for v in arrays.sort_parents_first():
        if v not in codes:
            parent_codes = [codes[parent] for parent in arrays.parents[v]]
            codes[v] = _draw(_accumulate(arrays.tables[v]), parent_codes, draw_uniforms(entropy, v, n_rows))
    return [codes[v] for v in range(len(codes))]


def draw_uniforms(entropy: int | Sequence[int] | None, position: int, n_rows: int, first_row: int = 0) -> np.ndarray:
    """Return doubles in [0, 1) made of the top 53 bits of PCG64's raw output, which numpy keeps stable for ever."""
    # A stream per variable: its numbers do not depend on the order in which the variables are drawn.
    stream = np.random.PCG64(np.random.SeedSequence(entropy, spawn_key=(position,)))
    if first_row:
        stream.advance(first_row)
    return (stream.random_raw(n_rows) >> np.uint64(11)) * 2.0**-53


def _accumulate(values: np.ndarray) -> np.ndarray:
    """Sum over states, scaled so that no rounding of the file's decimals can reach a state of probability zero."""
    total = np.cumsum(values, axis=0)
    remaining = np.cumsum(values[::-1], axis=0)[::-1]
    cumulative = total / total[-1]
    # No uniform number reaches 1, so that the states after the last possible one are never drawn.
    cumulative[:-1][remaining[1:] == 0.0] = 1.0
    return cumulative


def _draw(cumulative: np.ndarray, parent_codes: list[np.ndarray], uniforms: np.ndarray) -> np.ndarray:
    n_states = cumulative.shape[0]
    # The state is the number of cumulative probabilities that the uniform number reaches. The type is signed, as that
    # of pandas' codes.
    codes = np.zeros(uniforms.size, dtype=np.min_scalar_type(-n_states))
    if not parent_codes:
        for state in range(n_states - 1):
            codes += uniforms >= cumulative[state]
        return codes
    row = np.ravel_multi_index(parent_codes, cumulative.shape[1:])
    for state in range(n_states - 1):
        codes += uniforms >= cumulative[state].ravel()[row]
    return codes
