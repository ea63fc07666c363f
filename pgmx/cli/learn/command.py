"""The work of ``pgmx learn`` and ``pgmx bootstrap``: check the options, load the data, learn.

``learn`` calls the module of the family of models. ``bootstrap`` learns from resamples and reports the confidence of
the edges.
"""

import sys
from pathlib import Path

from pgmx.atomic import replace_file
from pgmx.cli.console import say
from pgmx.cli.methods import (
    DYNAMIC_METHODS,
    GAUSSIAN_METHODS,
    HIDDEN_CAUSES,
    LDS_METHODS,
    MARKOV_METHODS,
    SERIES_METHODS,
    check_method,
    make_learner,
)
from pgmx.cli.networks import read_network
from pgmx.cli.paths import (
    GAUSSIAN_SUFFIXES,
    GRAPH_SUFFIXES,
    MARKOV_SUFFIXES,
    NETWORK_SUFFIXES,
    SYSTEM_SUFFIXES,
    check_targets,
    check_writable,
)
from pgmx.cli.report import (
    Targets,
    bins_line,
    data_line,
    edge_count,
    edges_of,
    fit_timed,
    integers_line,
    line,
    save_page,
    strength_lines,
)
from pgmx.cli.tables import load, open_source


def run_learn(source: str, *, out: Path | None, plot: Path | None, quiet: bool, **options) -> None:
    """Run ``pgmx learn`` with the options of `pgmx.cli.commands.learn`."""
    targets = Targets(out, plot, options["plot_history"], options["report"])
    reference = options["reference"]
    if reference is not None:
        if targets.report is None:
            raise ValueError(f"--reference {reference} is for the report: add --report FILE.html")
        targets = targets._replace(reference=read_network(reference))
    if options["method"] in (*GAUSSIAN_METHODS, *SERIES_METHODS):
        _run_numeric(source, options, targets, quiet)
        return
    markov = options["method"] in MARKOV_METHODS
    suffixes, first = (MARKOV_SUFFIXES, ".uai") if markov else (NETWORK_SUFFIXES + GRAPH_SUFFIXES, ".bif")
    if options["method"] in HIDDEN_CAUSES:
        first = ".json"
    check_targets(out, plot, suffixes, targets.history, targets.report)
    check_method(options)
    if options["checkpoint"] is not None:
        check_writable(options["checkpoint"], "--checkpoint")
    where = open_source(source, options)
    if where.path is None and out is None and plot is None:
        targets = targets._replace(out=Path(f"{where.name}{first}"), plot=Path(f"{where.name}.svg"))
        check_targets(targets.out, targets.plot, suffixes, targets.history, targets.report)
    data, knowledge = load(where, options)
    if markov:
        from pgmx.cli.learn.undirected import learn_markov

        learn_markov(where, data, knowledge, options, targets, quiet)
    else:
        from pgmx.cli.learn.bayesian import learn_bayesian

        learn_bayesian(where, data, knowledge, options, targets, quiet)


def _run_numeric(source: str, options: dict, targets: Targets, quiet: bool) -> None:
    method = options["method"]
    suffixes: tuple[str, ...] = GAUSSIAN_SUFFIXES
    if method in SERIES_METHODS:
        suffixes = SYSTEM_SUFFIXES if method in LDS_METHODS else GRAPH_SUFFIXES
        suffixes = (*suffixes, ".bif") if method in DYNAMIC_METHODS else suffixes
        if targets.out is not None and targets.out.suffix.lower() == ".npz" and method not in LDS_METHODS:
            raise ValueError(
                f"--out {targets.out}: .npz holds linear dynamical systems, which --method {method} does not learn: "
                f"write the graph ({' or '.join(GRAPH_SUFFIXES)}), or choose one of {', '.join(LDS_METHODS)}"
            )
    check_targets(targets.out, targets.plot, suffixes, targets.history, targets.report)
    check_method(options)
    where = open_source(source, options)
    if where.path is None:
        raise ValueError(
            f"--method {method} needs {'series' if method in DYNAMIC_METHODS else 'numeric columns'}, but {where.name} "
            "is a bundled discrete network: give a file of data"
        )
    if method in SERIES_METHODS:
        from pgmx.cli.learn.series import learn_series

        learn_series(where, options, targets, quiet)
    else:
        from pgmx.cli.learn.undirected import learn_gaussian

        learn_gaussian(where, options, targets, quiet)


# ---- pgmx bootstrap ----


def run_bootstrap(
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
    seconds = fit_timed(bootstrap, data.table, **data.fit_arguments)
    share = bootstrap.threshold_ if threshold is None else threshold
    graph = bootstrap.consensus_graph(share)

    data_line(where, data.n_rows, len(data.columns), data.truth, options["random_state"])
    bins_line(data)
    integers_line(data)
    stopped = "" if bootstrap.converged_ else f" of {resamples} (stopped by --max-time)"
    line("method", f"{options['method']} ({data.score}), {bootstrap.n_resamples_} resamples{stopped}")
    edges = edges_of(graph)
    line("edges", f"{edge_count(edges)} in at least {share:.1%} of the resamples")
    line("seconds", f"{seconds:.3f}")
    if data.truth is not None:
        from pgmx.cli.learn.undirected import moral_graph
        from pgmx.metrics import skeleton_scores

        truth, what = data.truth, "the true graph"
        if markov:
            truth, what = moral_graph(truth), "the moral graph of the true network"
        scores = skeleton_scores(truth, graph)
        line("pairs", f"precision {scores.precision:.3f}, recall {scores.recall:.3f} against {what}")
    strengths = bootstrap.strengths_
    if not quiet and edges:
        list_edges(edges, strengths, directions=not markov)
    write_strengths(graph, strengths, out, plot)
    if report is not None:
        if out is None and plot is None:
            say()
        save_page(bootstrap, report, where.name, data.table)


def list_edges(edges: list, strengths, directions: bool) -> None:
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


def write_strengths(graph, strengths, out: Path | None, plot: Path | None) -> None:
    """Write the strengths or the graph to `out`, and a picture to `plot`."""
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
