"""Graphs in GraphML, for other programs."""

import json
import re
from collections.abc import Iterator
from io import BytesIO
from itertools import chain

import networkx as nx
from pgmpy.base import PDAG
from pgmpy.factors.discrete import TabularCPD

from pgmx.models.files.formats import list_distinct_texts
from pgmx.models.pag import PAG

# A carriage return would be read as a line break.
_NOT_XML = re.compile("[^\t\n\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def write_graphml(graph: nx.Graph) -> bytes:
    """Return the file of a graph whose attributes GraphML can hold; raise for characters that XML forbids."""
    for text in _list_texts(graph):
        if _NOT_XML.search(text):
            raise ValueError(
                f"the name {text!r:.80} holds a character that XML forbids or changes; rename the variable, or use json"
            )
    buffer = BytesIO()
    nx.write_graphml_xml(graph, buffer)
    return buffer.getvalue()


def _list_texts(graph: nx.Graph) -> Iterator[str]:
    """Yield the names of nodes and all attributes that are text."""
    yield from (node for node in graph.nodes() if isinstance(node, str))
    attributes = chain(
        [graph.graph], (own for _, own in graph.nodes(data=True)), (own for _, _, own in graph.edges(data=True))
    )
    yield from (value for own in attributes for value in own.values() if isinstance(value, str))


def replace_forbidden(text: str) -> str:
    """Return a text without the characters that XML forbids, each replaced by U+FFFD."""
    return _NOT_XML.sub("\ufffd", text)


def write_graph(model: nx.Graph) -> bytes:
    """Return the file of any graph, with names and states as text, and numeric weights (pgmpy's may be None)."""
    names = list_distinct_texts(model.nodes(), "names of variables")
    copy = nx.DiGraph() if model.is_directed() else nx.Graph()
    tables = [cpd for cpd in getattr(model, "cpds", []) if isinstance(cpd, TabularCPD)]
    states = {cpd.variable: cpd.state_names[cpd.variable] for cpd in tables}
    for node, text in names.items():
        copy.add_node(text, **({"states": json.dumps([str(s) for s in states[node]])} if node in states else {}))
    for u, v, weight in model.edges(data="weight"):
        attributes: dict = {"weight": float(weight)} if weight is not None else {}
        if isinstance(model, PDAG):
            attributes["kind"] = "undirected" if model.has_edge(v, u) else "directed"
        if isinstance(model, PAG):
            marks = model.edges[u, v]["marks"]
            attributes["source_mark"], attributes["target_mark"] = marks[u], marks[v]
        copy.add_edge(names[u], names[v], **attributes)
    return write_graphml(copy)
