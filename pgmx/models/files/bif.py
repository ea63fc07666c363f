"""BIF and XMLBIF: fitted discrete networks, through the readers and writers of pgmpy."""

import re

from pgmpy.factors.discrete import TabularCPD
from pgmpy.models import DiscreteBayesianNetwork
from pgmpy.readwrite import BIFReader, BIFWriter, XMLBIFReader, XMLBIFWriter

from pgmx.checks import join_names
from pgmx.models.files.formats import decode, encode_all

_NAME_MARKS = frozenset("-.")


def write_bif(model: DiscreteBayesianNetwork, format: str) -> str:
    """Return a fitted network as "bif" or "xmlbif"."""
    if len(model) == 0:
        raise ValueError(f"the network has no nodes; {format} cannot hold it")
    model.check_model()  # says which node has no parameters, or wrong ones
    # BIF readers ignore the case of names, XMLBIF knows only letters, digits and underscores in states.
    names = encode_all(model.nodes(), "names of variables", _NAME_MARKS, ignore_case=format == "bif")
    marks = _NAME_MARKS if format == "bif" else frozenset()
    states = {}
    for cpd in model.cpds:
        labels = cpd.state_names[cpd.variable]
        texts = encode_all(labels, f"states of {cpd.variable!r}", marks)
        states[cpd.variable] = [texts[state] for state in labels]
    # A copy: the XMLBIF writer sorts the list of CPDs of the network that it is given.
    copy = _rename(model, names, states)
    if re.fullmatch("[A-Za-z0-9_-]+", model.name) and not re.search("variable|probability", model.name):
        copy.name = model.name
    return str(BIFWriter(copy) if format == "bif" else XMLBIFWriter(copy))


def read_bif(text: str, format: str, path: object) -> DiscreteBayesianNetwork:
    """Return the network of a text in "bif" or "xmlbif", escapes in names and states decoded; `path` is for errors."""
    reader = BIFReader if format == "bif" else XMLBIFReader
    try:
        network = reader(string=text or " ").get_model()  # no text at all would mean another argument
    except SyntaxError as error:  # of XML
        raise ValueError(f"{path} cannot be read as {format}: {error}") from error
    if len(network) == 0:
        raise ValueError(f"{path} holds no {format} network")
    bare = [name for name in network.nodes() if network.get_cpds(name) is None]
    if bare:
        raise ValueError(
            f"{path} holds no probabilities of {join_names(map(decode, bare))}: it is cut short or damaged"
        )
    names = {name: decode(name) for name in network.nodes()}
    states = {cpd.variable: [decode(state) for state in cpd.state_names[cpd.variable]] for cpd in network.cpds}
    return _rename(network, names, states)


def _rename(model: DiscreteBayesianNetwork, names: dict, states: dict) -> DiscreteBayesianNetwork:
    """Return a copy with other names of nodes and of states, and without attributes."""
    copy = DiscreteBayesianNetwork()
    copy.add_nodes_from(names[node] for node in model.nodes())
    copy.add_edges_from((names[u], names[v]) for u, v in model.edges())
    for cpd in model.cpds:
        copy.add_cpds(
            TabularCPD(
                names[cpd.variable],
                int(cpd.cardinality[0]),
                cpd.get_values(),
                [names[name] for name in cpd.variables[1:]],
                [int(card) for card in cpd.cardinality[1:]],
                state_names={names[name]: states[name] for name in cpd.variables},
            )
        )
    return copy
