"""The work of ``pgmx learn`` for undirected networks, Markov and Gaussian: learn, report, ask or predict, write."""

import warnings
from functools import partial
from pathlib import Path
from typing import Any

from pgmx.cli import report
from pgmx.cli.console import say
from pgmx.cli.learn.query import Answer, Prediction, target_and_neighbour
from pgmx.cli.methods import make_learner
from pgmx.cli.paths import Source
from pgmx.cli.tables import Data, open_held_out, open_input

_line = partial(report.line, width=report.LABEL_WIDTH)

#: Markov networks: maximum bytes of a junction tree, and maximum edges, of an exact query. Larger networks are
#: queried by loopy belief propagation.
MAX_BYTES, MAX_EDGES = 2**25, 20_000

#: Gaussian graphs: maximum number of listed edges; files hold all edges.
MOST_EDGES = 40

#: Objectives of the methods for Gaussian graphs.
_OBJECTIVES = {
    "glasso": "penalised -log|Θ| + tr(RΘ) of the correlations R",
    "clime": "sum of |Θ|, of correlations",
    "neighborhood": "penalised squares of all regressions, of correlations",
}


# ---- Markov networks ----


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
    _report_markov(learner, data, options, seconds)
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
    report.write_report(targets, learner, f"{where.name}, learned by {options['method']}", data.table, truth)


def moral_graph(truth):
    """Return the moral graph of a Bayesian network: undirected, with parents of a common child joined."""
    import networkx as nx

    arrows = nx.DiGraph()
    arrows.add_nodes_from(truth.nodes())
    arrows.add_edges_from(truth.edges())
    return nx.moral_graph(arrows)


def _report_markov(learner, data: Data, options: dict, seconds: float) -> None:
    potentials = learner.model_.potentials
    what = "entries of tables" if options["method"] in ("feature-grafting", "grafting-light") else "edges"
    _line("method", f"{options['method']} ({data.score})")
    _line("objective", f"{learner.objective_:.6f} nats per row")
    _line("lam", report.penalty_text(learner, options["select"]))
    _line("edges", f"{learner.graph_.number_of_edges()} ({learner.n_activated_} {what} activated)")
    _line("nonzero", f"{potentials.n_edges} tables, {int((potentials.edge_values != 0).sum())} entries")
    _line("kkt", f"{learner.kkt_residual_:.1e}")
    _line("tests", f"{learner.n_tests_} scores of {learner.n_tables_} pair tables")
    _line("seconds", f"{seconds:.3f}{_describe_stop(learner.stopped_by_)}")


def _describe_stop(stopped_by: str) -> str:
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


# ---- Gaussian graphs ----


def learn_gaussian(where: Source, options: dict, targets: report.Targets, quiet: bool) -> None:
    """Learn a Gaussian graph from a file, and report and write it."""
    path, complete = report.check_held_out(options), "error" if options["missing"] == "error" else "drop"
    held_out = None if path is None else read_numbers(open_input(path, options), complete)
    learner = make_learner(options, {})
    with warnings.catch_warnings():
        # The report has both, with the options of this command.
        warnings.filterwarnings("ignore", ".* ended before its tolerance", UserWarning)
        warnings.filterwarnings("ignore", "the smallest of .* penalties was chosen", UserWarning)
        seconds = report.fit_timed(learner, open_input(where.path, options))
    model, graph = learner.model_, learner.graph_

    _report_gaussian(where, learner, options, seconds)
    if held_out is not None:
        mean = model.log_likelihood(with_names_of(model, held_out)).mean()
        _line("held-out", f"{mean:.4f} nats per row (log-likelihood of {len(held_out)} rows{of_scores(model)})")
    if not quiet:
        report.list_edges(graph, "partial correlation", MOST_EDGES)
    say()
    report.prediction_lines(predict(model, *target_and_neighbour(graph, model.names)), report.LABEL_WIDTH)
    signs = ", negative edges dashed and red" if any(w < 0 for *_, w in graph.edges(data="weight")) else ""
    note = f" (strong edges wide{signs})"
    report.write_results(targets, model, graph, note, lambda file: _save_path(learner, file), strengths="weight")
    title = f"{where.name}, learned by {options['method']}"
    report.write_report(targets, learner, title, open_input(where.path, options))


