"""The work of ``pgmx posterior``: probabilities of edges, averaged over structures."""

import sys
from pathlib import Path

from pgmx.cli.learn.command import list_edges, write_strengths
from pgmx.cli.paths import GRAPH_SUFFIXES, check_targets
from pgmx.cli.report import bins_line, data_line, edge_count, edges_of, fit_timed, integers_line, line, save_page
from pgmx.cli.tables import load, open_source
from pgmx.scores.registry import check_score_name

#: Options of ``pgmx learn`` that reading a table asks for.
_NOT_GIVEN = ("root", "class_node", "test", "loss")


def run_posterior(
    source: str,
    *,
    threshold: float,
    max_time: float | None,
    out: Path | None,
    plot: Path | None,
    report: Path | None,
    quiet: bool,
    **options,
) -> None:
    """Run ``pgmx posterior`` with the options of `pgmx.cli.commands.posterior`."""
    check_targets(out, plot, (".csv", *GRAPH_SUFFIXES), report=report)
    if options["missing"] == "em":
        raise ValueError("--missing em is not for posteriors: choose one of error, drop, category, pairwise")
    if options["score"] is not None:
        options["score"] = check_score_name(options["score"])
    where = open_source(source, options)
    data, knowledge = load(where, {**dict.fromkeys(_NOT_GIVEN), **options, "method": "hill-climb"})

    from pgmx.estimators import StructurePosterior

    posterior = StructurePosterior(
        scoring_method=options["score"],
        method=options["method"],
        over=options["over"],
        structure_prior=options["prior"],
        max_indegree=options["max_indegree"],
        n_candidates=options["candidates"],
        max_time=max_time,
        missing=options["missing"],
        show_progress=sys.stderr.isatty(),
        n_jobs=options["n_jobs"],
        random_state=options["random_state"],
        **knowledge,
    )
    seconds = fit_timed(posterior, data.table, **data.fit_arguments)
    graph = posterior.consensus_graph(threshold)

    score = options["score"] or ("bge" if data.network == "gaussian" else "bdeu")
    data_line(where, data.n_rows, len(data.columns), data.truth, options["random_state"])
    bins_line(data)
    integers_line(data)
    stopped = "" if posterior.converged_ else f", stopped by {posterior.stopped_by_}"
    line("method", f"{posterior.method_} over {options['over']} ({score}, {options['prior']} prior{stopped})")
    edges = edges_of(graph)
    line("edges", f"{edge_count(edges)} of probability {threshold:g} or more")
    line("seconds", f"{seconds:.3f}")
    if data.truth is not None:
        from pgmx.metrics import skeleton_scores

        scores = skeleton_scores(data.truth, graph)
        line("pairs", f"precision {scores.precision:.3f}, recall {scores.recall:.3f} against the true graph")
    strengths = posterior.strengths_
    if not quiet and edges:
        list_edges(edges, strengths, directions=True)
    write_strengths(graph, strengths, out, plot)
    if report is not None:
        save_page(posterior, report, where.name, data.table)
