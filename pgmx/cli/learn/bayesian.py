"""The work of ``pgmx learn`` for Bayesian networks: learn, report, ask, write."""

from pathlib import Path
from typing import Any, NamedTuple

import click

from pgmx.cli.inputs.paths import NETWORK_SUFFIXES, Source
from pgmx.cli.inputs.sources import Data
from pgmx.cli.learn.query import ask, choose_question
from pgmx.cli.learn.results import Targets, fit_timed, write_results
from pgmx.cli.learners import make_learner
from pgmx.cli.report import answer_lines, data_line, edge_count, edges_of, line, save_history


class Learned(NamedTuple):
    """The fitted learner, its DAG by position and the seconds it took."""

    learner: Any
    edges: list
    seconds: float


def learn_bayesian(where: Source, data: Data, knowledge: dict, options: dict, targets: Targets, quiet: bool) -> None:
    """Learn a Bayesian network, and report and write what was learned."""
    _check_format(data, targets.out)
    learner = make_learner(options, knowledge)
    seconds = fit_timed(learner, data.table)
    position = {name: v for v, name in enumerate(data.columns)}
    learned = Learned(learner, sorted((position[u], position[v]) for u, v in learner.dag_.edges()), seconds)

    _report(where, data, learned, options, quiet)
    _report_query(data, learned)
    _write(data, learned.learner, targets)


def _check_format(data: Data, out: Path | None) -> None:
    if out is None or out.suffix.lower() not in NETWORK_SUFFIXES or data.discrete:
        return
    floats = getattr(data.table, "float_columns", ())
    why = f"column {floats[0]!r} holds floats" if floats else f"the score {data.score} is not discrete"
    raise ValueError(
        f"--out {out}: {out.suffix} holds discrete networks, but {why}: write .graphml or .json, or make the columns "
        "discrete"
    )


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


def _write(data: Data, learner, targets: Targets) -> None:
    has_parameters = data.network is not None and targets.out is not None and targets.out.suffix.lower() != ".graphml"
    model = learner.model_ if has_parameters else learner.graph_
    reference, note = None, ""
    if data.truth is not None and targets.plot is not None:
        reference, note = _true_class(data), " (edges coloured by whether the true graph has them)"
    write_results(targets, model, learner.graph_, note, lambda path: save_history(learner, path), reference=reference)


def _true_class(data: Data):
    """Return the CPDAG of the true network: the most that data can determine of it."""
    from pgmx.models import cpdag, to_pdag

    position = {name: v for v, name in enumerate(data.columns)}
    return to_pdag(data.columns, *cpdag(len(position), [(position[u], position[v]) for u, v in data.truth.edges()]))