def read_numbers(source: Any, missing: str):
    """Read numeric rows from a file, folder or table as a DataFrame of float64; `missing` is "error" or "drop"."""
    import pandas as pd

    from pgmx.data import open_numeric

    table = open_numeric(source, missing=missing)
    return pd.DataFrame(table.rows(), columns=pd.Index(table.names, tupleize_cols=False))


def with_names_of(model, rows):
    """Return rows with columns renamed to the names of a network, matched by text; others keep their names."""
    import pandas as pd

    known = {str(name): name for name in model.names}
    return rows.set_axis(pd.Index([known.get(str(name), name) for name in rows], tupleize_cols=False), axis=1)


def of_scores(model) -> str:
    """Return the note that a likelihood is a density of normal scores, empty if it is a density of the rows."""
    return "" if model.transforms is None else ", of their normal scores"


def _report_gaussian(where: Source, learner, options: dict, seconds: float) -> None:
    model, method = learner.model_, options["method"]
    least = " or more per pair" if options["missing"] == "pairwise" else ""
    _line("data", f"{where.name}: {int(model.n_samples)} rows{least}, {len(model.names)} variables")
    _line("method", f"{method}{_details(options)}")
    if learner.repaired_ > 0:
        changed = f"correlations changed by up to {learner.repaired_:.2g} to make them positive semidefinite"
        _line("repaired", changed)
    _line("objective", f"{learner.objective_:.6f} ({_OBJECTIVES[method]})")
    _line("gap", f"{max(learner.dual_gap_, 0.0):.1e} ({_ending(learner, options, seconds)})")
    _line("lam", report.penalty_text(learner, options["select"]))
    n_pairs = len(model.names) * (len(model.names) - 1) // 2
    _line("edges", f"{learner.graph_.number_of_edges()} of {n_pairs} pairs")
    _line("model", model.estimated_by)
    _line("seconds", f"{seconds:.3f}{_path_ending(learner)}")


def _details(options: dict) -> str:
    """Return the settings of the method in parentheses; empty without options."""
    settings = []
    if options["method"] == "clime":
        settings.append(f"solver {options['solver'] or 'auto'}")
    if options["method"] == "neighborhood":
        settings.append(f"rule {options['rule'] or 'and'}")
    if options["nonparanormal"] is not None:
        settings.append(f"nonparanormal by {options['nonparanormal']}")
    return f" ({', '.join(settings)})" if settings else ""


def _ending(learner, options: dict, seconds: float) -> str:
    """Return whether the solver converged, and the reason why it stopped."""
    if learner.converged_:
        return "converged"
    by_time = options["max_time"] is not None and seconds >= options["max_time"]
    return "stopped before convergence by --max-time" if by_time else "not converged: try a larger --lam-ratio"


def _path_ending(learner) -> str:
    """Return the note that --max-time stopped a path of penalties; empty if the path is complete."""
    path = getattr(learner, "path_", None)
    if path is None or len(path) >= learner.n_lams:
        return ""
    return f" (the path was stopped by --max-time after {len(path)} of {learner.n_lams} penalties)"


def predict(model, target, evidence) -> Prediction:
    """Return the prediction of `target` before and after `evidence` one standard deviation above its mean."""
    columns = ("mean", "sd") if model.transforms is None else ("median", "16 %", "84 %")
    before = _figures(model.marginal([target]))
    if evidence is None:
        return Prediction(target, None, None, columns, before, before)
    marginal = model.marginal([evidence])
    middle, *spread = _figures(marginal)
    value = spread[-1] if marginal.transforms is not None else middle + spread[0]
    value = float(f"{value:.4g}")  # as it is printed
    after = _figures(model.marginal([target, evidence]).conditional({evidence: value}))
    return Prediction(target, evidence, value, columns, before, after)


def _figures(network) -> tuple[float, ...]:
    """Return mean and standard deviation of a network with one variable, or median and quantiles of its data."""
    middle, spread = float(network.mean.iloc[0]), float(network.covariance.iloc[0, 0]) ** 0.5
    if network.transforms is None:
        return middle, spread
    scores = [[middle], [middle - spread], [middle + spread]]
    return tuple(network.transforms.backward([0], scores)[:, 0].tolist())


def _save_path(learner, path: Path) -> None:
    from pgmx.plotting import plot_path

    report.save_figure(plot_path(learner).figure, path)
