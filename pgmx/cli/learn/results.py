"""What all families of models share once a learner is made: fitting it, listing edges, writing files."""

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import click

from pgmx.cli.report import strength_lines

#: Width of the labels in reports about networks without directions.
LABEL_WIDTH = 9


class Targets(NamedTuple):
    """Files to write: the network, the picture of the graph, the picture of the curves; None where not wanted."""

    out: Path | None
    plot: Path | None
    history: Path | None


def fit_timed(learner, data) -> float:
    """Fit a learner; return the seconds that it took."""
    start = time.perf_counter()
    learner.fit(data)
    return time.perf_counter() - start


def check_held_out(options: dict) -> Path | None:
    """Return the file of rows to judge the result by, None without; refuse one that does not exist."""
    path = options["held_out"]
    if path is not None and not path.exists():
        raise ValueError(f"--held-out {path}: no such file")
    return path


def list_edges(graph, column: str, most: int | None = None) -> None:
    """Print the edges of an undirected graph with their weights, the strongest first."""
    if graph.number_of_edges():
        edges = graph.edges(data="weight")
        strength_lines([(" -- ".join(sorted((str(u), str(v)))), weight) for u, v, weight in edges], (column,), most)


def write_results(
    targets: Targets, model, graph, note: str, save_curves: Callable[[Path], None], **drawing: Any
) -> None:
    """Write the files that are wanted; `note` says how the picture is to be read."""
    if any(target is not None for target in targets):
        click.echo()
    if targets.out is not None:
        from pgmx.models import save_model

        click.echo(f"wrote {save_model(model, targets.out)}")
    if targets.plot is not None:
        from pgmx.plotting import save_picture

        click.echo(f"wrote {save_picture(graph, targets.plot, **drawing)}{note}")
    if targets.history is not None:
        save_curves(targets.history)
