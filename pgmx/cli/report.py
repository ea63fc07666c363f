"""Steps that all families of models share: fit the learner, print the report, write the files."""

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from pgmx.checks import join_names
from pgmx.cli.console import escape_controls, list_warnings, note_interrupt, say

#: Width of the labels in reports about undirected networks.
LABEL_WIDTH = 9


class Targets(NamedTuple):
    """Output files: network, picture of the graph, picture of the curves, report; None if not requested.

    `reference` is the graph with which the report compares the result.
    """

    out: Path | None
    plot: Path | None
    history: Path | None
    report: Path | None
    reference: Any = None


def line(name: str, text: str, width: int = 8) -> None:
    """Print one labelled line."""
    say(f"{name:<{width}} {text}")


def edges_of(graph) -> list[tuple[str, str, str]]:
    """List the edges of a graph as (variable, mark, variable), sorted; ``--`` for undirected ones."""
    if hasattr(graph, "definite_parents"):
        return _list_marked_edges(graph)
    arcs = set(graph.edges())
    if not graph.is_directed():
        arcs |= {(v, u) for u, v in arcs}
    edges = []
    for u, v in arcs:
        if (v, u) not in arcs:
            edges.append((str(u), "->", str(v)))
        elif (str(u), repr(u)) < (str(v), repr(v)):
            edges.append((str(u), "--", str(v)))
    return sorted(edges, key=lambda edge: (edge[0], f" {edge[1]} ", edge[2]))


def _list_marked_edges(graph) -> list[tuple[str, str, str]]:
    """List the edges of a PAG as (variable, marks, variable), sorted; arrowheads are on the right if possible."""
    edges = []
    for u, v, marks in graph.edges(data="marks"):
        left, right = sorted((u, v), key=lambda end: (marks[end] == ">", str(end)))
        edges.append((str(left), f"{'<' if marks[left] == '>' else marks[left]}-{marks[right]}", str(right)))
    return sorted(edges, key=lambda edge: (edge[0], f" {edge[1]} ", edge[2]))


def edge_count(edges: list) -> str:
    """Return the number of edges of each kind as text."""
    if any(len(mark) == 3 for _, mark, _ in edges):
        n_causes, n_hidden = (sum(mark == sign for _, mark, _ in edges) for sign in ("-->", "<->"))
        return f"{len(edges)} ({n_causes} -->, {n_hidden} <->, {sum('o' in mark for _, mark, _ in edges)} with circles)"
    n_open = sum(mark == "--" for _, mark, _ in edges)
    return f"{len(edges)} ({len(edges) - n_open} directed, {n_open} undirected)"


def data_line(where, n_rows: int, n_variables: int, truth, random_state: int, width: int = 8) -> None:
    """Print a description of the data."""
    sampled = f", sampled with random state {random_state}" if truth is not None else ""
    line("data", f"{where.name}: {n_rows} rows, {n_variables} variables{sampled}", width)


def bins_line(data, width: int = 8) -> None:
    """Print the discretisation, if there was one."""
    if data.discretizer is not None:
        counts = [len(names) for names in data.discretizer.categories_.values()]
        sizes = " to ".join(map(str, sorted({min(counts), max(counts)}))) if counts else "0"
        line("bins", f"{len(counts)} numeric columns in {sizes} bins, by {data.discretizer.method}", width)


def integers_line(data, width: int = 8) -> None:
    """Print the columns of integers that are continuous variables, if there are any."""
    if data.integers:
        line("integers", f"{join_names(data.integers)}: continuous variables, because {data.score} is for these", width)


def answer_lines(answer, how: str = "", width: int = 8) -> None:
    """Print the answer to a query, and the method of inference."""
    condition = "" if answer.evidence is None else f" | {answer.evidence} = {answer.state}"
    line("query", f"P({answer.target}{condition}){how}", width)
    names = [escape_controls(str(state)) for state in answer.states]
    wide = max(8, *map(len, names))
    say(f"  {'state':<{wide}}  {'prior':>9}" + ("" if answer.evidence is None else f"  {'posterior':>9}"))
    for name, before, after in zip(names, answer.prior, answer.posterior, strict=True):
        tail = "" if answer.evidence is None else f"  {after:>9.4f}"
        say(f"  {name:<{wide}}  {before:>9.4f}{tail}")


