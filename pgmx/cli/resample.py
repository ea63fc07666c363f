"""The work of ``pgmx bootstrap``: learn from resamples, report the confidence of the edges."""

import sys
from pathlib import Path

from pgmx.atomic import replace_file
from pgmx.cli.console import say
from pgmx.cli.inputs.paths import GRAPH_SUFFIXES, check_targets
from pgmx.cli.inputs.sources import load, open_source
from pgmx.cli.learners import check_method, make_learner
from pgmx.cli.methods import MARKOV_METHODS
from pgmx.cli.report import (
    bins_line,
    data_line,
    edge_count,
    edges_of,
    fit_timed,
    line,
    save_page,
    strength_lines,
)


def run(
    source: str,
    *,
    resamples: int,
    threshold: float | None,
    max_time: float | None,
    out: Path | None,
    plot: Path | None,
    report: Path | None,
    quiet: bool,
    **options,
) -> None:
    """Run ``pgmx bootstrap`` with the options of `pgmx.cli.commands.bootstrap`."""
    check_targets(out, plot, (".csv", *GRAPH_SUFFIXES), report=report)
    check_method(options)
    markov = options["method"] in MARKOV_METHODS
    where = open_source(source, options)
    data, knowledge = load(where, options)

    from pgmx.estimators import BootstrapStructure

    bootstrap = BootstrapStructure(
        make_learner({**options, "n_jobs": None}, knowledge, watched=False),
        n_resamples=resamples,
        max_time=max_time,
        show_progress=sys.stderr.isatty(),
        n_jobs=options["n_jobs"],
        random_state=options["random_state"],
    )
    seconds = fit_timed(bootstrap, data.table)
    share = bootstrap.threshold_ if threshold is None else threshold
    graph = bootstrap.consensus_graph(share)

    data_line(where, data.n_rows, len(data.columns), data.truth, options["random_state"])
    bins_line(data)
    stopped = "" if bootstrap.converged_ else f" of {resamples} (stopped by --max-time)"
    line("method", f"{options['method']} ({data.score}), {bootstrap.n_resamples_} resamples{stopped}")
    edges = edges_of(graph)
    line("edges", f"{edge_count(edges)} in at least {share:.1%} of the resamples")
    line("seconds", f"{seconds:.3f}")
    if data.truth is not None:
        from pgmx.cli.learn.markov import moral_graph
        from pgmx.metrics import skeleton_scores

        truth, what = data.truth, "the true graph"
        if markov:
            truth, what = moral_graph(truth), "the moral graph of the true network"
        scores = skeleton_scores(truth, graph)
        line("pairs", f"precision {scores.precision:.3f}, recall {scores.recall:.3f} against {what}")
    strengths = bootstrap.strengths_
    if not quiet and edges:
        _list_edges(edges, strengths, directions=not markov)
    _write(graph, strengths, out, plot)
    if report is not None:
        if out is None and plot is None:
            say()
        save_page(bootstrap, report, where.name, data.table)


def _list_edges(edges: list, strengths, directions: bool) -> None:
    """Print the edges, the strongest first, with their strength and the share with the direction shown."""
    known = {
        (str(u), str(v)): (float(strength), float(direction))
        for u, v, strength, direction in strengths[["from", "to", "strength", "direction"]].itertuples(index=False)
    }
    rows = []
    for u, mark, v in edges:
        strength, direction = known.get((u, v)) or (known[v, u][0], 1.0 - known[v, u][1])
        rows.append((f"{u} {mark} {v}", strength, direction))
    columns = ("strength", "direction") if directions else ("strength",)
    strength_lines([row[: 1 + len(columns)] for row in rows], columns)


def _write(graph, strengths, out: Path | None, plot: Path | None) -> None:
    if out is not None or plot is not None:
        say()
    if out is not None:
        if out.suffix.lower() == ".csv":
            with replace_file(out) as part:
                strengths.to_csv(part, index=False, lineterminator="\n")
        else:
            from pgmx.models import save_model

            save_model(_weighted(graph, strengths), out)
        say(f"wrote {out}")
    if plot is not None:
        from pgmx.plotting import save_picture

        if len(strengths):
            save_picture(graph, plot, strengths=strengths)
            say(f"wrote {plot} (strong edges wide and dark)")
        else:
            say(f"wrote {save_picture(graph, plot)}")


def _weighted(graph, strengths):
    """Return the graph with the strengths as weights of its edges."""
    graph = graph.copy()
    for u, v, strength in strengths[["from", "to", "strength"]].itertuples(index=False):
        for edge in ((u, v), (v, u)):
            if graph.has_edge(*edge):
                graph.edges[edge]["weight"] = float(strength)
    return graph
