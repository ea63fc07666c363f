"""The work of ``pgmx learn``: load, learn, report, write."""

import sys
import time
from pathlib import Path
from typing import Any, NamedTuple

import click

from pgmx.cli.inputs import NETWORK_SUFFIXES, Source, check_targets, find_source, read_edges

DEFAULT_ROWS = 10_000


class Data(NamedTuple):
    """What is learned from.

    `table` is coded, or a frame where columns are floats; `score` is the name in force; `network` tells which kind of
    fitted network there will be ("discrete", "gaussian" or none); `truth` is the bundled network.
    """

    table: Any
    columns: tuple
    n_rows: int
    score: str
    network: str | None
    truth: Any


class Learned(NamedTuple):
    """The fitted learner, its DAG by position and the seconds it took."""

    learner: Any
    edges: list
    seconds: float


def run(source, *, out, plot, quiet, rows, **options):
    """Do what the command line asks.

    Parameters
    ----------
    source : str
        File or name of a bundled network.
    out, plot : Path or None
        Files to write.
    quiet : bool
        Whether to leave the edges out.
    rows : int or None
        Rows to sample.
    **options
        score, max_indegree, required, forbidden, missing, random_state, max_time, n_jobs.
    """
    check_targets(out, plot)
    where = find_source(source)
    if where.path is not None and rows is not None:
        raise ValueError("--rows is for bundled networks, which are sampled; a file is used whole")
    if where.path is None and out is None and plot is None:
        out, plot = Path(f"{where.name}.bif"), Path(f"{where.name}.svg")
        check_targets(out, plot)
    data = _load(where, rows or DEFAULT_ROWS, out, options)
    learned = _learn(data, options)
    _report(where, data, learned, options, quiet)
    _report_query(data, learned)
    _write(data, learned, out, plot)


def _load(where: Source, rows: int, out: Path | None, options: dict) -> Data:
    from pgmx.data import encode, open_frame, read_table
    from pgmx.scores.registry import PGMPY_SCORES, check_score_name

    score = None if options["score"] is None else check_score_name(options["score"])
    if where.path is None:
        from pgmx.datasets import load_network, sample

        truth = load_network(where.name)
        frame = sample(truth, rows, random_state=options["random_state"])
    else:
        truth, frame = None, read_table(where.path)
    opened = open_frame(frame)
    floats = opened.float_columns
    if score is None:
        score = "bic" if not floats else "bic-g" if len(floats) == opened.n_columns else "bic-cg"
    if not floats and PGMPY_SCORES.get(score, "discrete") == "discrete":
        table = encode(frame, missing=options["missing"], n_jobs=options["n_jobs"])
        return Data(table, table.columns, table.n_rows, score, "discrete", truth)
    if out is not None and out.suffix.lower() in NETWORK_SUFFIXES:
        why = f"column {floats[0]!r} holds floats" if floats else f"the score {score} is not discrete"
        raise ValueError(
            f"--out {out}: {out.suffix} holds discrete networks, but {why}: write .graphml or .json, or make the "
            "columns discrete"
        )
    network = "gaussian" if len(floats) == opened.n_columns else None
    return Data(frame, opened.names, opened.n_rows, score, network, truth)


def _learn(data: Data, options: dict) -> Learned:
    from pgmx.estimators import HillClimbSearch

    learner = HillClimbSearch(
        scoring_method=options["score"],
        max_indegree=options["max_indegree"],
        expert_knowledge=_knowledge(data.columns, options["required"], options["forbidden"]),
        show_progress=sys.stderr.isatty(),
        max_time=options["max_time"],
        missing=options["missing"],
        n_jobs=options["n_jobs"],
        random_state=options["random_state"],
    )
    start = time.perf_counter()
    learner.fit(data.table)
    seconds = time.perf_counter() - start
    position = {name: v for v, name in enumerate(data.columns)}
    edges = sorted((position[u], position[v]) for u, v in learner.dag_.edges())
    return Learned(learner, edges, seconds)


def _knowledge(columns, required, forbidden):
    if required is None and forbidden is None:
        return None
    from pgmpy.causal_discovery import ExpertKnowledge

    return ExpertKnowledge(
        required_edges=[] if required is None else read_edges(required, columns),
        forbidden_edges=[] if forbidden is None else read_edges(forbidden, columns),
    )


def _report(where: Source, data: Data, learned: Learned, options: dict, quiet: bool) -> None:
    learner = learned.learner
    sampled = f", sampled with random state {options['random_state']}" if data.truth is not None else ""
    _line("data", f"{where.name}: {data.n_rows} rows, {len(data.columns)} variables{sampled}")
    _line("score", f"{learner.score_:.4f} ({data.score})")
    lines = _edge_lines(learner.graph_)
    n_open = sum(" -- " in line for line in lines)
    _line("edges", f"{len(lines)} ({len(lines) - n_open} directed, {n_open} undirected)")
    _line("seconds", f"{learned.seconds:.3f}" + ("" if learner.converged_ else " (stopped before convergence)"))
    if data.truth is not None:
        from pgmx.metrics import cpdag_shd

        n_true = data.truth.number_of_edges()
        _line("shd", f"{cpdag_shd(data.truth, learner.dag_)} (CPDAGs of learned and true graph; {n_true} true edges)")
    if not quiet and lines:
        click.echo()
        for line in lines:
            click.echo(line)


def _line(name: str, text: str) -> None:
    click.echo(f"{name:<8} {text}")


def _edge_lines(graph) -> list[str]:
    arcs = set(graph.edges())
    lines = []
    for u, v in arcs:
        if (v, u) not in arcs:
            lines.append((str(u), " -> ", str(v)))
        elif (str(u), repr(u)) < (str(v), repr(v)):
            lines.append((str(u), " -- ", str(v)))
    return ["".join(line) for line in sorted(lines)]


def _report_query(data: Data, learned: Learned) -> None:
    from pgmx.cli.query import ask, choose_question

    click.echo()
    if data.network != "discrete":
        _line("query", "left out: exact inference in pgmpy is for discrete networks")
        return
    cards = [int(card) for card in data.table.cardinalities]
    question = choose_question(learned.edges, cards, joined=data.truth is not None)
    if isinstance(question, str):
        _line("query", f"left out: {question}")
        return
    answer = ask(learned.learner.model_, learned.edges, cards, *question)
    given = "" if answer.evidence is None else f" | {answer.evidence} = {answer.state}"
    _line("query", f"P({answer.target}{given})")
    width = max(8, *(len(str(state)) for state in answer.states))
    click.echo(f"  {'state':<{width}}  {'prior':>9}" + ("" if answer.evidence is None else f"  {'posterior':>9}"))
    for state, before, after in zip(answer.states, answer.prior, answer.posterior, strict=True):
        tail = "" if answer.evidence is None else f"  {after:>9.4f}"
        click.echo(f"  {state!s:<{width}}  {before:>9.4f}{tail}")


def _write(data: Data, learned: Learned, out: Path | None, plot: Path | None) -> None:
    learner = learned.learner
    if out is not None or plot is not None:
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


def _true_class(data: Data):
    """Return the CPDAG of the true network: the most that data can tell of it."""
    from pgmx.models import cpdag, to_pdag

    position = {name: v for v, name in enumerate(data.columns)}
    return to_pdag(data.columns, *cpdag(len(position), [(position[u], position[v]) for u, v in data.truth.edges()]))
