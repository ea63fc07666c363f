"""The work of ``pgmx forecast``: the rows that follow a time series, from a linear dynamical system."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

from pgmx.cli.console import escape_controls, say
from pgmx.cli.paths import check_writable
from pgmx.cli.tables import read_input

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd


def forecast(
    model: str,
    source: str,
    *,
    steps: int,
    time_column: str | None,
    exogenous: Path | None,
    coverage: float | None,
    out: Path | None,
    **reading: Any,
) -> None:
    """Forecast the rows that follow the rows of a file, and print or write them as CSV."""
    if out is not None:
        if out.suffix.lower() != ".csv":
            raise ValueError(f"--out {out}: the suffix must be .csv")
        check_writable(out, "--out")
    system = _read_system(Path(model))
    if hasattr(system, "transition"):
        if exogenous is not None:
            raise ValueError(f"--exogenous {exogenous}: {model} has no exogenous columns, leave the option out")
        table = _forecast_states(system, Path(source), steps, time_column, coverage, reading)
    else:
        history = _read_history(Path(source), system, time_column, reading)
        later = _read_exogenous(exogenous, system, model, history, steps)
        table = _forecast(system, history, steps, coverage, model, later)
    if out is None:
        _print(table)
        return
    from pgmx.atomic import replace_file

    with replace_file(out) as part:
        table.to_csv(part, index_label=table.index.names, lineterminator="\n", encoding="utf-8")
    say(f"wrote {out}")


def _print(table: "pd.DataFrame") -> None:
    """Print a table as CSV, one line per row."""
    label = [escape_controls(name or "") for name in table.index.names]
    text = table.rename(columns=escape_controls).to_csv(index_label=label, lineterminator="\n")
    for row in text.splitlines():
        say(row)


def _read_system(path: Path) -> Any:
    from pgmx.models import DynamicBayesianNetwork, LinearDynamicalSystem, read_model

    if not path.exists():
        raise ValueError(f"no such file: {path}")
    remedy = (
        "give a file that pgmx learn --method dense-lds, lds or scalable-lds wrote with --out MODEL.npz, or --method "
        "dynamic with --out MODEL.json"
    )
    if path.suffix.lower() not in (".npz", ".json"):
        raise ValueError(f"{path} is not a model of a time series (.npz or .json): {remedy}")
    system = read_model(path)
    if not isinstance(system, LinearDynamicalSystem | DynamicBayesianNetwork):
        raise ValueError(f"{path} holds a {type(system).__name__}, which cannot forecast: {remedy}")
    return system


def _read_exogenous(
    path: Path | None, system: Any, model: str, history: "pd.DataFrame", steps: int
) -> "np.ndarray | None":
    """Return the exogenous rows of the forecast; seasons are counted from the first row of the history."""
    import numpy as np

    from pgmx.data.files.readers import read_whole
    from pgmx.data.series.options import make_seasons, split_seasons
    from pgmx.data.series.time_index import count_positions
    from pgmx.models.time_series.history import read_exogenous

    columns, period = split_seasons(system.exogenous_names)
    names = ", ".join(map(repr, columns))
    if bool(columns) != (path is not None):
        if path is None:
            raise ValueError(f"{model} has the exogenous column(s) {names}: give their later rows by --exogenous FILE")
        raise ValueError(f"--exogenous {path}: {model} has no exogenous columns, leave the option out")
    parts: list[Any] = []
    if path is not None:
        if not path.exists():
            raise ValueError(f"--exogenous {path}: no such file")
        rows = read_whole(path).rename(columns=str)
        absent = [str(name) for name in columns if str(name) not in rows.columns]
        if absent:
            raise ValueError(f"--exogenous {path} lacks the column(s) {', '.join(map(repr, absent))}")
        if len(rows) < steps:
            raise ValueError(f"--exogenous {path} has {len(rows)} rows: give one row per step, for --steps {steps}")
        later = rows[[str(name) for name in columns]].set_axis(list(columns), axis=1)[:steps]
        parts.append(read_exogenous(later, columns, steps))
    if period is not None:
        last = int(count_positions(history.index)[-1])
        parts.append(make_seasons(last + 1 + np.arange(steps), period))
    return np.hstack(parts) if parts else None


def _read_history(path: Path, system: Any, time_column: str | None, reading: dict) -> "pd.DataFrame":
    """Return the rows of the series of a system, labelled by time, or by row number from 0."""
    import pandas as pd

    from pgmx.cli.learn.undirected import with_names_of
    from pgmx.data.series.time_index import make_labels, read_times

    if not path.exists():
        raise ValueError(f"no such file or folder: {path}")
    table = read_input(path, reading)
    rows = with_names_of(system, table)
    absent = [str(name) for name in system.names if name not in rows.columns]
    if absent:
        raise ValueError(f"{path} lacks the series {', '.join(map(repr, absent))}: give one column per series")
    if not rows.columns.is_unique:
        raise ValueError(f"{path} has two columns of the same name: rename one of them")
    labels: pd.Index = pd.RangeIndex(len(rows), name="row")
    if time_column is not None:
        if time_column not in table.columns:
            raise ValueError(
                f"--time-column {time_column} is not a column of {path}: its columns are "
                f"{', '.join(map(repr, map(str, table.columns)))}"
            )
        labels = make_labels(table[time_column].array, f" of {path}").set_names(time_column)
        read_times(labels, irregular="ignore", missing="error", where=f" of {path}")  # they must increase
    known = {*system.names, *map(str, system.exogenous_names), time_column}
    others = [str(name) for name in rows if name not in known]
    if others:
        raise ValueError(
            f"column(s) {', '.join(map(repr, others))} of {path} are not series of the model: leave them out, or name "
            "the time column by --time-column"
        )
    return rows[list(system.names)].set_axis(labels, axis=0)


def _forecast_states(
    network: Any, path: Path, steps: int, time_column: str | None, coverage: float | None, reading: dict
) -> "pd.DataFrame":
    """Return probabilities of states, and means of continuous variables with their bounds if `coverage` is given."""
    if not path.exists():
        raise ValueError(f"no such file or folder: {path}")
    if time_column is not None:
        network = type(network).from_parts(network.parts()._replace(time_column=time_column))
    options = {} if coverage is None else {"coverage": coverage}
    found = network.forecast(read_input(path, reading), steps, **options)
    if not found.exact:
        largest = found.standard_error.max(axis=None)
        say(f"simulated: the largest standard error is {largest:.2g}", err=True)
    kept = [
        (name, label)
        for name, label in found.values.columns
        if name in network.states or label == "mean" or (label != "std" and coverage is not None)
    ]
    texts = [f"{name}" if name not in network.states and label == "mean" else f"{name} {label}" for name, label in kept]
    return found.values[kept].set_axis(texts, axis=1)


def _forecast(
    system: Any, history: "pd.DataFrame", steps: int, coverage: float | None, model: str, exogenous: "np.ndarray | None"
) -> "pd.DataFrame":
    """Return the forecasts; if `coverage` is given, the bounds of its interval follow each series."""
    import pandas as pd

    from pgmx.models.time_series.history import continue_index

    last = history.iloc[-system.lags :]
    index = continue_index(history.index, steps)  # of all rows: inference of a frequency needs at least three
    means = system.predict(last, steps, exogenous=exogenous)
    names = {name: str(name) for name in system.names}
    if coverage is None:
        return means.set_axis(index, axis=0).rename(columns=names)
    if system.noise_covariance is None:
        raise ValueError(f"--coverage {coverage:g} needs the noise of the system, which {model} lacks: leave it out")
    lower, upper = system.predict_interval(last, steps, coverage, exogenous=exogenous)
    columns: dict[str, pd.Series] = {}
    for name, text in names.items():
        columns |= {text: means[name], f"{text} lower": lower[name], f"{text} upper": upper[name]}
    return pd.DataFrame(columns).set_axis(index, axis=0)
