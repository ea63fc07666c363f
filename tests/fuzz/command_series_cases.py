"""Cases of the command line for time series: learn, then forecast."""

from pathlib import Path

import numpy as np
import pandas as pd

from tests.fuzz.cases import Case, Fault, chance, entry, fault, pick
from tests.fuzz.command_line_cases import run

SYSTEMS = ("dense-lds", "lds", "scalable-lds")
#: Options with values that must be refused; the error names the option or the value.
WRONG = {
    "--lags": ("0", "x", "999"),
    "--time-column": ("no_such_column",),
    "--missing": ("pairwise",),
    "--n-jobs": ("0", "x"),
    "--window": ("1", "3"),
    "--score": ("bic",),
    "--out": ("none/m.npz", "m.bif"),
}


@entry("cli.series", 1.5)
def draw_series_case(rng: np.random.Generator) -> Case:
    """Return a case of ``pgmx learn`` for a time series, and of ``pgmx forecast`` after it."""
    method = pick(rng, (*SYSTEMS, "svarm"))
    n, length, lags = int(rng.integers(1, 5)), int(rng.integers(20, 60)), int(rng.integers(1, 4))
    frame = pd.DataFrame(rng.normal(size=(length, n)).round(6), columns=[f"c{v}" for v in range(n)])
    frame.insert(0, "day", pd.date_range("2020-01-01", periods=length))
    out = "m.npz" if method in SYSTEMS else pick(rng, ("m.json", "m.graphml"))
    arguments = ["learn", "t.csv", "--method", method, "--lags", str(lags), "--time-column", "day", "--out", out]
    faults: list[Fault] = []
    if chance(rng, 0.4):
        option = pick(rng, WRONG)
        value = pick(rng, WRONG[option])
        arguments += [option, value]
        faults = [fault(option, option.strip("-"), value)]

    def call(folder: Path) -> str:
        frame.to_csv(folder / "t.csv", index=False)
        text = run(folder, arguments)
        if method in SYSTEMS:
            text += run(folder, ["forecast", out, "t.csv", "--steps", "3", "--time-column", "day", "--coverage", "0.8"])
        return text

    def check(result: str) -> None:
        assert "nan" not in result.lower(), result

    return Case("", call, check, faults, plan=f"{' '.join(arguments)}, {frame.shape}")
