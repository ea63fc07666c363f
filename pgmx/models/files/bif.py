"""BIF and XMLBIF: fitted discrete networks, written by pgmpy; our readers say where a file is wrong."""

import math
import re
from collections.abc import Iterator
from xml.etree import ElementTree

import networkx as nx
import numpy as np
from pgmpy.factors.discrete import TabularCPD
from pgmpy.models import DiscreteBayesianNetwork
from pgmpy.readwrite import BIFWriter, XMLBIFWriter

from pgmx.checks import join_names
from pgmx.models.files.formats import check_distinct, check_probabilities, decode, encode_all

_NAME_MARKS = frozenset("-.")

# Unclosed texts and comments reach to the end, so that no search for their ends begins anew at each.
_COMMENT = re.compile(r'("[^"\\]*(?:\\.[^"\\]*)*(?:"|\Z))|/\*.*?(?:\*/|\Z)|//[^\n]*', re.DOTALL)
_BLOCK = re.compile(r"(network|variable|probability)\b([^{}]*)\{((?:[^{}]*\{[^{}]*\})*[^{}]*)\}[\s;]*")
_TYPE = re.compile(r"type\s+\w+\s*\[\s*(\d+)\s*\]\s*\{([^{}]*)\}")
_ROW = re.compile(r"(?:\(([^()]*)\)|(table|default)\b)([^()]*)")

#: Parents and probabilities, shape (states, states of the parents), by variable.
Tables = dict[str, tuple[list[str], np.ndarray]]


def write_bif(model: DiscreteBayesianNetwork, format: str) -> str:
    """Return a fitted network as "bif" or "xmlbif"."""
    if len(model) == 0:
        raise ValueError(f"the network has no nodes; {format} cannot hold it")
    model.check_model()  # says which node has no parameters, or wrong ones
    # BIF readers ignore the case of names, XMLBIF knows only letters, digits and underscores in states.
    names = encode_all(model.nodes(), "names of variables", _NAME_MARKS, ignore_case=format == "bif")
    marks = _NAME_MARKS if format == "bif" else frozenset()
    states, tables = {}, {}
    for cpd in model.cpds:
        labels, parents = cpd.state_names[cpd.variable], cpd.variables[1:]
        texts = encode_all(labels, f"states of {cpd.variable!r}", marks)
        states[names[cpd.variable]] = [texts[state] for state in labels]
        check_probabilities(cpd.get_values(), cpd.variable)
        tables[names[cpd.variable]] = ([names[name] for name in parents], cpd.get_values())
    # A copy: the XMLBIF writer sorts the list of CPDs of the network that it is given.
    copy = _build_network({names[node]: states[names[node]] for node in model.nodes()}, tables)
    if re.fullmatch("[A-Za-z0-9_-]+", model.name) and not re.search("variable|probability", model.name):
        copy.name = model.name
    return str(BIFWriter(copy) if format == "bif" else XMLBIFWriter(copy))


def read_bif(raw: bytes, format: str) -> DiscreteBayesianNetwork:
    """Return the network of a file in "bif" or "xmlbif", escapes in names and states decoded."""
    states, tables = (_parse_bif if format == "bif" else _parse_xmlbif)(raw)
    if not states:
        raise ValueError("it holds no variables")
    bare = [name for name in states if name not in tables]
    if bare:
        raise ValueError(f"it holds no probabilities of {join_names(map(decode, bare))}")
    check_distinct(map(decode, states), "the names of variables")
    return _build_network(
        {decode(name): [decode(state) for state in labels] for name, labels in states.items()},
        {decode(name): ([decode(parent) for parent in parents], table) for name, (parents, table) in tables.items()},
    )


def _build_network(states: dict[str, list[str]], tables: Tables) -> DiscreteBayesianNetwork:
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


def _check_family(name: str, parents: list[str], states: dict[str, list[str]], tables: Tables, n_cells: int) -> int:
    """Return the number of columns of a table, before it is made: its cells must have place in a text of `n_cells`."""
    unknown = [variable for variable in (name, *parents) if variable not in states]
    if unknown:
        raise ValueError(f"the probabilities of {name!r} name {join_names(unknown)}, of which there is no variable")
    if name in tables:
        raise ValueError(f"there are two tables of {name!r}")
    check_distinct((name, *parents), f"the variables of the table of {name!r}")
    n_columns = math.prod(len(states[parent]) for parent in parents)
    if n_columns * len(states[name]) > n_cells:
        raise ValueError(
            f"the states of {name!r} and its parents ask for {n_columns * len(states[name])} probabilities"
        )
    return n_columns


def _check_labels(name: str, labels: list[str], states: dict[str, list[str]]) -> list[str]:
    if name in states or not labels:
        raise ValueError(f"the variable {name!r} {'occurs twice' if name in states else 'has no states'}")
    check_distinct(labels, f"the states of {name!r}")
    return labels


def _parse_numbers(text: str, n: int, what: str) -> list[float]:
    """Return n numbers, between spaces and commas."""
    words = text.replace(",", " ").split()
    if len(words) != n:
        raise ValueError(f"{what} must hold {n} numbers, got {len(words)}")
    for word in words:
        try:
            float(word)
        except ValueError:
            raise ValueError(f"{what} must hold numbers, got {word!r}") from None
    return [float(word) for word in words]


# ---- bif ----


