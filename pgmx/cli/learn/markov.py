"""The work of ``pgmx learn`` for Markov networks: learn, report, ask, write."""

import time
from typing import Any

import click

from pgmx.cli.inputs.paths import Source
from pgmx.cli.inputs.sources import Data
from pgmx.cli.learn.query import Answer, target_and_neighbour
from pgmx.cli.learners import make_learner
from pgmx.cli.report import answer_lines, data_line, line, penalty_text, save_history, strength_lines

_WIDTH = 9  # of the labels

#: Bytes of a junction tree that a query may build; more is left to belief propagation, as are more edges than this.
MAX_BYTES, MAX_EDGES = 2**25, 20_000


def learn_markov(where: Source, data: Data, knowledge: dict, options: dict, targets, quiet: bool) -> None:
    """Learn a Markov network, and report and write what was learned.

    Parameters
    ----------
    where : Source
        Where the data come from.
    data : Data
        The data.
    knowledge : dict
        Arguments of the learner.
    options : dict
        Those of `pgmx.cli.options`, held_out and plot_history.
    targets : (out, plot, history)
        Files to write.
    quiet : bool
        Whether to leave the edges out.
    """
    said = dict(knowledge)
    truth = None if data.truth is None else moral_graph(data.truth)
    if truth is not None:
        said["true_graph"] = truth
    if options["held_out"] is not None:
        said["held_out"] = _rows(options["held_out"], options)
    learner = make_learner(options, said)
    start = time.perf_counter()
    learner.fit(data.table)
    seconds = time.perf_counter() - start

    data_line(where, data.n_rows, len(data.columns), data.truth, options["random_state"], _WIDTH)
    _report(learner, data, options, seconds)
    if truth is not None:
        _report_truth(learner, truth)
    if "held_out" in said:
        rows = said["held_out"]
        line("held-out", f"{learner.score(rows):.4f} nats a row (log pseudolikelihood of {rows.n_rows} rows)", _WIDTH)
    if not quiet and learner.graph_.number_of_edges():
        edges = learner.graph_.edges(data="weight")
        strength_lines([(" -- ".join(sorted((str(u), str(v)))), size) for u, v, size in edges], ("strength",))
    _report_query(learner)
    _write(learner, truth, targets)


def moral_graph(truth):
    """Return the undirected graph that is true of a Bayesian network: parents of a common child are joined too."""
    import networkx as nx

    arrows = nx.DiGraph()
    arrows.add_nodes_from(truth.nodes())
    arrows.add_edges_from(truth.edges())
    return nx.moral_graph(arrows)


def _rows(path, options: dict):
    from pgmx.data import open_any

    if not path.exists():
        raise ValueError(f"--held-out {path}: no such file")
    return open_any(path, missing=options["missing"], n_jobs=options["n_jobs"])


def _report(learner, data: Data, options: dict, seconds: float) -> None:
    potentials = learner.model_.potentials
    what = "entries of tables" if options["method"] in ("feature-grafting", "grafting-light") else "edges"
    line("method", f"{options['method']} ({data.score})", _WIDTH)
    line("objective", f"{learner.objective_:.6f} nats a row", _WIDTH)
    line("lam", penalty_text(learner, options["select"]), _WIDTH)
    line("edges", f"{learner.graph_.number_of_edges()} ({learner.n_activated_} {what} activated)", _WIDTH)
    line("nonzero", f"{potentials.n_edges} tables, {int((potentials.edge_values != 0).sum())} entries", _WIDTH)
    line("kkt", f"{learner.kkt_residual_:.1e}", _WIDTH)
    line("tests", f"{learner.n_tests_} scores of {learner.n_tables_} pair tables", _WIDTH)
    line("seconds", f"{seconds:.3f}{_ending(learner.stopped_by_)}", _WIDTH)


def _ending(stopped_by: str) -> str:
    """Say why the learning ended, where it did not converge."""
    if stopped_by == "converged":
        return ""
    if stopped_by == "unsettled":
        return " (did not come to rest: see --l2, --lam)"
    cause = {"max_edges": "--max-edges", "max_time": "--max-time"}.get(stopped_by, stopped_by)
    return f" (stopped before convergence by {cause})"


def _report_truth(learner, truth) -> None:
    from pgmx.metrics import skeleton_scores

    found = skeleton_scores(truth, learner.graph_)
    told = f"precision {found.precision:.3f}, recall {found.recall:.3f} against the moral graph of the true network"
    line("pairs", f"{told}; {truth.number_of_edges()} true pairs", _WIDTH)


def _report_query(learner) -> None:
    click.echo()
    if learner.stopped_by_ == "unsettled":
        line("query", "left out: parameters that did not come to rest have no meaning yet (see --l2, --lam)", _WIDTH)
        return
    model, graph = learner.model_, learner.graph_
    answer, how = ask(model, *target_and_neighbour(graph, model.names))
    answer_lines(answer, how, _WIDTH)


def ask(model, target, evidence) -> tuple[Answer, str]:
    """Ask a network for the distribution of `target`, before and after seeing the likeliest state of `evidence`.

    Parameters
    ----------
    model : PairwiseMarkovNetwork
        The fitted network.
    target, evidence : hashable, hashable or None
        Names of variables.

    Returns
    -------
    answer : Answer
        With `posterior` equal to `prior` when there is no evidence.
    how : str
        In what way it was found, where not exactly.
    """
    how: dict[str, Any] = {"method": "loopy"}
    if model.potentials.n_edges <= MAX_EDGES:
        how = {"method": "auto", "memory": MAX_BYTES}
    before = model.marginals(**how)
    found = [before]
    state = None
    if evidence is not None:
        state = max(before[evidence], key=before[evidence].__getitem__)
        found.append(model.marginals({evidence: state}, **how))
    told = "" if found[-1].method == "exact" else ", by loopy belief propagation"
    if not all(one.converged for one in found):
        told += " that did not converge: a rough figure"
    states = list(before[target])
    prior, posterior = ([one[target][name] for name in states] for one in (found[0], found[-1]))
    return Answer(target, evidence, state, states, prior, posterior), told


def _write(learner, truth, targets) -> None:
    out, plot, history = targets
    if any(target is not None for target in targets):
        click.echo()
    if out is not None:
        from pgmx.models import save_model

        click.echo(f"wrote {save_model(learner.model_, out)}")
    if plot is not None:
        from pgmx.plotting import save_picture

        coloured = "edges wide where they are strong"
        if truth is not None:
            coloured += ", coloured by whether the moral graph of the true network has them"
        click.echo(f"wrote {save_picture(learner.graph_, plot, reference=truth, strengths='weight')} ({coloured})")
    if history is not None:
        told = [name for name in ("objective", "recall", "held_out") if name in learner.history_]
        save_history(learner, history, told)
