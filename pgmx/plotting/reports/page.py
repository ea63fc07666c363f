"""HTML of learned graphs: the file of a report, and the summary of a fitted learner in a notebook.

Jinja2 (the extra ``report``) fills in the templates. The page holds its facts and the positions of the nodes as JSON.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from functools import cache
from importlib.util import find_spec
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from pgmx.atomic import replace_file
from pgmx.plotting.graphs.communities import MOST_APART, Overview, compute_overview
from pgmx.plotting.graphs.draw import plot_graph
from pgmx.plotting.graphs.layered_layout import MOST_IN_LAYERS, compute_layout
from pgmx.plotting.graphs.scene import measure_text
from pgmx.plotting.graphs.spring_layout import (
    compute_circular_layout,
    compute_spring_layout,
    count_readable,
    find_communities,
)
from pgmx.plotting.labels import shorten_names
from pgmx.plotting.pictures import render_svg
from pgmx.plotting.reports.answers import pack_answers
from pgmx.plotting.reports.edges import VERDICTS, Edge, count_edges
from pgmx.plotting.reports.facts import Facts, read_facts, read_figures
from pgmx.plotting.reports.tables import to_text
from pgmx.plotting.series_graphs import plot_summary_graph

if TYPE_CHECKING:
    from networkx import Graph
    from pandas import DataFrame

    from pgmx.fitted import FittedLearner

__all__ = ["render_summary", "save_report"]  # learners import only this module
_HERE = Path(__file__).parent
_SCRIPTS = (
    "vendor/cytoscape.min.js",
    "vendor/cytoscape-dagre.min.js",
    "templates/communities.js",
    "templates/graph.js",
    "templates/junction_tree.js",
    "templates/gaussian_network.js",
    "templates/mixed_network.js",
    "templates/panel.js",
    "templates/page.js",
)
_SUFFIXES = (".html", ".htm")
_MOST_LISTED = 200_000
_MOST_STATIC = 1000
#: Maximum nodes and edges that a browser moves without delay.
MOST_NODES, MOST_EDGES = 1500, 4000
_LONGEST_LABEL = 24
_FONT, _PADDING = 11.0, 16.0  # in the unit of the layout
_FLATTEST = 4.0  # maximum ratio of width to height of a layered drawing; otherwise springs are used
_MOST_ON_CIRCLE = 24


def save_report(
    source: Any,
    path: str | PathLike[str],
    *,
    data: Any = None,
    bootstrap: Mapping | DataFrame | Any = None,
    reference: Graph | FittedLearner | None = None,
    title: str | None = None,
    notes: Iterable[str] = (),
) -> Path:
    """Write a report of a learned graph as one HTML file, which works offline in a browser.

    The graph can be dragged, zoomed and searched. A click on a node shows its parameters and its neighbourhood. The
    page answers questions: a click on a state observes it, or sets it (do), and all distributions follow. The report
    also has the history of the run, the variables, a table of edges to sort and download, the options, versions,
    warnings and limits.

    Parameters
    ----------
    source : learner, model or graph
        A fitted learner, a Bayesian or Markov network, a linear dynamical system, or a pgmpy or networkx graph.
    path : str or path-like
        The file to write; the suffix is ``.html`` or ``.htm``.
    data : DataFrame, array, DiscreteTable or path, optional
        The training rows; the report shows their number, states and missing values. Default: the `data` of the
        learner's constructor, else the states of the model.
    bootstrap : BootstrapStructure, DataFrame or mapping, optional
        Confidence of the edges: a fitted bootstrap, its ``strengths_``, or shares ``{(u, v): share}``. A slider hides
        edges below a share. Default: `source`, if it is a bootstrap.
    reference : pgmpy or networkx graph, or fitted learner, optional
        A graph on the same variables for comparison. Edges are coloured and dashed as shared, with another direction,
        not in the reference, or only in the reference, as by :func:`pgmx.plotting.plot_graph`; a legend counts them.
    title : str, optional
        The heading. Default: the name of the class.
    notes : iterable of str, default=()
        Sentences to add to the warnings and limits.

    Returns
    -------
    pathlib.Path
        The file written.

    Raises
    ------
    AttributeError
        If the learner is not fitted.
    TypeError, ValueError
        If `source` or `reference` is not a learner, model or graph, only one is a PAG, `source` has no nodes, the
        suffix is not allowed, or `bootstrap` or `reference` has other variables.
    OSError
        If the file cannot be written.
    ImportError
        If Jinja2 is missing: ``pip install 'pgmx[report]'``.

    Notes
    -----
    The same arguments give the same bytes. The embedded libraries (Cytoscape.js and its layered layout) add 0.5 MB to
    each file. Above 100 variables the graph begins as communities, and a click on a disc opens it. Above 1,500
    variables or 4,000 edges only the strongest ones are drawn, with a note; a search draws the neighbourhood of any
    other variable. Tables of parameters have at most 48 rows.

    Discrete Bayesian and Markov networks answer exactly if their junction tree has at most 2 million cells, Gaussian
    networks with at most 250 variables by conditioning, and mixed networks within both limits; a note says why others
    do not. Distributions, means with 95 % intervals, the probability of the evidence, the most probable configuration
    and the mutual information with a target come from the model's parameters in double precision. Without JavaScript
    the page shows a picture of a small graph, its edges and its variables.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from pgmx.datasets import load_network, sample
    >>> from pgmx.estimators import HillClimbSearch
    >>> from pgmx.plotting import save_report
    >>> rows = sample(load_network("asia"), 500)
    >>> learned = HillClimbSearch(scoring_method="bic").fit(rows)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = save_report(learned, pathlib.Path(folder) / "report.html", data=rows)
    ...     path.read_text(encoding="utf-8")[:15]
    '<!DOCTYPE html>'
    """
    path = check_report_path(path)
    facts = read_facts(source, data=data, bootstrap=bootstrap, reference=reference, title=title, notes=notes)
    if not facts.names:
        raise ValueError("the graph has no nodes: there is nothing to report")
    text = render_page(facts)
    with replace_file(path) as part:
        part.write_text(text, encoding="utf-8")
    return path


def check_report_path(path: str | PathLike[str]) -> Path:
    """Return `path` as a Path; ValueError for another suffix, ImportError without Jinja2."""
    check_engine()
    path = Path(path)
    if path.suffix.lower() not in _SUFFIXES:
        raise ValueError(f"a report is written to a file ending in {' or '.join(_SUFFIXES)}, got {path.name!r}")
    return path


def render_page(facts: Facts) -> str:
    """Return the HTML; names reach it as escaped text and as JSON, never as code."""
    environment = make_environment(lstrip_blocks=True)
    from markupsafe import Markup

    drawing, limits = draw_page(facts)
    answers, reasons = pack_answers(facts.model)
    notes = [*facts.notes, *limits]
    labels = make_labels(facts.names)
    payload = {
        "names": [to_text(name) for name in facts.names],
        # labels that are cut; the others are the names
        "labels": {v: label for v, label in enumerate(labels) if label != to_text(facts.names[v])},
        "widths": [round(measure_label(label)) for label in labels],
        "kinds": [kind[0] for kind in facts.kinds],
        "edges": [_pack_edge(edge) for edge in facts.edges[:_MOST_LISTED]],
        "weightLabel": facts.weight_label,
        "threshold": facts.threshold,
        "verdicts": [[verdict, VERDICTS[verdict], count_edges(facts.edges, verdict)] for verdict in facts.verdicts],
        "drawing": drawing,
        "ofVariable": {v: [table._asdict() for table in tables] for v, tables in facts.of_variable.items()},
        "ofEdge": {k: [table._asdict() for table in tables] for k, tables in facts.of_edge.items()},
        "variables": facts.variables._asdict() if facts.variables is not None else None,
        "history": facts.history,
        "answers": answers,
    }
    return environment.from_string(_read("templates/report.html.jinja")).render(
        facts=facts,
        notes=notes,
        reasons=reasons,
        picture=Markup(_draw_small(facts.graph, len(facts.names), len(facts.edges), facts.reference)),
        listed=_list_static(facts),
        has_answers=answers is not None,
        answers_in_states=answers is not None and any(answers.get("states", ())),
        answers_are_mixed=answers is not None and "tree" in answers,
        payload=Markup(_encode(payload)),
        style=Markup(_read("templates/report.css")),
        scripts=[Markup(_read(name)) for name in _SCRIPTS],
    )


def _pack_edge(edge: Any) -> list:
    return [
        edge.u,
        edge.v,
        int(edge.is_arrow),
        edge.weight,
        edge.confidence,
        edge.direction,
        edge.lags,
        int(edge.is_chosen),
        edge.sign,
        edge.p_value,
        *([edge.verdict, edge.other] if edge.verdict else []),
    ]


def _list_static(facts: Facts) -> list[tuple[str, ...]]:
    """Return the first edges as text, for a page without scripts."""
    edges = [edge for edge in facts.edges if edge.is_in_either][:_MOST_STATIC]
    names = [to_text(name) for name in facts.names]
    return [
        (
            names[edge.u],
            edge.sign or ("→" if edge.is_arrow else "—"),
            names[edge.v],
            *([VERDICTS[edge.verdict]] if edge.verdict else []),
        )
        for edge in edges
    ]


def _encode(payload: Any) -> str:
    """Return JSON for a script element; characters that could end the element are escaped."""
    text = json.dumps(payload, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text


@cache
def _read(name: str) -> str:
    return (_HERE / name).read_text(encoding="utf-8")


# ---- Jinja2 ----


def has_engine() -> bool:
    """Return whether Jinja2 is installed."""
    return find_spec("jinja2") is not None


def check_engine() -> None:
    """Raise ImportError if Jinja2 is missing."""
    if not has_engine():
        raise ImportError("a report needs Jinja2, which is not installed: pip install 'pgmx[report]'")


def make_environment(**options: Any) -> Any:
    """Return an environment that escapes its input."""
    check_engine()
    from jinja2 import Environment

    return Environment(autoescape=True, trim_blocks=True, **options)


# ---- nodes and edges that are drawn ----


def draw_page(facts: Facts) -> tuple[dict[str, Any], list[str]]:
    """Return nodes [v, x, y], indices of edges and their bends, communities, and notes about what is left out."""
    nodes, edges, notes = _choose_edges(facts)
    place = {v: k for k, v in enumerate(nodes)}
    all_labels = make_labels(facts.names)
    labels = [all_labels[v] for v in nodes]
    widths = [measure_label(label) for label in labels]
    chosen = [facts.edges[k] for k in edges]
    pairs = _list_pairs(chosen)
    of_series = any(edge.lags for edge in facts.edges)
    centres, bends = _compute_positions(pairs, place, widths, of_series=of_series)
    routes = {}
    for k, edge in zip(edges, chosen, strict=True):
        route = bends.get((place[edge.u], place[edge.v]))
        if route is not None:
            routes[k] = _round_points(route)
    spots = [[v, x, y] for v, (x, y) in zip(nodes, _round_points(centres), strict=True)]
    overview = None
    if len(nodes) > MOST_APART:
        overview = _pack_overview(compute_overview(labels, _list_strongest(pairs, place)))
    return {"nodes": spots, "edges": edges, "bends": routes, "overview": overview}, notes


def _round_points(points: np.ndarray) -> list[list[float]]:
    """Return points for the browser, whose y points down."""
    return [[round(float(x), 1), round(-float(y), 1)] for x, y in points]


def _pack_overview(overview: Overview) -> dict[str, Any]:
    """Return discs [x, y, radius, caption], dots [x, y, disc] in the order of the nodes, and the size of letters."""
    middles = _round_points(np.array([disc.centre for disc in overview.discs]))
    discs = [
        [*middle, round(disc.radius, 1), disc.caption] for middle, disc in zip(middles, overview.discs, strict=True)
    ]
    dots = zip(_round_points(overview.centres), overview.labels.tolist(), strict=True)
    return {"discs": discs, "dots": [[*dot, disc] for dot, disc in dots], "font": round(overview.font, 1)}


def make_labels(names: Iterable[Any]) -> list[str]:
    """Return the texts of nodes."""
    return shorten_names(map(to_text, names), _LONGEST_LABEL)


def measure_label(label: str) -> float:
    """Return the width of a node's box."""
    return measure_text(label, _FONT) + _PADDING


