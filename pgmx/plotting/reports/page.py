"""The file of a report: facts and drawing as data of one HTML page."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from functools import cache
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pgmx.atomic import replace_file
from pgmx.plotting.reports.drawing import draw_page, measure_label
from pgmx.plotting.reports.engine import check_engine, make_environment
from pgmx.plotting.reports.facts import Facts, read_facts
from pgmx.plotting.reports.plain import to_text
from pgmx.plotting.reports.summary import render_summary

if TYPE_CHECKING:
    from pandas import DataFrame

__all__ = ["render_summary", "save_report"]  # learners import only this module

_HERE = Path(__file__).parent
_SCRIPTS = ("vendor/cytoscape.min.js", "vendor/cytoscape-dagre.min.js", "templates/graph.js", "templates/page.js")
_SUFFIXES = (".html", ".htm")
_MOST_LISTED = 200_000


def save_report(
    source: Any,
    path: str | PathLike[str],
    *,
    data: Any = None,
    bootstrap: Mapping | DataFrame | Any = None,
    title: str | None = None,
    notes: Iterable[str] = (),
) -> Path:
    """Write a report of a learned graph as one HTML file, which works offline in a browser.

    The graph can be dragged, zoomed and searched. A click on a node shows its parameters and its neighbourhood. The
    report also has the history of the run, the variables, a table of edges to sort and download, the options, versions,
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
        If `source` is not a learner, model or graph, it has no nodes, the suffix is not allowed, or `bootstrap` has
        other variables.
    OSError
        If the file cannot be written.
    ImportError
        If Jinja2 is missing: ``pip install 'pgmx[report]'``.

    Notes
    -----
    The same arguments give the same bytes. The embedded libraries (Cytoscape.js and its layered layout) add 0.5 MB to
    each file. Above 1,500 variables or 4,000 edges only the strongest ones are drawn, with a note; a search draws the
    neighbourhood of any other variable. Tables of parameters have at most 48 rows.

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
    facts = read_facts(source, data=data, bootstrap=bootstrap, title=title, notes=notes)
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
    notes = [*facts.notes, *limits]
    payload = {
        "names": [to_text(name) for name in facts.names],
        "widths": [round(measure_label(name)) for name in facts.names],
        "kinds": [kind[0] for kind in facts.kinds],
        "edges": [_pack_edge(edge) for edge in facts.edges[:_MOST_LISTED]],
        "weightLabel": facts.weight_label,
        "threshold": facts.threshold,
        "drawing": drawing,
        "ofVariable": {v: [table._asdict() for table in tables] for v, tables in facts.of_variable.items()},
        "ofEdge": {k: [table._asdict() for table in tables] for k, tables in facts.of_edge.items()},
        "variables": facts.variables._asdict() if facts.variables is not None else None,
        "course": facts.course,
    }
    return environment.from_string(_read("templates/report.html.jinja")).render(
        facts=facts,
        notes=notes,
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
