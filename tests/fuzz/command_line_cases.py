"""Cases of the command line: done, or one line that names the culprit, with exit status 2."""

import os
import re
from pathlib import Path
from typing import Any

import numpy as np

from pgmx.cli.methods import BAYESIAN_METHODS, GAUSSIAN_METHODS, MARKOV_METHODS
from tests.fuzz.cases import Case, Fault, chance, entry, fault, pick
from tests.fuzz.frames import draw_numbers, draw_table
from tests.helpers.command_line import pgmx

DISCRETE = tuple(BAYESIAN_METHODS | MARKOV_METHODS)
GAUSSIAN = tuple(GAUSSIAN_METHODS)
OUT = {
    "hill-climb": (".json", ".graphml", ".xmlbif"),
    "chow-liu": (".json",),
    "group-lasso": (".uai", ".npz"),
    "glasso": (".npz", ".json"),
}

#: Options with values that must be refused; the error names the option.
WRONG = {
    "--max-indegree": ("-1", "x", "1.5"),
    "--restarts": ("-1", "x"),
    "--max-time": ("-1", "0", "x"),
    "--rows": ("1", "x"),
    "--n-jobs": ("x", "1.5"),
    "--random-state": ("-1", "x"),
    "--method": ("x", ""),
    "--missing": ("x",),
    "--out": ("none/model.json", "model.txt"),
    "--plot": ("p.pdf", "none/p.svg"),
    "--required": ("none.csv",),
    "--forbidden": ("none.csv",),
    "--tiers": ("none.csv",),
    "--roots": ("no_such_column",),
    "--score": ("x",),
    "--no-such-option": ("3",),
}


def run(folder: Path, arguments: list[str]) -> str:
    """Run pgmx in a folder; return what it printed, or raise an error with its one line."""
    before = Path.cwd()
    os.chdir(folder)
    try:
        result = pgmx(*arguments)
    finally:
        os.chdir(before)
    if result.exit_code == 0:
        assert result.exception is None or isinstance(result.exception, SystemExit)
        return result.stdout
    if result.exit_code != 2:
        raise result.exception or AssertionError(f"exit status {result.exit_code}")
    line = result.stderr.splitlines()[-1:]
    assert re.fullmatch(r"(Warning: [^\n]+\n)*Error: [^\n]+\n", result.stderr), result.stderr
    raise ValueError("".join(line))


@entry("cli.learn", 3.0)
def draw_learn_case(rng: np.random.Generator) -> Case:
    """Return a case of ``pgmx learn``."""
    is_gaussian = chance(rng, 0.3)
    method = pick(rng, GAUSSIAN if is_gaussian else DISCRETE)
    table = draw_table(rng, n=int(rng.integers(2, 5)), plain=True, rows=80)
    frame = draw_numbers(rng) if is_gaussian else table.frame.apply(lambda column: column.astype(str).map("s{}".format))
    frame.columns = [f"c{v}" for v in range(frame.shape[1])]
    arguments = ["learn", "t.csv", "--method", method]
    if method == "tan":
        arguments += ["--class-node", "c0"]
    if method in OUT and chance(rng, 0.7):
        arguments += ["--out", f"model{pick(rng, OUT[method])}"]
    if chance(rng, 0.1):
        arguments += ["--plot", "p.svg"]
    faults: list[Fault] = []
    kind = pick(rng, ["option", "file", "text"]) if chance(rng, 0.4) else ""
    if kind == "option":
        option = pick(rng, WRONG)
        value = pick(rng, WRONG[option])
        arguments += [option, value]
        faults = [fault(option, option.strip("-"), value, "no_such_column")]
        if method in ("tan", "chow-liu", *MARKOV_METHODS, *GAUSSIAN):
            faults.append(fault(option, method))
    elif kind == "file":
        arguments[1] = pick(rng, ["none.csv", "none", "t.txt"])
        faults = [fault(arguments[1])]
    elif kind == "text":
        faults = [fault("t.csv", "sample", "row", "column")]

    def call(folder: Path) -> Any:
        if kind == "text":
            (folder / "t.csv").write_bytes(
                pick(
                    np.random.default_rng(len(frame)),
                    [b"", b"a,b\n", b"a,b\n1,2\n", b"a,a\n1,2\n2,1\n", b"\xff\xfe\x00"],
                )
            )
        else:
            frame.to_csv(folder / "t.csv", index=False)
        return run(folder, arguments)

    def check(result: str) -> None:
        assert "nan" not in result.lower().replace("covariance", ""), result

    return Case("", call, check, faults, plan=f"{' '.join(arguments)}, {kind}, {frame.shape}")


@entry("cli.other", 1.5)
def draw_other_case(rng: np.random.Generator) -> Case:
    """Return a case of ``pgmx bootstrap``, ``score``, ``compare`` and ``show``."""
    table = draw_table(rng, n=3, plain=True, rows=80)
    frame = table.frame.apply(lambda column: column.astype(str).map("s{}".format))
    frame.columns = ["c0", "c1", "c2"]
    kind = pick(
        rng,
        [
            "bootstrap",
            "score",
            "compare",
            "same",
            "show",
            "wrong model",
            "wrong columns",
            "threshold",
            "resamples",
            "damaged",
        ],
    )
    faults = {
        "wrong model": [fault("none.json")],
        "wrong columns": [fault("c2", "another")],
        "threshold": [fault("--threshold")],
        "resamples": [fault("--resamples")],
        "damaged": [fault("model.json")],
    }.get(kind, [])

    def call(folder: Path) -> Any:
        frame.to_csv(folder / "t.csv", index=False)
        frame.rename(columns={"c2": "another"}).to_csv(folder / "other.csv", index=False)
        if kind in ("bootstrap", "threshold", "resamples"):
            more = {"threshold": ["--threshold", "2"], "resamples": ["--resamples", "0"]}.get(kind, ["--out", "s.csv"])
            return run(folder, ["bootstrap", "t.csv", "--resamples", "3", *more])
        run(folder, ["learn", "t.csv", "--out", "model.json", "--quiet"])
        if kind == "damaged":
            raw = (folder / "model.json").read_bytes()
            (folder / "model.json").write_bytes(raw[: len(raw) // 2])
        if kind in ("compare", "same"):
            return run(folder, ["compare", "model.json", "model.json"])
        if kind == "show":
            return run(folder, ["show", "model.json", "--data", "t.csv", "--out", "model.html"])
        model = "none.json" if kind == "wrong model" else "model.json"
        return run(folder, ["score", model, "other.csv" if kind == "wrong columns" else "t.csv"])

    return Case("", call, faults=faults, plan=f"{kind} {table.plan}")