def _list_pairs(edges: list[Edge]) -> list[Edge]:
    """Return the edges by which nodes are placed, one of each pair: opposite arcs are one line."""
    joined = [edge for edge in edges if edge.u != edge.v]
    joined = [edge for edge in joined if edge.is_in_either] or joined
    return list({frozenset((edge.u, edge.v)): edge for edge in joined}.values())


def _list_strongest(pairs: list[Edge], place: dict[int, int]) -> list[tuple[int, int]]:
    """Return the strongest pairs of places, as many as can be read."""
    strongest = sorted(pairs, key=lambda edge: -_measure_edge(edge))[: count_readable(len(place))]
    return sorted((place[edge.u], place[edge.v]) for edge in strongest)


def _compute_positions(
    pairs: list[Edge], place: dict[int, int], widths: list[float], *, of_series: bool
) -> tuple[np.ndarray, dict]:
    """Return centres and bends: layers for graphs with arrows, a circle for a few series, else springs."""
    if of_series and len(widths) <= _MOST_ON_CIRCLE:
        return compute_circular_layout(widths), {}
    if not of_series and len(widths) <= MOST_IN_LAYERS and any(edge.is_arrow for edge in pairs):
        arrows = [(place[edge.u], place[edge.v]) for edge in pairs if edge.is_arrow]
        lines = [(place[edge.u], place[edge.v]) for edge in pairs if not edge.is_arrow]
        centres, bends = compute_layout(widths, arrows, lines)
        width, height = np.ptp(centres, axis=0)
        if len(widths) < 60 or width <= _FLATTEST * height:
            return centres, bends
    lines = _list_strongest(pairs, place)
    communities = find_communities(len(widths), lines) if len(widths) > MOST_IN_LAYERS else None
    return compute_spring_layout(widths, lines, communities), {}


