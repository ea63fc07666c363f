"""The display of a fitted learner in a notebook below scikit-learn's diagram: figures and a small drawing."""

from __future__ import annotations

from typing import Any

from pgmx.plotting.draw import plot_graph
from pgmx.plotting.pictures import render_svg
from pgmx.plotting.reports.engine import has_engine, make_environment
from pgmx.plotting.reports.facts import read_figures
from pgmx.plotting.time_series.summary import plot_summary_graph

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
    picture = _draw(learner.graph_, n_nodes, n_edges)
    picture = picture.replace("<svg ", f'<svg style="{_SMALL}" preserveAspectRatio="xMinYMin" ', 1)
    hint = "" if picture else "The graph is too large for a small drawing: " if n_edges else ""
    page = make_environment().from_string(_TEMPLATE)
    return page.render(style=_STYLE, figures=figures, picture=Markup(picture), hint=hint)


def _draw(graph: Any, n_nodes: int, n_edges: int) -> str:
    if hasattr(graph, "summary_graph"):
        is_small = 0 < n_nodes <= _MOST_SERIES and 0 < n_edges <= _MOST_EDGES
        return render_svg(plot_summary_graph(graph).figure) if is_small else ""
    if not n_edges or n_nodes > _MOST_NODES or (graph.is_directed() and n_edges > _MOST_EDGES):
        return ""
    weights = [value for *_, value in graph.edges(data="weight")]
    has_weights = all(isinstance(value, float) and value - value == 0 for value in weights)
    return render_svg(plot_graph(graph, strengths="weight" if has_weights else None).figure)
