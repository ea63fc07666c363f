"""The work of ``pgmx learn`` for Markov networks: learn, report, ask, write."""

from functools import partial
from typing import Any

from pgmx.cli import report
from pgmx.cli.console import say
from pgmx.cli.inputs.paths import Source
from pgmx.cli.inputs.sources import Data, open_held_out
from pgmx.cli.learn.query import Answer, target_and_neighbour
from pgmx.cli.learners import make_learner

_line = partial(report.line, width=report.LABEL_WIDTH)

#: Maximum bytes of a junction tree and maximum edges for an exact query; above them belief propagation is used.
MAX_BYTES, MAX_EDGES = 2**25, 20_000


def learn_markov(
    where: Source, data: Data, knowledge: dict, options: dict, targets: report.Targets, quiet: bool
) -> None:
    """Learn a Markov network, and report and write it."""
    arguments, held_out = dict(knowledge), None
    truth = None if data.truth is None else moral_graph(data.truth)
    if truth is not None:
        arguments["true_graph"] = truth
    path = report.check_held_out(options)
    if path is not None:
        held_out = open_held_out(path, options, data.discretizer)
        arguments["held_out"] = held_out
    learner = make_learner(options, arguments)
    seconds = report.fit_timed(learner, data.table)

    report.data_line(where, data.n_rows, len(data.columns), data.truth, options["random_state"], report.LABEL_WIDTH)
    report.bins_line(data, report.LABEL_WIDTH)
    _report(learner, data, options, seconds)
    if truth is not None:
        _report_truth(learner, truth)
    if held_out is not None:
        score = learner.model_.pseudo_log_likelihood(held_out).mean()
        _line("held-out", f"{score:.4f} nats per row (log pseudolikelihood of {held_out.n_rows} rows)")
    if not quiet:
        report.list_edges(learner.graph_, "strength")
    _report_query(learner)
    colours = "" if truth is None else ", coloured by whether the moral graph of the true network has them"
    note = f" (strong edges wide{colours})"
    measures = [name for name in ("objective", "recall", "held_out") if name in learner.history_]
    report.write_results(
        targets,
        learner.model_,
        learner.graph_,
        note,
        lambda file: report.save_history(learner, file, measures),
        reference=truth,
        strengths="weight",
    )
    report.write_report(targets, learner, f"{where.name}, learned by {options['method']}", data.table)


def moral_graph(truth):
    """Return the moral graph of a Bayesian network: undirected, with parents of a common child joined."""
    import networkx as nx

    arrows = nx.DiGraph()
    arrows.add_nodes_from(truth.nodes())
    arrows.add_edges_from(truth.edges())
    return nx.moral_graph(arrows)


def _report(learner, data: Data, options: dict, seconds: float) -> None:
    potentials = learner.model_.potentials
    what = "entries of tables" if options["method"] in ("feature-grafting", "grafting-light") else "edges"
    _line("method", f"{options['method']} ({data.score})")
    _line("objective", f"{learner.objective_:.6f} nats per row")
    _line("lam", report.penalty_text(learner, options["select"]))
    _line("edges", f"{learner.graph_.number_of_edges()} ({learner.n_activated_} {what} activated)")
    _line("nonzero", f"{potentials.n_edges} tables, {int((potentials.edge_values != 0).sum())} entries")
    _line("kkt", f"{learner.kkt_residual_:.1e}")
    _line("tests", f"{learner.n_tests_} scores of {learner.n_tables_} pair tables")
    _line("seconds", f"{seconds:.3f}{_ending(learner.stopped_by_)}")


def _ending(stopped_by: str) -> str:
    """Return why the learning ended, empty if it converged."""
    if stopped_by == "converged":
        return ""
    if stopped_by == "unsettled":
        return " (parameters did not converge: see --l2, --lam)"
    cause = {"max_edges": "--max-edges", "max_time": "--max-time"}.get(stopped_by, stopped_by)
    return f" (stopped before convergence by {cause})"


def _report_truth(learner, truth) -> None:
    from pgmx.metrics import skeleton_scores

    scores = skeleton_scores(truth, learner.graph_)
    text = f"precision {scores.precision:.3f}, recall {scores.recall:.3f} against the moral graph of the true network"
    _line("pairs", f"{text}; {truth.number_of_edges()} true pairs")


def _report_query(learner) -> None:
    say()
    if learner.stopped_by_ == "unsettled":
        _line("query", "left out: parameters that did not converge have no meaning yet (see --l2, --lam)")
        return
    model, graph = learner.model_, learner.graph_
    answer, how = ask(model, *target_and_neighbour(graph, model.names))
    report.answer_lines(answer, how, report.LABEL_WIDTH)


def ask(model, target, evidence) -> tuple[Answer, str]:
    """Return the distribution of `target` before and after the likeliest state of `evidence`, and the method."""
    options: dict[str, Any] = {"method": "loopy"}
    if model.potentials.n_edges <= MAX_EDGES:
        options = {"method": "auto", "memory": MAX_BYTES}
    before = after = model.marginals(**options)
    state = None
    if evidence is not None:
        state = max(before[evidence], key=before[evidence].__getitem__)
        after = model.marginals({evidence: state}, **options)
    how = {"exact": "", "loopy": ", by loopy belief propagation"}.get(after.method, ", by beliefs corrected by samples")
    if not (before.converged and after.converged):
        how += " that did not converge: a rough estimate"
    states = list(before[target])
    prior, posterior = ([marginals[target][name] for name in states] for marginals in (before, after))
    return Answer(target, evidence, state, states, prior, posterior), how
