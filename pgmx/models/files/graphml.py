"""Graphs in GraphML, for other programs."""

import json
import re
from io import BytesIO

import networkx as nx
from pgmpy.base import PDAG
from pgmpy.factors.discrete import TabularCPD

from pgmx.models.files.formats import encode_all

_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def write_graphml(graph: nx.Graph) -> bytes:
    """Return a graph whose names and attributes GraphML can hold."""
    buffer = BytesIO()
    nx.write_graphml_xml(graph, buffer)
    return buffer.getvalue()


def check_text(text: str) -> str:
    """Return the name of a variable, or raise where XML forbids a character of it."""
    if _NOT_XML.search(text):
        raise ValueError(f"the name {text!r} holds a character that XML forbids; rename the variable, or use json")
    return text


def write_graph(model: nx.Graph) -> bytes:
    """Return any graph or network, names and states as text, and weights where they are numbers (pgmpy's are None)."""
    names: dict = {}
    for node in model.nodes():
        names[node] = check_text(str(node))
    if len(set(names.values())) < len(names):
        encode_all(names, "names of variables")  # finds the two and raises
    copy = nx.DiGraph() if model.is_directed() else nx.Graph()
    tables = [cpd for cpd in getattr(model, "cpds", []) if isinstance(cpd, TabularCPD)]
    states = {cpd.variable: cpd.state_names[cpd.variable] for cpd in tables}
    for node, text in names.items():
        copy.add_node(text, **({"states": json.dumps([str(s) for s in states[node]])} if node in states else {}))
    for u, v, weight in model.edges(data="weight"):
        attributes: dict = {"weight": float(weight)} if weight is not None else {}
        if isinstance(model, PDAG):
            attributes["kind"] = "undirected" if model.has_edge(v, u) else "directed"
        copy.add_edge(names[u], names[v], **attributes)
    return write_graphml(copy)