def _parse_bif(raw: bytes) -> tuple[dict[str, list[str]], Tables]:
    """Return the states by variable and the tables, sorted by their variables."""
    text = _COMMENT.sub(lambda match: match[1] or "\n" * match[0].count("\n"), raw.decode("utf-8-sig"))
    text = text.replace('"', " ")
    states: dict[str, list[str]] = {}
    tables: Tables = {}
    for at, kind, head, body in [*_split_blocks(text, "variable"), *_split_blocks(text, "probability")]:
        try:
            if kind == "variable":
                states[head] = _check_labels(head, _parse_states(body), states)
            else:
                name, parents, table = _parse_table(head, body, states, tables)
                tables[name] = (parents, table)
                check_probabilities(table, name)
        except ValueError as error:
            line = text.count("\n", 0, at) + 1
            raise ValueError(f"in the block at line {line}, {error}") from error
    return states, dict(sorted(tables.items()))


def _split_blocks(text: str, wanted: str) -> Iterator[tuple[int, str, str, str]]:
    """Yield place, kind, head and body of the blocks of a kind; raise where there is something else than blocks."""
    at = len(text) - len(text.lstrip())
    while at < len(text):
        match = _BLOCK.match(text, at)
        if match is None:
            line, words = text.count("\n", 0, at) + 1, text[at : at + 40].split("\n")[0]
            raise ValueError(f"line {line} begins no whole block of a network, variable or probability: {words!r}")
        if match[1] == wanted:
            yield at, match[1], match[2].strip(), match[3]
        at = match.end()


def _parse_states(body: str) -> list[str]:
    match = _TYPE.search(body)
    if match is None:
        raise ValueError("there is no 'type discrete [ n ] { states };'")
    labels = match[2].split(",") if "," in match[2] else match[2].split()
    labels = [label.strip() for label in labels if label.strip()]
    if len(labels) != int(match[1]):
        raise ValueError(f"there are {len(labels)} states, of {match[1]} that are declared")
    return labels


def _parse_table(head: str, body: str, states: dict, tables: Tables) -> tuple[str, list[str], np.ndarray]:
    """Return variable, parents and probabilities of a block: one table, or a row for each of the parents' states."""
    if not (head.startswith("(") and head.endswith(")")):
        raise ValueError(f"'( variable | parents )' is expected, got {head!r:.60}")
    name, mark, rest = head[1:-1].partition("|")
    words = [word.strip() for word in (name, *rest.split(","))] if mark else name.replace(",", " ").split()
    cases = {name.lower(): name for name in states}  # case does not count in this format
    name, *parents = (cases.get(word.lower(), word) for word in words if word)
    n_columns, n_states = _check_family(name, parents, states, tables, len(body)), len(states[name])
    table = np.full((n_states, n_columns), np.nan)
    default = None
    for statement in body.split(";"):
        match = _ROW.fullmatch(statement.strip())
        if match is None:
            if statement.strip() and not statement.strip().startswith("property"):
                raise ValueError(f"{statement.strip()!r:.60} is no row of the table of {name!r}")
        elif match[2] == "table":
            table[:] = np.reshape(_parse_numbers(match[3], table.size, f"the table of {name!r}"), table.shape)
        else:
            row = _parse_numbers(match[3], n_states, f"the row {match[1] or match[2]!r} of {name!r}")
            if match[2]:
                default = row
            else:
                table[:, _find_column(match[1], parents, states)] = row
    missing = np.flatnonzero(np.isnan(table).all(axis=0))
    if len(missing) and default is None:
        shape = tuple(len(states[parent]) for parent in parents)
        labels = [states[p][k] for p, k in zip(parents, np.unravel_index(missing[0], shape), strict=True)]
        raise ValueError(f"{len(missing)} row(s) of {name!r} are missing, among them ({', '.join(labels)})")
    if len(missing):
        table[:, missing] = np.array(default)[:, None]
    return name, parents, table


def _find_column(text: str, parents: list[str], states: dict[str, list[str]]) -> int:
    labels = [label.strip() for label in text.split(",")]
    if len(labels) != len(parents) or any(label not in states[p] for label, p in zip(labels, parents, strict=True)):
        raise ValueError(f"the row ({text.strip()}) names no states of {join_names(parents)}")
    column = 0
    for label, parent in zip(labels, parents, strict=True):
        column = column * len(states[parent]) + states[parent].index(label)
    return column


# ---- xmlbif ----


def _parse_xmlbif(raw: bytes) -> tuple[dict[str, list[str]], Tables]:
    network = ElementTree.fromstring(raw).find("NETWORK")
    if network is None:
        raise ValueError("it has no NETWORK")
    states: dict[str, list[str]] = {}
    tables: Tables = {}
    for variable in network.findall("VARIABLE"):
        name = _find_text(variable, "NAME", f"variable {len(states) + 1}")
        labels = [outcome.text or "" for outcome in variable.findall("OUTCOME")]
        states[name] = _check_labels(name, labels, states)
    for definition in network.findall("DEFINITION"):
        name = _find_text(definition, "FOR", f"definition {len(tables) + 1}")
        parents = [parent.text or "" for parent in definition.findall("GIVEN")]
        text = _find_text(definition, "TABLE", f"the definition of {name!r}")
        n_columns = _check_family(name, parents, states, tables, len(text))
        cells = _parse_numbers(text, n_columns * len(states[name]), f"the table of {name!r}")
        table = np.reshape(cells, (len(states[name]), n_columns), order="F")
        check_probabilities(table, name)
        tables[name] = (parents, table)
    return states, tables


def _find_text(element: ElementTree.Element, tag: str, what: str) -> str:
    text = element.findtext(tag)
    if not text:
        raise ValueError(f"{what} has no {tag}")
    return text
