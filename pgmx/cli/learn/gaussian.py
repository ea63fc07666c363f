"""The work of ``pgmx learn`` for Gaussian graphs: learn, report, predict, write."""

import time
import warnings
from pathlib import Path
from typing import NamedTuple

import click

from pgmx.cli.inputs.paths import Source
from pgmx.cli.learn.query import target_and_neighbour
from pgmx.cli.learners import make_learner
from pgmx.cli.report import line, penalty_text, save_figure, strength_lines

_WIDTH = 9  # of the labels

#: Edges that are listed; files hold all of them.
MOST_EDGES = 40

_OBJECTIVES = {
    "glasso": "penalised -log|Θ| + tr(RΘ) of the correlations R",
    "clime": "sum of |Θ|, of correlations",
    "neighborhood": "penalised squares of all regressions, of correlations",
}


class Prediction(NamedTuple):
    """What is known of `target` before and after seeing `evidence` at `value`.

    `columns` names the figures: mean and standard deviation, or, where marginal distributions were transformed, median
    and the quantiles that a standard deviation means.
    """

    target: object
    evidence: object
    value: float | None
    columns: tuple[str, ...]
    before: tuple[float, ...]
    after: tuple[float, ...]


def learn_gaussian(where: Source, options: dict, targets, quiet: bool) -> None:
    """Learn a Gaussian graph, and report and write what was learned.

    Parameters
    ----------
    where : Source
        The file.
    options : dict
        Those of `pgmx.cli.options`, held_out and plot_history.
    targets : (out, plot, history)
        Files to write.
    quiet : bool
        Whether to leave the edges out.
    """
    held_out = _held_out(options)
    learner = make_learner(options, {})
    start = time.perf_counter()
    with warnings.catch_warnings():
        # The report says both in words of this command.
        warnings.filterwarnings("ignore", ".* ended before its tolerance", UserWarning)
        warnings.filterwarnings("ignore", "the smallest of .* penalties was chosen", UserWarning)
        learner.fit(where.path)
    seconds = time.perf_counter() - start
    model, graph = learner.model_, learner.graph_

    _report(where, learner, options, seconds)
    if held_out is not None:
        mean = model.log_likelihood(with_names_of(model, held_out)).mean()
        line("held-out", f"{mean:.4f} nats a row (log-likelihood of {len(held_out)} rows{of_scores(model)})", _WIDTH)
    if not quiet and graph.number_of_edges():
        edges = graph.edges(data="weight")
        named = [(" -- ".join(sorted((str(u), str(v)))), weight) for u, v, weight in edges]
        strength_lines(named, ("partial correlation",), MOST_EDGES)
    _report_prediction(predict(model, *target_and_neighbour(graph, model.names)))
    _write(learner, targets)


def _held_out(options: dict):
    """Read the rows to judge the result by; None where there are none."""
    path = options["held_out"]
    if path is None:
        return None
    if not path.exists():
        raise ValueError(f"--held-out {path}: no such file")
    return read_numbers(path, "error" if options["missing"] == "error" else "drop")


def read_numbers(path: Path, missing: str):
    """Read rows of numbers.

    Parameters
    ----------
    path : Path
        File or folder.
    missing : {"error", "drop"}
        What to do with missing cells.

    Returns
    -------
    pandas.DataFrame
        Floats.
    """
    import pandas as pd

    from pgmx.data import open_numeric

    table = open_numeric(path, missing=missing)
    return pd.DataFrame(table.rows(), columns=pd.Index(table.names, tupleize_cols=False))


def with_names_of(model, rows):
    """Return rows whose columns bear the names of a network, matched by their text; others keep theirs."""
    import pandas as pd

    known = {str(name): name for name in model.names}
    return rows.set_axis(pd.Index([known.get(str(name), name) for name in rows], tupleize_cols=False), axis=1)


def of_scores(model) -> str:
    """Say whose density a likelihood is, where it is not that of the rows themselves."""
    return "" if model.transforms is None else ", of their normal scores"


