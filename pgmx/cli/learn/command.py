"""The work of ``pgmx learn``: load, learn, report, write."""

import time
from pathlib import Path
from typing import Any, NamedTuple

import click

from pgmx.cli.inputs.paths import (
    GAUSSIAN_SUFFIXES,
    GRAPH_SUFFIXES,
    MARKOV_SUFFIXES,
    NETWORK_SUFFIXES,
    Source,
    check_targets,
    check_writable,
)
from pgmx.cli.inputs.sources import Data, load, open_source
from pgmx.cli.learners import check_method, make_learner
from pgmx.cli.methods import GAUSSIAN_METHODS, MARKOV_METHODS
from pgmx.cli.report import answer_lines, data_line, edge_count, edges_of, line, save_history


class Learned(NamedTuple):
    """The fitted learner, its DAG by position and the seconds it took."""

    learner: Any
    edges: list
    seconds: float


class Targets(NamedTuple):
    """Files to write: the network, the picture of the graph, the picture of the curves; None where not wanted."""

    out: Path | None
    plot: Path | None
    history: Path | None


def run(source, *, out, plot, quiet, **options):
    """Do what the command line asks.

    Parameters
    ----------
    source : str
        File, folder or name of a bundled network.
    out, plot : Path or None
        Files to write.
    quiet : bool
        Whether to leave the edges out.
    **options
        Those of `pgmx.cli.options`, checkpoint, held_out and plot_history.
    """
    if options["method"] in GAUSSIAN_METHODS:
        _run_gaussian(source, options, Targets(out, plot, options["plot_history"]), quiet)
        return
    markov = options["method"] in MARKOV_METHODS
    suffixes, first = (MARKOV_SUFFIXES, ".uai") if markov else (NETWORK_SUFFIXES + GRAPH_SUFFIXES, ".bif")
    check_targets(out, plot, suffixes, options["plot_history"])
    check_method(options)
    if options["checkpoint"] is not None:
        check_writable(options["checkpoint"], "--checkpoint")
    where = open_source(source, options["rows"])
    if where.path is None and out is None and plot is None:
        out, plot = Path(f"{where.name}{first}"), Path(f"{where.name}.svg")
        check_targets(out, plot, suffixes, options["plot_history"])
    data, knowledge = load(where, options)
    if markov:
        from pgmx.cli.learn.markov import learn_markov

        learn_markov(where, data, knowledge, options, Targets(out, plot, options["plot_history"]), quiet)
        return
    _check_format(data, out)
    learned = _learn(data, make_learner(options, knowledge))
    _report(where, data, learned, options, quiet)
    _report_query(data, learned)
    _write(data, learned, Targets(out, plot, options["plot_history"]))


def _run_gaussian(source, options: dict, targets: Targets, quiet: bool) -> None:
    from pgmx.cli.learn.gaussian import learn_gaussian

    check_targets(targets.out, targets.plot, GAUSSIAN_SUFFIXES, targets.history)
    check_method(options)
    where = open_source(source, options["rows"])
    if where.path is None:
        raise ValueError(
            f"--method {options['method']} learns from columns of numbers, and {where.name} is a bundled network of "
            "states: give a file of data"
        )
    learn_gaussian(where, options, targets, quiet)


def _check_format(data: Data, out: Path | None) -> None:
    if out is None or out.suffix.lower() not in NETWORK_SUFFIXES or data.discrete:
        return
    floats = getattr(data.table, "float_columns", ())
    why = f"column {floats[0]!r} holds floats" if floats else f"the score {data.score} is not discrete"
    raise ValueError(
        f"--out {out}: {out.suffix} holds discrete networks, but {why}: write .graphml or .json, or make the columns "
        "discrete"
    )


def _learn(data: Data, learner) -> Learned:
    start = time.perf_counter()
    learner.fit(data.table)
    seconds = time.perf_counter() - start
    position = {name: v for v, name in enumerate(data.columns)}
    edges = sorted((position[u], position[v]) for u, v in learner.dag_.edges())
    return Learned(learner, edges, seconds)


def _report(where: Source, data: Data, learned: Learned, options: dict, quiet: bool) -> None:
    learner = learned.learner
    data_line(where, data.n_rows, len(data.columns), data.truth, options["random_state"])
    line("score", f"{learner.score_:.4f} ({data.score})")
    edges = edges_of(learner.graph_)
    line("edges", edge_count(edges))
    stopped = "" if getattr(learner, "converged_", True) else " (stopped before convergence)"
    line("seconds", f"{learned.seconds:.3f}{stopped}")
    if data.truth is not None:
        from pgmx.metrics import cpdag_shd

        n_true = data.truth.number_of_edges()
        line("shd", f"{cpdag_shd(data.truth, learner.dag_)} (CPDAGs of learned and true graph; {n_true} true edges)")
    if not quiet and edges:
        click.echo()
        for edge in edges:
            click.echo(" ".join(edge))


def _report_query(data: Data, learned: Learned) -> None:
    from pgmx.cli.learn.query import ask, choose_question

    click.echo()
    if not data.discrete:
        line("query", "left out: exact inference is for discrete networks")
        return
    cards = [int(card) for card in data.table.cardinalities]
    question = choose_question(learned.edges, cards, joined=data.truth is not None)
    if isinstance(question, str):
        line("query", f"left out: {question}")
        return
    answer_lines(ask(learned.learner.model_, *question))


def _write(data: Data, learned: Learned, targets: Targets) -> None:
    learner = learned.learner
    out, plot, history = targets
    if any(target is not None for target in targets):
        click.echo()
    if out is not None:
        from pgmx.models import save_model

        fitted = data.network is not None and out.suffix.lower() != ".graphml"
        click.echo(f"wrote {save_model(learner.model_ if fitted else learner.graph_, out)}")
    if plot is not None:
        from pgmx.plotting import save_picture

        reference = None if data.truth is None else _true_class(data)
        coloured = "" if reference is None else " (edges coloured by whether the true graph has them)"
        click.echo(f"wrote {save_picture(learner.graph_, plot, reference=reference)}{coloured}")
    if history is not None:
        save_history(learner, history)


def _true_class(data: Data):
    """Return the CPDAG of the true network: the most that data can tell of it."""
    from pgmx.models import cpdag, to_pdag

    position = {name: v for v, name in enumerate(data.columns)}
    return to_pdag(data.columns, *cpdag(len(position), [(position[u], position[v]) for u, v in data.truth.edges()]))