def prediction_lines(prediction, width: int = 8) -> None:
    """Print the prediction of a continuous variable before and after the observation of another variable."""
    value = prediction.value
    shown = f"{value:.4g}" if isinstance(value, float) else value
    condition = "" if prediction.evidence is None else f" | {prediction.evidence} = {shown}"
    line("query", f"{prediction.target}{condition}", width)
    say(f"  {'':<8}" + "".join(f"  {column:>10}" for column in prediction.columns))
    rows = [("before", prediction.before)] + ([] if prediction.evidence is None else [("after", prediction.after)])
    for name, figures in rows:
        say(f"  {name:<8}" + "".join(f"  {figure:>10.5g}" for figure in figures))


def penalty_text(learner, select: str | None) -> str:
    """Return the penalty, its share of the smallest penalty without edges, and its selection, as text."""
    text = f"{learner.lam_:.6g}"
    if learner.lam_max_ > 0 and learner.lam_ > 0:  # lam_max_ is NaN if it was not computed
        text += f", {learner.lam_ / learner.lam_max_:.3g} of the smallest penalty without edges"
    path = getattr(learner, "path_", None)
    if path is None:
        return text
    end = "; the smallest: try a smaller --lam-ratio" if path.at_end else ""
    return f"{text} (by {select} among {len(path)}{end})"


def strength_lines(rows: list, columns: tuple[str, ...], most: int | None = None) -> None:
    """Print rows (name, value, ...) of edges, sorted by decreasing absolute first value."""
    # ties by name, so that the output does not depend on the order of the graph's edges
    strongest = sorted(rows, key=lambda row: (-abs(row[1]), row[0]))[:most]
    strongest = [(escape_controls(name), *figures) for name, *figures in strongest]
    wide = max(len("edge"), *(len(row[0]) for row in strongest))
    say()
    say("  ".join([f"{'edge':<{wide}}", *columns]))
    for name, *figures in strongest:
        texts = (f"{figure:{len(column)}.3f}" for figure, column in zip(figures, columns, strict=True))
        say("  ".join([f"{name:<{wide}}", *texts]))
    if len(strongest) < len(rows):
        say(f"... and {len(rows) - len(strongest)} weaker ones")


def save_history(learner, path, measures=None) -> None:
    """Write the picture of a learner's curves."""
    from pgmx.plotting import plot_history

    axes = plot_history(learner, measures=measures)
    save_figure((axes[0] if isinstance(axes, list) else axes).figure, path)


def save_figure(figure, path) -> None:
    """Write a picture and print its path."""
    from pgmx.plotting.pictures import write_figure

    write_figure(figure, path)
    say(f"wrote {path}")


def fit_timed(learner, data, **known) -> float:
    """Fit a learner to the data and to the keyword arguments `known`; return the time in seconds.

    Ctrl-C keeps the best result so far, if there is one.
    """
    start = time.perf_counter()
    try:
        learner.fit(data, **known)
    except KeyboardInterrupt:
        if getattr(learner, "stopped_by_", "") != "interrupt":
            raise
        note_interrupt()
    return time.perf_counter() - start


def check_held_out(options: dict) -> Path | None:
    """Return the file of held-out rows, None without the option; raise an error if it does not exist."""
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
    """Write the requested files; `note` explains the picture."""
    if any(target is not None for target in targets):
        say()
    if targets.out is not None:
        from pgmx.models import save_model

        say(f"wrote {save_model(model, targets.out)}")
    if targets.plot is not None:
        from pgmx.plotting import save_picture

        say(f"wrote {save_picture(graph, targets.plot, **drawing)}{note}")
    if targets.history is not None:
        save_curves(targets.history)


def write_report(targets: Targets, learner, title: str, data, truth=None) -> None:
    """Write the report for the browser, if requested; `data` are the training rows.

    It compares the graph with the reference of the targets, or else with the true graph.
    """
    if targets.report is not None:
        reference = truth if targets.reference is None else targets.reference
        save_page(learner, targets.report, title, data, reference)


def save_page(learner, path: Path, title: str, data, reference=None) -> None:
    """Write the report for the browser and print its path."""
    from pgmx.plotting import save_report

    save_report(learner, path, data=data, reference=reference, title=title, notes=list_warnings())
    say(f"wrote {path} (open it in a browser)")
