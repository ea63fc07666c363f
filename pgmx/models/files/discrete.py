"""Discrete Bayesian networks in files: states and tables with the checks that all formats share; BIF and XMLBIF.

pgmpy writes BIF and XMLBIF. Our readers report the place of an error. `net` and `xdsl` have the other formats.
"""

import math
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from xml.etree import ElementTree

import networkx as nx
import numpy as np
import pgmpy.models
from pgmpy.factors.discrete import TabularCPD
from pgmpy.readwrite import BIFWriter, XMLBIFWriter

from pgmx.checks import join_names
from pgmx.inference.named_networks import NamedTables
from pgmx.models.bayesian.discrete_network import DiscreteBayesianNetwork
from pgmx.models.files.formats import (
    check_distinct,
    check_probabilities,
    decode,
    decode_text,
    drop_comments,
    encode_distinct_texts,
    find_text,
    find_texts,
    parse_xml,
)

#: States by variable.
States = dict[str, list[str]]

#: Parents and probabilities, shape (states, states of the parents), by variable.
Tables = dict[str, tuple[list[str], np.ndarray]]

#: Names of the nodes of influence diagrams in the formats.
DECISIONS = ("decision", "utility", "value", "mau", "function")


def describe_network(
    model: pgmpy.models.DiscreteBayesianNetwork,
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


def read_families(model: pgmpy.models.DiscreteBayesianNetwork) -> NamedTables:
    """Return the names, the states and a table per variable, shape (states of the parents, states), the child last."""
    states, tables = describe_network(model, "uai", _keep, _keep)
    place = {name: v for v, name in enumerate(states)}
    scopes = [[*(place[parent] for parent in parents), place[child]] for child, (parents, _) in tables.items()]
    return NamedTables(list(states), list(states.values()), scopes, [table.T for _, table in tables.values()])


def _keep(values: Iterable, what: str) -> dict:
    return {value: value for value in values}


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
    # A few letters could otherwise demand any amount of memory: each probability takes one character at least.
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


# ---- bif and xmlbif ----

_NAME_MARKS = frozenset("-.")

# An unclosed comment matches to the end of the text: a failed search at every comment would take quadratic time.
_COMMENTS = r"/\*.*?(?:\*/|\Z)|//[^\n]*"
_BLOCK = re.compile(r"(network|variable|probability)\b([^{}]*)\{((?:[^{}]*\{[^{}]*\})*[^{}]*)\}[\s;]*")
_DECISION = re.compile(r"(decision|utility|value)\b\s*([^{}\s]*)")
_TYPE = re.compile(r"\btype\s+([\w-]+)(?:\s*\[\s*(\d+)\s*\]\s*\{([^{}]*)\})?")
_PROPERTY = re.compile(r"\bproperty\b[^;]*(?:;|\Z)")
_ROW = re.compile(r"(?:\((.*)\)|(table|default)\b)([^()]*)", re.DOTALL)
_NOISY = re.compile(r"(?:function\s+)?(noisy[\s_-]?\w+)", re.IGNORECASE)

# Intervals with a comma between their ends, and words separated by commas or blanks.
_INTERVALS = re.compile(r"(?<![^,\s])(?:[(\[][^()\[\]]*[)\]]|[^,\s()\[\]]+)(?![^,\s])")


def write_bif(model: pgmpy.models.DiscreteBayesianNetwork, format: str) -> bytes:
    """Return a fitted network as "bif" or "xmlbif"."""
    # BIF readers ignore the case of names. XMLBIF allows only letters, digits and underscores in states.
    encode_names = partial(encode_distinct_texts, extra=_NAME_MARKS, ignore_case=format == "bif")
    encode_states = partial(encode_distinct_texts, extra=_NAME_MARKS if format == "bif" else frozenset())
    # A copy: the XMLBIF writer sorts the list of CPDs of its network.
    copy = build_network(*describe_network(model, format, encode_names, encode_states))
    if re.fullmatch("[A-Za-z0-9_-]+", model.name) and not re.search("variable|probability", model.name):
        copy.name = model.name
    return str(BIFWriter(copy) if format == "bif" else XMLBIFWriter(copy)).encode("utf-8")


def read_bif(raw: bytes, format: str) -> DiscreteBayesianNetwork:
    """Return the network of a file in "bif" or "xmlbif", escapes in names and states decoded."""
    return build_network(*(_parse_bif if format == "bif" else _parse_xmlbif)(raw))


def _parse_bif(raw: bytes) -> tuple[States, Tables]:
    """Return the states by variable and the tables, sorted by their variables."""
    text = drop_comments(decode_text(raw), _COMMENTS)
    states: States = {}
    tables: Tables = {}
    for at, head, body in _split_blocks(text, "variable"):
        with explain_block(text, at):
            states[decode(head)] = check_labels(decode(head), _parse_states(decode(head), body), states)
    cases: dict[str, list[str]] = {}  # this format ignores case, unless names differ only by case
    for name in states:
        cases.setdefault(name.lower(), []).append(name)
    for at, head, body in _split_blocks(text, "probability"):
        with explain_block(text, at):
            name, parents = _parse_head(head, states, cases)
            tables[name] = (parents, _parse_table(name, parents, body, states, tables))
    return states, dict(sorted(tables.items()))


def _split_blocks(text: str, wanted: str) -> Iterator[tuple[int, str, str]]:
    """Yield position, head and body of the blocks of a kind; raise if the text has anything else than blocks."""
    at = len(text) - len(text.lstrip())
    while at < len(text):
        match = _BLOCK.match(text, at)
        if match is None:
            decision = _DECISION.match(text, at)
            if decision is not None:
                check_kind(decode(decision[2]), decision[1], ())
            line, words = text.count("\n", 0, at) + 1, text[at : at + 40].split("\n")[0]
            raise ValueError(f"line {line} begins no complete block of a network, variable or probability: {words!r}")
        if match[1] == wanted:
            yield at, match[2].strip(), match[3]
        at = match.end()


def _parse_states(name: str, body: str) -> list[str]:
    types = list(_TYPE.finditer(_PROPERTY.sub("", body)))
    for match in types:
        check_kind(name, match[1], ("discrete",))
    if len(types) != 1 or types[0][2] is None:
        count = "more than one" if len(types) > 1 else "no"
        raise ValueError(f"{name!r} has {count} 'type discrete [ n ] {{ states }};'")
    text, n = types[0][3], int(types[0][2])
    # The declared number of states decides how to split states that contain commas, such as (0,1].
    ways = [text.split(",") if "," in text else text.split(), re.split(r",\s", text), text.split()]
    if not _INTERVALS.sub("", text).replace(",", "").strip():
        ways.insert(0, _INTERVALS.findall(text))
    for labels in ways:
        states = [decode(label.strip()) for label in labels if label.strip()]
        if len(states) == n:
            return states
    n_states = sum(bool(label.strip()) for label in ways[0])
    raise ValueError(f"there are {n_states} states, but {n} are declared")


def _parse_table(name: str, parents: list[str], body: str, states: States, tables: Tables) -> np.ndarray:
    """Return the probabilities of a block: one table, or one row per configuration of the parents."""
    n_columns, n_states = check_family(name, parents, states, tables, len(body)), len(states[name])
    table, is_given = np.zeros((n_states, n_columns)), np.zeros(n_columns, dtype=bool)
    codes = [{state: code for code, state in enumerate(states[parent])} for parent in parents]
    default = None
    for words, mark, numbers in _split_rows(body, name):
        what = f"the table of {name!r}" if mark == "table" else f"the row {words or mark!r} of {name!r}"
        row = np.array(parse_numbers(numbers, table.size if mark == "table" else n_states, what))
        if mark == "default":
            if default is not None:
                raise ValueError(f"{what} is given twice")
            default = row
            continue
        columns = slice(None) if mark == "table" else _find_column(words, parents, states, codes)
        if is_given[columns].any():
            raise ValueError(f"{what} is given twice")
        table[:, columns] = row.reshape(table.shape) if mark == "table" else row
        is_given[columns] = True
    missing = np.flatnonzero(~is_given)
    if len(missing) and default is None:
        shape = tuple(len(states[parent]) for parent in parents)
        labels = [states[p][k] for p, k in zip(parents, np.unravel_index(missing[0], shape), strict=True)]
        raise ValueError(f"{len(missing)} row(s) of {name!r} are missing, among them ({', '.join(labels)})")
    if len(missing):
        table[:, missing] = np.array(default)[:, None]
    check_probabilities(table, name)
    return table


def _parse_head(head: str, states: States, cases: dict[str, list[str]]) -> tuple[str, list[str]]:
    """Return the variable and the parents of a block; `cases` holds the names by their lower case."""
    if not (head.startswith("(") and head.endswith(")")):
        raise ValueError(f"'( variable | parents )' is expected, got {head!r:.60}")
    name, mark, rest = head[1:-1].partition("|")
    words = [name, *rest.split(",")] if mark or decode(name.strip()) in states else name.replace(",", " ").split()
    names = []
    for word in (decode(word.strip()) for word in words if word.strip()):
        similar = cases.get(word.lower(), [])
        names.append(similar[0] if word not in states and len(similar) == 1 else word)
    if not names:
        raise ValueError("'( variable | parents )' is expected, got no variable")
    return names[0], names[1:]


def _split_rows(body: str, name: str) -> Iterator[tuple[str, str, str]]:
    """Yield the parents' states, the mark "table" or "default", and the values of each row."""
    for statement in map(str.strip, body.split(";")):
        match, noisy = _ROW.fullmatch(statement), _NOISY.match(statement)
        if match is not None:
            yield (match[1] or "").strip(), match[2] or "", match[3]
        elif noisy is not None:
            raise ValueError(f"{name!r} has a {noisy[1]} instead of a table, which is not supported")
        elif statement and not statement.startswith("property"):
            raise ValueError(f"{statement!r:.60} is not a row of the table of {name!r}")


def _find_column(text: str, parents: list[str], states: States, codes: list[dict[str, int]]) -> int:
    """Return the column for the parents' states in a text."""
    found = [own.get(decode(word.strip()), -1) for own, word in zip(codes, text.split(","), strict=False)]
    if len(found) != len(parents) or text.count(",") != len(parents) - 1 or -1 in found:
        readings = _match_states(text, [states[parent] for parent in parents])
        if len(readings) != 1:
            what = "can be read in two ways as" if readings else "names no"
            raise ValueError(f"the row ({text}) {what} states of {join_names(parents)}")
        found = list(readings[0])
    column = 0
    for code, parent in zip(found, parents, strict=True):
        column = column * len(states[parent]) + code
    return column


def _match_states(text: str, choices: Sequence[Sequence[str]]) -> list[tuple[int, ...]]:
    """Return up to two ways to read a text as one state per list, separated by commas; states may contain commas."""
    paths: dict[int, list[tuple[int, ...]]] = {0: [()]}
    for k, labels in enumerate(choices):
        after: dict[int, list[tuple[int, ...]]] = {}
        separator = re.compile(r"\s*,\s*" if k < len(choices) - 1 else r"\s*\Z")
        for at, readings in paths.items():
            for code, label in enumerate(labels):
                end = separator.match(text, at + len(label)) if text.startswith(label, at) else None
                if end:
                    more = [(*reading, code) for reading in readings]
                    after[end.end()] = [*after.get(end.end(), []), *more][:2]
        paths = after
    return paths.get(len(text), [])


def _parse_xmlbif(raw: bytes) -> tuple[States, Tables]:
    network = parse_xml(raw).find("NETWORK")
    if network is None:
        raise ValueError("it has no NETWORK")
    states: States = {}
    tables: Tables = {}
    for variable in network.findall("VARIABLE"):
        name = decode(find_text(variable, "NAME", f"variable {len(states) + 1}"))
        check_kind(name, variable.get("TYPE", "nature"), ("nature", "discrete"))
        labels = [decode(text) for text in find_texts(variable, "OUTCOME")]
        states[name] = check_labels(name, labels, states)
    for definition in network.findall("DEFINITION"):
        name = decode(find_text(definition, "FOR", f"definition {len(tables) + 1}"))
        parents = [decode(text) for text in find_texts(definition, "GIVEN")]
        _check_definition(name, definition)
        text = find_text(definition, "TABLE", f"the definition of {name!r}")
        tables[name] = (parents, read_table(name, parents, text, states, tables))
    return states, tables


def _check_definition(name: str, definition: ElementTree.Element) -> None:
    """Raise if the probabilities of a variable are not a table."""
    for child in definition:
        if _NOISY.match(child.tag):
            raise ValueError(f"{name!r} has a {child.tag} instead of a table, which is not supported")
