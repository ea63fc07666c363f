"""Discrete Bayesian networks as states and tables: the checks that all formats share."""

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager

import networkx as nx
import numpy as np
from pgmpy.factors.discrete import TabularCPD
from pgmpy.models import DiscreteBayesianNetwork

from pgmx.checks import join_names
from pgmx.models.files.formats import check_distinct, check_probabilities

#: States by variable.
States = dict[str, list[str]]

#: Parents and probabilities, shape (states, states of the parents), by variable.
Tables = dict[str, tuple[list[str], np.ndarray]]

#: Names of the nodes of influence diagrams in the formats.
DECISIONS = ("decision", "utility", "value", "mau", "function")


def describe_network(
    model: DiscreteBayesianNetwork,
    format: str,
    encode_names: Callable[[Iterable, str], dict],
    encode_states: Callable[[Iterable, str], dict],
) -> tuple[States, Tables]:
    """Return the states and tables of a fitted network in the order of its nodes, encoded for a format."""
    if len(model) == 0:
        raise ValueError(f"the network has no nodes; {format} cannot hold it")
    model.check_model()  # raises an error that names a node with missing or wrong parameters
    names = encode_names(model.nodes(), "names of variables")
    states: States = {}
    tables: Tables = {}
    cpds = {cpd.variable: cpd for cpd in model.cpds}
    for variable in model.nodes():
        cpd = cpds[variable]
        labels, values = cpd.state_names[variable], cpd.get_values()
        texts = encode_states(labels, f"states of {variable!r}")
        check_probabilities(values, variable)
        states[names[variable]] = [texts[state] for state in labels]
        tables[names[variable]] = ([names[parent] for parent in cpd.variables[1:]], values)
    return states, tables


def build_network(states: States, tables: Tables) -> DiscreteBayesianNetwork:
    """Return the network of states and tables; raise unless each variable has a table and the parents form no cycle."""
    if not states:
        raise ValueError("it holds no variables")
    bare = [name for name in states if name not in tables]
    if bare:
        raise ValueError(f"it holds no probabilities of {join_names(bare)}")
    network = DiscreteBayesianNetwork()
    network.add_nodes_from(states)
    nx.DiGraph.add_edges_from(
        network, ((parent, name, {"weight": None}) for name, (parents, _) in tables.items() for parent in parents)
    )
    if not nx.is_directed_acyclic_graph(network):
        raise ValueError("its parents form a cycle")
    for name, (parents, table) in tables.items():
        labels = {variable: states[variable] for variable in (name, *parents)}
        cards = [len(states[parent]) for parent in parents]
        network.add_cpds(TabularCPD(name, len(states[name]), table, parents, cards, state_names=labels))
    return network


def check_labels(name: str, labels: list[str], states: States) -> list[str]:
    """Return the states of a variable; raise if it has none, a duplicate one, or is already in `states`."""
    if name in states or not labels:
        raise ValueError(f"the variable {name!r} {'occurs twice' if name in states else 'has no states'}")
    check_distinct(labels, f"the states of {name!r}")
    return labels


def check_kind(name: str, kind: str, chance: Sequence[str], remedy: str = "") -> None:
    """Raise for a variable whose kind is not in `chance`, the kinds of discrete variables in a format."""
    if kind.lower() in DECISIONS:
        raise ValueError(f"{name!r} is a {kind} node: influence diagrams are not supported, only Bayesian networks")
    if kind.lower() not in chance:
        raise ValueError(f"{name!r} is of the kind {kind!r:.60}, which is not supported{remedy}")


def check_family(name: str, parents: list[str], states: States, tables: Tables, n_cells: int) -> int:
    """Return the number of columns of a table; raise if it would have more cells than the text can hold."""
    unknown = [variable for variable in (name, *parents) if variable not in states]
    if unknown:
        raise ValueError(f"the probabilities of {name!r} name the unknown variable(s) {join_names(unknown)}")
    if name in tables:
        raise ValueError(f"there are two tables of {name!r}")
    check_distinct((name, *parents), f"the variables of the table of {name!r}")
    n_columns = math.prod(len(states[parent]) for parent in parents)
    if n_columns * len(states[name]) > n_cells:
        raise ValueError(
            f"the states of {name!r} and its parents require {n_columns * len(states[name])} probabilities"
        )
    return n_columns


@contextmanager
def explain_block(text: str, at: int) -> Iterator[None]:
    """Add the line number of a block to errors about it."""
    try:
        yield
    except ValueError as error:
        line = text.count("\n", 0, at) + 1
        raise ValueError(f"in the block at line {line}, {error}") from error


def read_table(
    name: str, parents: list[str], text: str, states: States, tables: Tables, *, reverse: bool = False
) -> np.ndarray:
    """Return the table of values in a text: the states vary fastest, then the states of the last parent.

    With `reverse` the states of the first parent vary faster than the states of the last parent.
    """
    n_columns = check_family(name, parents, states, tables, len(text))
    cells = np.array(parse_numbers(text, n_columns * len(states[name]), f"the table of {name!r}"))
    if reverse:
        shape = [len(states[parent]) for parent in reversed(parents)]
        axes = [*reversed(range(len(parents))), len(parents)]
        cells = cells.reshape(*shape, -1).transpose(axes)
    table = cells.reshape(n_columns, -1).T
    check_probabilities(table, name)
    return table


def parse_numbers(text: str, n: int, what: str) -> list[float]:
    """Return n values separated by spaces or commas."""
    words = text.replace(",", " ").split()
    if len(words) != n:
        raise ValueError(f"{what} must hold {n} values, got {len(words)}")
    for word in words:
        try:
            float(word)
        except ValueError:
            raise ValueError(f"{what} must be numeric, got {word!r}") from None
    return [float(word) for word in words]
