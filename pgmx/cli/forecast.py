"""The work of ``pgmx forecast``: the rows that follow a series, by a model of it."""

from pathlib import Path
from typing import Any

import click


def forecast(model: str, source: str, *, steps: int, time_column: str | None, out: Path | None) -> None:
    """Print or write the forecasts as CSV; the options are those of `pgmx.cli.commands.forecast`."""
    from pgmx.atomic import replace_file
    from pgmx.data import read_table
    from pgmx.data.series import SeriesOptions, read_history
    from pgmx.models import LinearDynamicalSystem, read_model

    if out is not None and out.suffix.lower() != ".csv":
        raise ValueError(f"--out {out}: the suffix must be .csv")
    system = read_model(Path(model))
    if not isinstance(system, LinearDynamicalSystem):
        raise ValueError(f"{model} holds no model of a time series: write one by pgmx learn --method lds --out")
    if system.exogenous_names:
        raise ValueError(f"{model} has exogenous columns, whose future is unknown here: use predict() in Python")
    frame = read_table(source)
    if time_column is not None and time_column not in frame:
        raise ValueError(f"--time-column {time_column} is no column of {source}: {', '.join(map(str, frame.columns))}")
    rows = read_history(frame, system.names, SeriesOptions(system.lags, time_column=time_column))
    known = {str(name): name for name in system.names}
    means: Any = system.predict(rows.rename(columns=lambda name: known.get(str(name), name)), steps)
    means.index.name = time_column or "row"
    text = means.to_csv(lineterminator="\n")
    if out is None:
        click.echo(text, nl=False)
        return
    with replace_file(out) as part:
        part.write_text(text, encoding="utf-8")
    click.echo(f"wrote {out}")