def _choose_edges(facts: Facts) -> tuple[list[int], list[int], list[str]]:
    """Return the variables and the indices of the edges to draw; if there are too many, the strongest ones."""
    ranks = sorted(
        range(len(facts.edges)), key=lambda k: (not facts.edges[k].is_in_either, -_measure_edge(facts.edges[k]), k)
    )
    n, notes = len(facts.names), []
    members = set(range(n))
    if n > MOST_NODES:
        members = set()
        for k in ranks:
            ends = {facts.edges[k].u, facts.edges[k].v}
            if len(members | ends) <= MOST_NODES:
                members |= ends
        notes.append(
            f"The graph shows {len(members):,} of {n:,} variables, the ends of the strongest edges. A search draws the "
            "neighbourhood of any other variable. The table lists all edges."
        )
    within = [k for k in ranks if {facts.edges[k].u, facts.edges[k].v} <= members]
    if len(within) > MOST_EDGES:
        notes.append(
            f"The graph shows the strongest {MOST_EDGES:,} of {len(within):,} edges. The table lists all edges."
        )
    return sorted(members), sorted(within[:MOST_EDGES]), notes


def _measure_edge(edge: Edge) -> float:
    sizes = [abs(float(value)) for value in (edge.confidence, edge.weight) if value is not None]
    return sizes[0] if sizes else 0.0


