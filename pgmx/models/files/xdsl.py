"""GeNIe XDSL: fitted discrete networks.

A document has an element `cpt` per variable, with an element `state` per state, the parents, and the probabilities. The
states vary fastest, then the states of the last parent. Names and states are identifiers.
"""

from functools import partial
from xml.etree import ElementTree

import networkx as nx
import numpy as np
import pgmpy.models

from pgmx.models.bayesian.discrete_network import DiscreteBayesianNetwork
from pgmx.models.files.discrete import (
    States,
    Tables,
    build_network,
    check_family,
    check_kind,
    check_labels,
    describe_network,
    read_table,
)
from pgmx.models.files.formats import decode, encode_distinct_texts, find_text, find_texts, parse_xml
from pgmx.models.files.graphml import replace_forbidden

#: Unlike GeNIe, pyAgrum lets the states of the first parent vary fastest; its files name the program.
_FIRST_PARENT_FASTEST = "aGrUM"

#: Width and height of the nodes that GeNIe shows, in pixels, and number of columns of their grid.
_WIDTH, _HEIGHT, _COLUMNS = 120, 60, 8


def write_xdsl(model: pgmpy.models.DiscreteBayesianNetwork) -> bytes:
    """Return the file of a fitted network; parents precede their children."""
    encode_texts = partial(encode_distinct_texts, letter_first=True)
    states, tables = describe_network(model, "xdsl", encode_texts, encode_texts)
    positions = {name: v for v, name in enumerate(states)}
    graph = nx.DiGraph((parent, name) for name, (parents, _) in tables.items() for parent in parents)
    graph.add_nodes_from(states)
    # Ties keep the order of the nodes: the same network gives the same file.
    order = list(nx.lexicographical_topological_sort(graph, key=lambda name: positions[name]))
    root = ElementTree.Element("smile", version="1.0", id="network", numsamples="10000", discsamples="10000")
    nodes = ElementTree.SubElement(root, "nodes")
    layout = ElementTree.SubElement(ElementTree.SubElement(root, "extensions"), "genie", version="1.0", app="pgmx")
    for k, name in enumerate(order):
        parents, table = tables[name]
        node = ElementTree.SubElement(nodes, "cpt", id=name)
        for state in states[name]:
            ElementTree.SubElement(node, "state", id=state)
        if parents:
            ElementTree.SubElement(node, "parents").text = " ".join(parents)
        # `repr` keeps every bit.
        ElementTree.SubElement(node, "probabilities").text = " ".join(map(repr, table.T.ravel().tolist()))
        extension = ElementTree.SubElement(layout, "node", id=name)
        ElementTree.SubElement(extension, "name").text = replace_forbidden(decode(name))
        # half a width between columns, a height between rows
        left, top = (k % _COLUMNS) * 3 * _WIDTH // 2, (k // _COLUMNS) * 2 * _HEIGHT
        ElementTree.SubElement(extension, "position").text = f"{left} {top} {left + _WIDTH} {top + _HEIGHT}"
    layout.set("name", "network")
    ElementTree.indent(root)
    return ElementTree.tostring(root, encoding="utf-8", xml_declaration=True)


def read_xdsl(raw: bytes) -> DiscreteBayesianNetwork:
    """Return the network of a file, escapes in names and states decoded."""
    root = parse_xml(raw)
    if root.tag != "smile" or root.find("nodes") is None:
        raise ValueError(f"a document 'smile' with 'nodes' is expected, got {root.tag!r:.60}")
    if root.find("dynamic") is not None:
        raise ValueError("it is a dynamic Bayesian network, which is not supported")
    writer = root.find("extensions/genie")
    reverse = writer is not None and writer.get("app", "").startswith(_FIRST_PARENT_FASTEST)
    states: States = {}
    tables: Tables = {}
    nodes = list(root.iterfind("nodes/*"))
    for node in nodes:
        name = decode(node.get("id", ""))
        check_kind(name, node.tag, ("cpt", "deterministic"), ", only tables (cpt, deterministic)")
        states[name] = check_labels(name, [decode(state.get("id", "")) for state in node.findall("state")], states)
    for node in nodes:
        name, lists = decode(node.get("id", "")), find_texts(node, "parents")
        if len(lists) > 1:
            raise ValueError(f"{name!r} has more than one list of parents")
        parents = [decode(parent) for parent in " ".join(lists).split()]
        if node.tag == "cpt":
            text = find_text(node, "probabilities", f"the definition of {name!r}")
            table = read_table(name, parents, text, states, tables, reverse=reverse)
        else:
            text = find_text(node, "resultingstates", f"the definition of {name!r}")
            table = _read_results(name, parents, text, states, tables)
        tables[name] = (parents, table)
    return build_network(states, tables)


def _read_results(name: str, parents: list[str], text: str, states: States, tables: Tables) -> np.ndarray:
    """Return the table of a deterministic node from its states for the configurations of the parents."""
    results = [decode(word) for word in text.split()]
    # The text holds one state per column, not a column of probabilities.
    n_columns = check_family(name, parents, states, tables, len(text) * len(states[name]))
    codes = {state: code for code, state in enumerate(states[name])}
    unknown = [state for state in results if state not in codes]
    if unknown or len(results) != n_columns:
        held = f"the unknown state {unknown[0]!r}" if unknown else f"{len(results)} states"
        raise ValueError(f"the results of {name!r} must be {n_columns} of its states, got {held}")
    table = np.zeros((len(states[name]), n_columns))
    table[[codes[state] for state in results], np.arange(n_columns)] = 1.0
    return table
