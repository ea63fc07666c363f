"""The work of ``pgmx learn`` for time series: learn, report, write."""

import re
import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from pgmx.cli import report
from pgmx.cli.console import say
from pgmx.cli.knowledge import lagged_knowledge, lagged_name
from pgmx.cli.methods import DYNAMIC_METHODS, LDS_METHODS, LEARNER_OPTIONS, SVARM_METHODS, make_learner
from pgmx.cli.paths import Source
from pgmx.cli.tables import choose_discrete, open_input, peek_columns

_line = partial(report.line, width=report.LABEL_WIDTH)

#: Maximum number of listed edges; files hold all edges.
MOST_EDGES = 40

#: Maximum variables and summary edges of a graph that is drawn on a circle; larger graphs are drawn as heat maps.
_MOST_NODES, _MOST_LINKS = 30, 150

#: Options of the command, by the parameters of learners that occur in error messages.
_OPTIONS = {"missing": "--missing"} | {
    parameter.name: f"--{option.replace('_', '-')}"
    for option in (
        *("time_column", "groups", "exogenous_columns", "seasonal_period", "irregular", "lags", "k", "screen", "seeds"),
        *("window", "max_time", "lam", "lam_ratio", "kernels", "orient", "required", "forbidden"),
    )
    for parameter in LEARNER_OPTIONS[option]
}


def learn_series(where: Source, options: dict, targets: report.Targets, quiet: bool) -> None:
    """Learn the graph of a time series from a file, and report and write it."""
    known = {}
    if options["exogenous_power"] is not None:
        known["exogenous_power"] = _read_powers(options["exogenous_power"])
    knowledge = _read_knowledge(where.path, options)
    if where.path is not None and options.get("discrete"):
        knowledge["discrete_columns"] = choose_discrete(where.path, options)
    chosen = make_learner(options, knowledge)
    with warnings.catch_warnings(), spelling_options(options["time_column"]):
        # The report has these, with the options of this command.
        warnings.filterwarnings("ignore", ".* (stopped at a duality gap|was ended by|did not reach tol)", UserWarning)
        warnings.filterwarnings("ignore", "the smallest of .* penalties was chosen", UserWarning)
        seconds = report.fit_timed(chosen, open_input(where.path, options), **known)
    method, learner = options["method"], getattr(chosen, "estimator_", chosen)
    _report(where, chosen, options, seconds)
    # an undirected edge has two different coefficients, but one strength
    is_scored = method in (*SVARM_METHODS, *DYNAMIC_METHODS)
    numbers = {"strength": "strength"} if is_scored else {"strength": "strength", "weight": "coefficient"}
    rows = [] if quiet else _list_edges(learner.graph_, numbers)
    if rows:
        report.strength_lines(rows, tuple(numbers.values()), MOST_EDGES)
    _write(learner, targets)
    title = f"{where.name}, learned by {method}"
    report.write_report(targets, learner, title, open_input(where.path, options))


def _read_knowledge(path: Path | None, options: dict) -> dict:
    """Return the edges over (name, lag) in the options."""
    if path is None or (options["required"] is None and options["forbidden"] is None):
        return {}
    others = {options["time_column"], options["groups"], *(options["exogenous_columns"] or ())}
    names = [name for name in peek_columns(path, options) or [] if name not in others]
    return lagged_knowledge(options, names, options["lags"] or 1)


@contextmanager
def spelling_options(time_column: str | None) -> Iterator[None]:
    """Replace the parameters in an error, such as ``missing='drop'``, by the options of the command."""
    try:
        yield
    except ValueError as error:
        if hasattr(error, "with_option"):  # about missing values; `console` replaces the parameter
            raise
        from pgmx.data.numeric import TextColumnsError

        text = _spell_options(str(error))
        if isinstance(error, TextColumnsError):
            text += "; use --groups for the column that identifies the series of a panel"
            text += "" if time_column is not None else ", and --time-column for the time column"
        raise ValueError(text) from error


def _spell_options(text: str) -> str:
    """Return a text with parameters of learners replaced by the options of the command."""
    names = "|".join(sorted(_OPTIONS, key=len, reverse=True))
    text = re.sub(rf"\b({names})=(?:'([^']*)'|(\S*?))(?=[\s,;:.)]|$)", _spell_match, text)
    text = re.sub(rf"\b({names})(?= (?:names|holds|must|needs)\b)", lambda match: _OPTIONS[match[1]], text)
    return re.sub(r"\btime_column\b", "--time-column", text)