def _report(where: Source, learner, options: dict, seconds: float) -> None:
    model, method = learner.model_, options["method"]
    least = " or more behind each pair" if options["missing"] == "pairwise" else ""
    line("data", f"{where.name}: {int(model.n_samples)} rows{least}, {len(model.names)} variables", _WIDTH)
    line("method", f"{method}{_details(options)}", _WIDTH)
    if learner.repaired_ > 0:
        changed = f"correlations changed by up to {learner.repaired_:.2g}, which made them positive semidefinite"
        line("repaired", changed, _WIDTH)
    line("objective", f"{learner.objective_:.6f} ({_OBJECTIVES[method]})", _WIDTH)
    line("gap", f"{max(learner.dual_gap_, 0.0):.1e} ({_ending(learner, options, seconds)})", _WIDTH)
    line("lam", penalty_text(learner, options["select"]), _WIDTH)
    n_pairs = len(model.names) * (len(model.names) - 1) // 2
    line("edges", f"{learner.graph_.number_of_edges()} of {n_pairs} pairs", _WIDTH)
    line("model", model.estimated_by, _WIDTH)
    line("seconds", f"{seconds:.3f}{_cut_short(learner)}", _WIDTH)


def _details(options: dict) -> str:
    """Say how the method was set, in parentheses; nothing where it takes no options."""
    told = []
    if options["method"] == "clime":
        told.append(f"solver {options['solver'] or 'auto'}")
    if options["method"] == "neighborhood":
        told.append(f"rule {options['rule'] or 'and'}")
    if options["nonparanormal"] is not None:
        told.append(f"nonparanormal by {options['nonparanormal']}")
    return f" ({', '.join(told)})" if told else ""


def _ending(learner, options: dict, seconds: float) -> str:
    """Say whether the solver came to its end, and what stopped it."""
    if learner.converged_:
        return "converged"
    by_time = options["max_time"] is not None and seconds >= options["max_time"]
    return "stopped before convergence by --max-time" if by_time else "not converged: try a larger --lam-ratio"


def _cut_short(learner) -> str:
    """Say where a path of penalties was ended before its time, which nothing but the clock does here."""
    path = getattr(learner, "path_", None)
    if path is None or len(path) >= learner.n_lams:
        return ""
    return f" (the path was stopped by --max-time after {len(path)} of {learner.n_lams} penalties)"


def predict(model, target, evidence) -> Prediction:
    """Tell what a network says of `target`, before and after seeing `evidence` a standard deviation above its mean.

    Parameters
    ----------
    model : GaussianMarkovNetwork
        The fitted network.
    target, evidence : hashable, hashable or None
        Names of variables.

    Returns
    -------
    Prediction
        With `after` equal to `before` when there is no evidence.
    """
    columns = ("mean", "sd") if model.transforms is None else ("median", "16 %", "84 %")
    before = _figures(model.marginal([target]))
    if evidence is None:
        return Prediction(target, None, None, columns, before, before)
    known = model.marginal([evidence])
    middle, *spread = _figures(known)
    value = spread[-1] if known.transforms is not None else middle + spread[0]
    value = float(f"{value:.4g}")  # as it is printed
    after = _figures(model.marginal([target, evidence]).conditional({evidence: value}))
    return Prediction(target, evidence, value, columns, before, after)


def _figures(network) -> tuple[float, ...]:
    """Return mean and standard deviation of a network of one variable, or median and quantiles of its data."""
    middle, spread = float(network.mean.iloc[0]), float(network.covariance.iloc[0, 0]) ** 0.5
    if network.transforms is None:
        return middle, spread
    scores = [[middle], [middle - spread], [middle + spread]]
    return tuple(network.transforms.backward([0], scores)[:, 0].tolist())


def _report_prediction(found: Prediction) -> None:
    click.echo()
    given = "" if found.evidence is None else f" | {found.evidence} = {found.value:.4g}"
    line("query", f"{found.target}{given}", _WIDTH)
    click.echo(f"  {'':<8}" + "".join(f"  {column:>10}" for column in found.columns))
    rows = [("before", found.before)] + ([] if found.evidence is None else [("after", found.after)])
    for name, figures in rows:
        click.echo(f"  {name:<8}" + "".join(f"  {figure:>10.5g}" for figure in figures))


def _write(learner, targets) -> None:
    out, plot, history = targets
    if any(target is not None for target in targets):
        click.echo()
    if out is not None:
        from pgmx.models import save_model

        click.echo(f"wrote {save_model(learner.model_, out)}")
    if plot is not None:
        from pgmx.plotting import save_picture

        graph = learner.graph_
        signs = ", dashed and red where negative" if any(w < 0 for *_, w in graph.edges(data="weight")) else ""
        click.echo(f"wrote {save_picture(graph, plot, strengths='weight')} (edges wide where they are strong{signs})")
    if history is not None:
        from pgmx.plotting import plot_path

        save_figure(plot_path(learner).figure, history)
