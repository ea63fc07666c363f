"""The history of a run as curves."""

from __future__ import annotations

from typing import Any

import numpy as np

from pgmx.plotting.reports.plain import to_cell

_MOST_POINTS = 400
_LABELS = {
    "score": "score, nats",
    "objective": "objective, nats per row",
    "n_edges": "edges",
    "recall": "share of the true edges found",
    "held_out": "NPLL of held-out rows, nats per row",
    "n_tests": "scores of pairs computed",
    "n_tables": "pair tables counted",
}


def read_course(source: Any) -> dict[str, Any] | None:
    """Return ``{"x", "label", "curves": [{"label", "y"}, ...]}`` of a learner's history; None without one."""
    history = getattr(source, "history_", None)
    if not isinstance(history, dict):
        return None
    curves = {name: np.asarray(values) for name, values in history.items()}
    curves = {name: values for name, values in curves.items() if values.ndim == 1 and values.dtype.kind in "fiu"}
    n_points = max((len(values) for values in curves.values()), default=0)
    if n_points < 2:
        return None
    timed = len(curves.get("seconds", ())) == n_points
    x = curves["seconds"] if timed else np.arange(n_points)
    shown = np.unique(np.linspace(0, n_points - 1, min(n_points, _MOST_POINTS)).round().astype(int))
    lines = [
        {"label": _LABELS[name], "y": [to_cell(y, 8) for y in values[shown]]}
        for name, values in curves.items()
        if name in _LABELS and len(values) == n_points and np.isfinite(values).any()
    ]
    if not lines:
        return None
    label = "seconds" if timed else "step"
    return {"x": [to_cell(v, 6) for v in x[shown]], "label": label, "curves": lines}