def _spell_match(match: re.Match) -> str:
    return f"{_OPTIONS[match[1]]} {match[2] or match[3] or ''}".rstrip()


def _read_powers(path: Path) -> Any:
    from pgmx.data.files.readers import read_whole

    if not path.exists():
        raise ValueError(f"--exogenous-power {path}: no such file")
    return read_whole(path)


def _report(where: Source, chosen: Any, options: dict, seconds: float) -> None:
    """Print the learned graph; `chosen` is the learner, or the selector of its penalty."""
    method, learner = options["method"], getattr(chosen, "estimator_", chosen)
    windows = getattr(learner, "window_lengths_", None)
    n_rows = _count_rows(learner) if windows is None else int(windows.sum())
    kind = "with all lags before them" if windows is None else f"in {len(windows)} windows"
    n_left_out = getattr(learner, "n_left_out_", 0)
    dropped = f", {n_left_out} left out" if n_left_out else ""
    _line("data", f"{where.name}: {n_rows} rows {kind}{dropped}, {len(learner.variables_)} variables")
    lags = "" if windows is not None else " (1 lag)" if learner.lags == 1 else f" ({learner.lags} lags)"
    _line("method", f"{method}{lags}")
    if method in DYNAMIC_METHODS:
        _line("score", f"{learner.score_:.4f} ({options['score'] or 'bic'})")
    if hasattr(learner, "objective_"):
        _line("objective", f"{learner.objective_:.6f}")
    if hasattr(learner, "dual_gap_"):
        ending = "converged" if learner.converged_ else "stopped before convergence"
        _line("gap", f"{max(learner.dual_gap_, 0.0):.1e} ({ending})")
    elif not getattr(learner, "converged_", True):
        by = "--max-time" if learner.stopped_by_ == "max_time" else learner.stopped_by_
        _line("ended", f"by {by}, before convergence")
    if hasattr(learner, "lam_max_"):
        _line("lam", report.penalty_text(chosen, options["select"]))
    elif hasattr(learner, "lam_"):
        _line("lam", f"{learner.lam_:.6g}")
    graph = learner.graph_
    n_present = sum(1 if graph.edges[edge].get("undirected") else 2 for edge in graph.instantaneous_edges) // 2
    n_lagged = len(graph.lagged_edges)
    _line("edges", f"{n_lagged + n_present} ({n_lagged} lagged, {n_present} instantaneous)")
    if method in LDS_METHODS:
        system = learner.model_
        _line("radius", f"{system.spectral_radius:.4f} ({'stable' if system.is_stable() else 'not stable'})")
    _line("seconds", f"{seconds:.3f}")


def _count_rows(learner: Any) -> int:
    return learner.n_rows_ if hasattr(learner, "n_rows_") else learner.n_targets_


def _list_edges(graph: Any, attributes: Iterable[str]) -> list[tuple]:
    """Return the edges as text, with their attributes; an undirected edge appears once."""
    rows = []
    for (source, lag), (target, _), numbers in graph.edges(data=True):
        values = [numbers[attribute] for attribute in attributes]
        if not numbers.get("undirected"):
            rows.append((f"{lagged_name(source, lag)} -> {target}", *values))
        elif (str(source), repr(source)) < (str(target), repr(target)):
            rows.append((f"{source} -- {target}", *values))
    return rows


def _write(learner: Any, targets: report.Targets) -> None:
    if any(target is not None for target in targets):
        say()
    if targets.out is not None:
        from pgmx.models import save_model

        has_parameters = targets.out.suffix.lower() in ((".json", ".bif") if hasattr(learner, "n_rows_") else (".npz",))
        model = learner.model_ if has_parameters else learner.graph_
        say(f"wrote {save_model(model, targets.out)}")
    if targets.plot is not None:
        _draw(learner.graph_, targets.plot)


def _draw(graph: Any, path: Path) -> None:
    from pgmx.plotting import plot_adjacency, plot_summary_graph

    if len(graph.names) <= _MOST_NODES and graph.summary_graph().number_of_edges() <= _MOST_LINKS:
        report.save_figure(plot_summary_graph(graph).figure, path)
    else:
        report.save_figure(plot_adjacency(graph), path)
