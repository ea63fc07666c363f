"""Networks from files, or bundled with pgmpy: reading, and the work of ``pgmx convert`` and ``pgmx show``."""

import tempfile
import webbrowser
from io import BytesIO
from pathlib import Path
from typing import Any

from pgmx.checks import explain_unreadable
from pgmx.cli.console import say
from pgmx.cli.knowledge import lagged_name
from pgmx.cli.paths import check_page, check_writable
from pgmx.cli.tables import open_input
from pgmx.fitted import get_series_graph


def read_network(text: str, format: str | None = None) -> Any:
    """Read a graph or a network, bundled or from a file; a model of time series gives a graph over (name, lag)."""
    return get_series_graph(read_any(text, format))


def read_any(text: str, format: str | None = None) -> Any:
    """Read a graph, a network or a linear dynamical system, bundled or from a file; .graphml may hold a graph alone."""
    from pgmx.datasets import list_networks, load_network

    names = list_networks()
    if text in names:
        return load_network(text)
    path = Path(text)
    if path.is_dir():
        raise ValueError(f"{text} is a folder: give the file of a network")
    if not path.is_file():
        if path.suffix or len(path.parts) > 1:
            raise ValueError(f"no such file: {text}")
        raise ValueError(f"{text!r} is neither a file nor a bundled network ({', '.join(names)})")
    from pgmx.models import read_model
    from pgmx.models.any_model import FORMATS
    from pgmx.models.files.formats import find_format

    path, format = find_format(path, format, FORMATS)
    if format == "graphml":  # it may hold a graph without parameters
        return _read_graphml(path)
    model = read_model(path, format)
    list_nodes = getattr(model, "nodes", None)
    if list_nodes is not None and not list(list_nodes()):
        raise ValueError(f"{path} holds no variables: is it a file in {format} form?")
    return model


def _read_graphml(path: Path):
    import networkx as nx

    from pgmx.models.files.formats import read_content

    raw = read_content(path)
    with explain_unreadable(path, "cannot be read", "mend the file, or save the graph again"):
        graph = nx.read_graphml(BytesIO(raw))
    if graph.is_multigraph():
        raise ValueError(f"{path} has parallel edges, so it is not the graph of a network: remove them")
    if len(graph) and all("log_potentials" in attributes for _, attributes in graph.nodes(data=True)):
        from pgmx.models import load_markov_network

        return load_markov_network(path, "graphml")
    if graph.graph.get("type") == "GaussianMarkovNetwork":
        from pgmx.models import load_gaussian_network

        return load_gaussian_network(path, "graphml")
    return graph


def with_text_names(graph, text: str):
    """Return the graph alone, its nodes named by text, because not all file formats keep the types of names."""
    import networkx as nx

    is_lagged = hasattr(graph, "lagged_edges")
    names = {node: lagged_name(*node) if is_lagged else str(node) for node in graph.nodes()}
    if len(set(names.values())) < len(names):
        raise ValueError(f"{text}: two variables have the same name as text, rename one of them")
    plain = nx.DiGraph() if graph.is_directed() else nx.Graph()
    plain.add_nodes_from(names.values())
    plain.add_edges_from((names[u], names[v]) for u, v in graph.edges())
    return plain


# ---- commands ----


def convert(source: str, target: Path, *, format: str | None) -> None:
    """Read a graph or a network and write it in the format that the suffix of the target names."""
    from pgmx.models import save_model
    from pgmx.models.any_model import FORMATS
    from pgmx.models.files.formats import check_target

    check_writable(target, "OUT")
    check_target(target, None, FORMATS)
    say(f"wrote {save_model(read_any(source, format), target)}")


def show(
    model: str, *, format: str | None, data: Path | None, reference: str | None, out: Path | None, **options: Any
) -> None:
    """Write the page of a network and, without an output file, open it in the browser."""
    from pgmx.plotting import save_report

    if out is not None:
        check_page(out, "--out")
    network = read_network(model, format)
    other = None if reference is None else read_network(reference)
    rows = None if data is None else open_input(data, options)
    name = Path(model).stem
    path = out or Path(tempfile.mkdtemp(prefix="pgmx-")) / f"{name}.html"
    say(f"wrote {save_report(network, path, data=rows, reference=other, title=name)}")
    if out is None and not webbrowser.open(path.as_uri()):
        say("no browser was found: open this file in a browser")
