"""Factors of any number of variables, in logarithms, and their conversion from pgmpy's networks."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from pgmx.checks import freeze, read_only
from pgmx.inference.networks.log_tables import take_logs
from pgmx.inference.networks.potentials import PairwisePotentials, check_codes

if TYPE_CHECKING:
    from pgmpy.factors.discrete import DiscreteFactor
    from pgmpy.models import DiscreteMarkovNetwork


@dataclass(frozen=True, eq=False)
class LogFactors:
    r"""Factors of a discrete Markov network, in natural logarithms.

    .. math:: \log p(x) = \sum_k \phi_k(x_{S_k}) - \log Z

    Parameters
    ----------
    cardinalities : array_like of int, shape (n,)
        Number of states of each variable, each at least 1.
    scopes : sequence of tuple of int
        The distinct variables :math:`S_k` of each factor, in the order of the axes of its table. A scope may be empty
        (a constant), and may occur more than once.
    tables : sequence of array_like of float
        The tables :math:`\phi_k`, one axis per variable; minus infinity means probability zero.

    Raises
    ------
    ValueError
        If a scope has an unknown or a repeated variable, a shape does not match, or a value is NaN or plus infinity.

    Notes
    -----
    Tables are copied unless they are already read-only. A variable that is not in any scope is uniform and independent.

    Examples
    --------
    >>> from pgmx.inference import LogFactors
    >>> factors = LogFactors([2, 2, 2], [(0, 1, 2), (0,)], [[[[0, 1], [2, 3]], [[4, 5], [6, 7]]], [0.5, 0.0]])
    >>> factors
    LogFactors(3 variables, 2 factors of at most 3 variables, 10 cells)
    >>> factors.log_score([[1], [0], [1]])
    array([5.])
    """

    cardinalities: np.ndarray
    scopes: tuple[tuple[int, ...], ...]
    tables: tuple[np.ndarray, ...]

    def __post_init__(self) -> None:
        cards = freeze(self.cardinalities, np.int64, "cardinalities")
        if cards.ndim != 1 or not len(cards) or cards.min() < 1:
            raise ValueError(
                f"cardinalities must be a non-empty vector of positive integers, got {np.asarray(self.cardinalities)!r}"
            )
        if len(self.scopes) != len(self.tables):
            raise ValueError(
                f"one table per scope is needed, got {len(self.scopes)} scopes and {len(self.tables)} tables"
            )
        sizes = cards.tolist()
        scopes = tuple(tuple(int(v) for v in scope) for scope in self.scopes)
        tables = []
        for k, (scope, table) in enumerate(zip(scopes, self.tables, strict=True)):
            if len(set(scope)) < len(scope) or not all(0 <= v < len(sizes) for v in scope):
                raise ValueError(f"scope {k}, {scope}, must consist of distinct variables in 0..{len(sizes) - 1}")
            values = freeze(table, np.float64, f"tables[{k}]")
            if values.shape != tuple(sizes[v] for v in scope):
                raise ValueError(
                    f"the table of scope {k}, {scope}, has shape {values.shape}, "
                    f"it must have {tuple(sizes[v] for v in scope)}"
                )
            if not (values < np.inf).all():
                raise ValueError(
                    f"the table of scope {k}, {scope}, holds NaN or plus infinity: logarithms of factors must be "
                    "finite, or minus infinity for probability zero"
                )
            tables.append(values)
        for name, value in (("cardinalities", cards), ("scopes", scopes), ("tables", tuple(tables))):
            object.__setattr__(self, name, value)

    def __reduce__(self) -> tuple:
        return LogFactors, (self.cardinalities, self.scopes, self.tables)

    def __repr__(self) -> str:
        arity = max(map(len, self.scopes), default=0)
        cells = sum(table.size for table in self.tables)
        return (
            f"LogFactors({self.n_variables} variables, {len(self.scopes)} factors of at most {arity} variables, "
            f"{cells} cells)"
        )

    @classmethod
    def from_potentials(cls, potentials: PairwisePotentials) -> LogFactors:
        """Return one factor per variable and one per edge, as views.

        Parameters
        ----------
        potentials : PairwisePotentials
            A pairwise network.

        Returns
        -------
        LogFactors
            First the factors of the variables, then the factors of the edges in their order.
        """
        alone = [(i,) for i in range(potentials.n_variables)]
        joined = [(i, j) for i, j in potentials.edges.tolist()]
        tables = [potentials.node(i) for (i,) in alone] + potentials.tables()
        return cls(potentials.cardinalities, (*alone, *joined), tuple(tables))

    @property
    def n_variables(self) -> int:
        """Number of variables."""
        return len(self.cardinalities)

    def log_score(self, codes: np.ndarray) -> np.ndarray:
        """Return the unnormalised log-probability of each row.

        Parameters
        ----------
        codes : array_like of int, shape (n, N)
            State codes, one row per variable.

        Returns
        -------
        ndarray of float64, shape (N,)
            ``log p(x) + log Z``, minus infinity for impossible rows.

        Raises
        ------
        ValueError
            If the shape disagrees or a code has no state.
        """
        codes = check_codes(codes, self.cardinalities)
        total = np.zeros(codes.shape[1])
        for scope, table in zip(self.scopes, self.tables, strict=True):
            total += table[tuple(codes[v] for v in scope)]
        return total

    def pairwise(self) -> PairwisePotentials:
        """Return a pairwise network with the same distribution of the variables.

        Returns
        -------
        PairwisePotentials
            Variables ``0..n-1`` are the variables of the factors. Each factor of three or more variables adds one
            auxiliary variable after them, in the order of the factors. Its states are the cells of the factor's table.
            Edges with values zero and minus infinity link it to the variables of the scope. Constants are left out.

        Notes
        -----
        The auxiliary variable of a factor with k variables and c cells needs k tables of c times s cells.
        """
        sizes = self.cardinalities.tolist()
        nodes = [np.zeros(size) for size in sizes]
        tables: list[tuple[tuple[int, int], np.ndarray]] = []
        for scope, table in zip(self.scopes, self.tables, strict=True):
            if len(scope) == 1:
                nodes[scope[0]] = nodes[scope[0]] + table
            elif len(scope) == 2:
                tables.append(((scope[0], scope[1]), table))
            elif len(scope) > 2:
                states = np.indices(table.shape).reshape(len(scope), -1)
                for v, code in zip(scope, states, strict=True):
                    tie = np.where(np.arange(sizes[v])[:, None] == code, 0.0, -np.inf)
                    tables.append(((v, len(nodes)), tie))
                nodes.append(table.ravel())
        return PairwisePotentials.build([len(node) for node in nodes], nodes, tables)


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
            f"a discrete Markov network with nodes() and get_factors() is needed, got {type(model).__name__}: "
            "convert a Bayesian network with to_markov_model()"
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
    for axis, (name, states) in enumerate(zip(variables, _state_names(factor, variables, values.shape), strict=True)):
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


def _state_names(factor: DiscreteFactor, variables: list, shape: tuple[int, ...]) -> Iterator[tuple]:
    state_names = getattr(factor, "state_names", None) or {}
    for name, size in zip(variables, shape, strict=True):
        yield tuple(state_names[name]) if name in state_names else tuple(range(size))