# ---- the summary in a notebook ----


_MOST_NODES, _MOST_EDGES, _MOST_SERIES = 60, 150, 20  # maximum sizes of a small, readable drawing
_STYLE = (
    "display:flex;flex-wrap:wrap;gap:4px 18px;align-items:baseline;margin:8px 0;"
    "font:13px system-ui,'Segoe UI','Helvetica Neue',Arial,sans-serif"
)
_SMALL = "max-width:100%;max-height:440px"
_TEMPLATE = """\
<div class="pgmx-result"><div style="{{ style }}">
{% for label, value in figures %}
<span>{{ label }} <b>{{ "{:,}".format(value) if value is number else value }}</b></span>
{% endfor %}
</div>
{% if picture %}<div>{{ picture }}</div>{% endif %}
<div style="{{ style }}"><span>{{ hint }}<code>.report("report.html")</code> shows more, in a browser.</span></div>
</div>
"""


def render_summary(learner: Any) -> str:
    """Return HTML with the figures of a fitted learner and a drawing of a small graph; empty without Jinja2."""
    if not has_engine():
        return ""
    from markupsafe import Markup

    figures, n_nodes, n_edges = read_figures(learner)
    picture = _draw_small(learner.graph_, n_nodes, n_edges)
    picture = picture.replace("<svg ", f'<svg style="{_SMALL}" preserveAspectRatio="xMinYMin" ', 1)
    hint = "" if picture else "The graph is too large for a small drawing: " if n_edges else ""
    page = make_environment().from_string(_TEMPLATE)
    return page.render(style=_STYLE, figures=figures, picture=Markup(picture), hint=hint)


def _draw_small(graph: Any, n_nodes: int, n_edges: int, reference: Any = None) -> str:
    has_numbers = any(marks for *_, marks in graph.edges(data=True))
    if hasattr(graph, "summary_graph") and has_numbers:
        is_small = 0 < n_nodes <= _MOST_SERIES and 0 < n_edges <= _MOST_EDGES
        return render_svg(plot_summary_graph(graph).figure) if is_small else ""
    if not n_edges or n_nodes > MOST_NODES or n_edges > MOST_EDGES:
        return ""
    if n_nodes > _MOST_NODES or (graph.is_directed() and n_edges > _MOST_EDGES):
        return render_svg(plot_graph(graph, reference=reference, layout="communities").figure)
    weights = [value for *_, value in graph.edges(data="weight")]
    has_weights = all(isinstance(value, float) and value - value == 0 for value in weights)
    return render_svg(plot_graph(graph, reference=reference, strengths="weight" if has_weights else None).figure)
