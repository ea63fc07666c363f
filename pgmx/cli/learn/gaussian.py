"""The work of ``pgmx learn`` for Gaussian graphs: learn, report, predict, write."""

import warnings
from functools import partial
from pathlib import Path
from typing import Any

from pgmx.cli import report
from pgmx.cli.console import say
from pgmx.cli.inputs.paths import Source
from pgmx.cli.inputs.tables import open_input
from pgmx.cli.learn.query import Prediction, target_and_neighbour
from pgmx.cli.learners import make_learner

_line = partial(report.line, width=report.LABEL_WIDTH)

#: Maximum number of listed edges; files hold all edges.
MOST_EDGES = 40

_OBJECTIVES = {
    "glasso": "penalised -log|Θ| + tr(RΘ) of the correlations R",
    "clime": "sum of |Θ|, of correlations",
    "neighborhood": "penalised squares of all regressions, of correlations",
}


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

    _report(where, learner, options, seconds)
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


def _report(where: Source, learner, options: dict, seconds: float) -> None:
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
