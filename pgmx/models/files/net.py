"""Hugin NET: fitted discrete networks.

A file has a block `net`, a block `node` per variable with its states, and a block `potential` per table. The rows of a
table are the configurations of the parents, the last parent varying fastest. Quoted text may hold any character; names
are identifiers.
"""

import re
from collections.abc import Iterator
from functools import partial

import numpy as np
import pgmpy.models

from pgmx.models.bayesian.discrete_network import DiscreteBayesianNetwork
from pgmx.models.files.discrete import (
    States,
    Tables,
    build_network,
    check_kind,
    check_labels,
    describe_network,
    explain_block,
    read_table,
)
from pgmx.models.files.formats import decode, decode_text, drop_comments, encode_distinct_texts, list_distinct_texts

_COMMENTS = r"/\*.*?(?:\*/|\Z)|(?:%|//)[^\n]*"
_BLOCK = re.compile(r"([^{}]*)\{([^{}]*)\}\s*")
# A list ends at the parenthesis before a semicolon: states without quotes may contain parentheses.
_ATTRIBUTE = re.compile(r"(\w+)\s*=(?:\s*\((.*?)\)\s*|([^;(]*));\s*", re.DOTALL)


def write_net(model: pgmpy.models.DiscreteBayesianNetwork) -> bytes:
    """Return the file of a fitted network."""
    states, tables = describe_network(
        model, "net", partial(encode_distinct_texts, letter_first=True), list_distinct_texts
    )
    blocks = ["net\n{\n    node_size = (80 40);\n}\n"]
    for name, labels in states.items():
        quoted = " ".join('"' + re.sub(r'(["\\])', r"\\\1", label) + '"' for label in labels)
        blocks.append(f"node {name}\n{{\n    states = ({quoted});\n}}\n")
    for name, (parents, table) in tables.items():
        scope = f"{name} | {' '.join(parents)}" if parents else name
        cells = table.T.reshape(*(len(states[parent]) for parent in parents), len(table))
        blocks.append(f"potential ({scope})\n{{\n    data = {_nest(cells)};\n}}\n")
    return "\n".join(blocks).encode("utf-8")


def _nest(cells: np.ndarray) -> str:
    """Return values with all their digits in nested parentheses, one level per axis."""
    if cells.ndim == 1:
        return f"({' '.join(map(repr, cells.tolist()))})"
    return f"({' '.join(map(_nest, cells))})"


def read_net(raw: bytes) -> DiscreteBayesianNetwork:
    """Return the network of a file, escapes in names and states decoded."""
    text = drop_comments(decode_text(raw), _COMMENTS)
    states: States = {}
    tables: Tables = {}
    for at, head, body in _split_blocks(text, "node"):
        with explain_block(text, at):
            states[decode(head)] = check_labels(decode(head), _parse_states(decode(head), body), states)
    for at, head, body in _split_blocks(text, "potential"):
        with explain_block(text, at):
            name, parents, data = _parse_potential(head, body)
            tables[name] = (parents, read_table(name, parents, data, states, tables))
    return build_network(states, tables)


def _split_blocks(text: str, wanted: str) -> Iterator[tuple[int, str, str]]:
    """Yield position, rest of the head, and body of the blocks of a kind; raise for blocks of other networks."""
    at = len(text) - len(text.lstrip())
    while at < len(text):
        match = _BLOCK.match(text, at)
        with explain_block(text, at):
            # The kind comes first: for a network of another kind the message says so. Without a complete block its head
            # has no end, and the kind is among its first characters.
            kind, rest = _parse_kind(text[at : at + 80] if match is None else match[1])
            if match is None:
                raise ValueError(f"there is no complete block: {text[at : at + 40]!r}")
        if kind == wanted:
            yield at, rest, match[2]
        at = match.end()


def _parse_kind(head: str) -> tuple[str, str]:
    """Return the kind of a block, net, node or potential, and the rest of its head; raise for other networks."""
    words = head.split(None, 2)
    if words[:1] == ["class"]:
        raise ValueError("it contains a class: object-oriented networks are not supported")
    if words[:1] == ["continuous"]:
        raise ValueError(f"{decode(words[-1].strip())!r:.60} is continuous: only discrete nodes are supported")
    head = re.sub(r"^discrete\s+", "", head.strip())
    kind = re.split(r"\W", head, maxsplit=1)[0]
    rest = head[len(kind) :].strip()
    if kind not in ("net", "node", "potential"):
        check_kind(decode(rest), kind, ())
    return kind, rest


def _parse_attributes(body: str, what: str) -> dict[str, str]:
    """Return the attributes of a block by name, lists without their outer parentheses."""
    attributes: dict[str, str] = {}
    at = len(body) - len(body.lstrip())
    while at < len(body):
        match = _ATTRIBUTE.match(body, at)
        if match is None:
            raise ValueError(f"{what} holds {body[at : at + 40]!r}, which is not 'name = value;'")
        if match[1] in attributes:
            raise ValueError(f"{what} has two attributes {match[1]!r}")
        attributes[match[1]] = match[2] if match[2] is not None else match[3]
        at = match.end()
    return attributes


def _parse_states(name: str, body: str) -> list[str]:
    words = _parse_attributes(body, f"the node {name!r}").get("states", "").split()
    # The format has no commas between states, but some programs write them.
    return [decode(word.removesuffix(",")) for word in words if word != ","]


def _parse_potential(head: str, body: str) -> tuple[str, list[str], str]:
    """Return the variable, the parents and the values of a table as text."""
    if not (head.startswith("(") and head.endswith(")")):
        raise ValueError(f"'( variable | parents )' is expected, got {head!r:.60}")
    child, _, rest = head[1:-1].partition("|")
    names, parents = ([decode(name) for name in text.replace(",", " ").split()] for text in (child, rest))
    if len(names) != 1:
        raise ValueError(f"a table of one variable before '|' is expected, got {child.strip()!r:.60}")
    attributes = _parse_attributes(body, f"the table of {names[0]!r}")
    if "data" not in attributes:
        expression = ", only an expression, which is not supported" if "model_data" in attributes else ""
        raise ValueError(f"the table of {names[0]!r} has no 'data'{expression}")
    return names[0], parents, attributes["data"].replace("(", " ").replace(")", " ")
