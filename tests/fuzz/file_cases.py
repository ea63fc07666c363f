"""Cases of files: tables, plane files, checkpoints and models that are damaged at random, or forged field by field."""

import tempfile
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from pgmx.data import DiscreteTable, encode, open_any, open_numeric, open_table, read_table, write_table
from pgmx.estimators import HillClimbSearch
from pgmx.models import save_model
from tests.fuzz import checkpoint_files
from tests.fuzz.array_fields import DELETE, ArrayFields, TextFields
from tests.fuzz.cases import Case, entry, fault, pick
from tests.fuzz.model_files import FILES, check_model
from tests.fuzz.mutations import damage
from tests.fuzz.plane_fields import NAMES
from tests.fuzz.tamper import read_fields

WIDTHS = dict(zip(NAMES, (64, 32, 32, 64, 64, 64, 64, 64, 32, 32), strict=True))
JSON_VALUES = (None, -1, 2**70, 1.5, "x", "", [], {}, [[]], [1], True, 1e308, float("nan"), {"tuple": "ab"})
TEXTS = (DELETE, "-1", "0", "1", "0.5", "nan", "inf", "1e999", "99999999999", "x", "{", "<a>", "\0")
#: First bytes of a compressed file, which has no fields.
GZIP = b"\x1f\x8b"
TABLES = {
    "t.csv": read_table,
    "t.csv.gz": encode,
    "t.parquet": open_any,
    "n.csv": lambda path: open_numeric(path).rows(),
}


@cache
def sound_files() -> dict[str, bytes]:
    """Return the bytes of a sound file of each kind; made once, in the process that the children are forked from."""
    rng = np.random.default_rng(0)
    codes = [rng.integers(0, 3, 300), rng.integers(0, 2, 300), rng.integers(0, 4, 300)]
    states = pd.DataFrame({"sky": rng.choice(["blue", "grey"], 40), "days": rng.integers(0, 3, 40)})
    numbers = pd.DataFrame(rng.normal(size=(40, 2)).round(3), columns=["sky", "days"])
    files = {}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_table(DiscreteTable("abc", [["x", "y", "z"], [False, True], range(4)], codes), folder / "t.pgmx")
        files["plane"] = (folder / "t.pgmx").read_bytes()
        for table, suffix in ((states, "t"), (numbers, "n")):
            table.to_csv(folder / f"{suffix}.csv", index=False)
        states.to_csv(folder / "t.csv.gz", index=False)
        states.to_parquet(folder / "t.parquet", index=False)
        files |= {name: (folder / name).read_bytes() for name in TABLES}
        for kind, model in FILES.items():
            files[f"model: {kind}"] = save_model(model.make(), folder / model.name).read_bytes()
        for kind, make in checkpoint_files.LEARNERS.items():
            path = folder / f"{kind}.ckpt"
            plain_results()[kind] = checkpoint_files.stop_halfway(make, path, 0.5)
            files[f"checkpoint: {kind}"] = path.read_bytes()
    return files


@cache
def plain_results() -> dict[str, Any]:
    """Return the results of searches without a checkpoint, by kind."""
    return {}


def use_plane(path: Path) -> Any:
    """Learn from a plane file."""
    table = open_table(path)
    return table, HillClimbSearch(show_progress=False, scoring_method="bic").fit(table).score_


def resume(kind: str, path: Path, *, sign: bool) -> str:
    """Continue from a checkpoint; an AssertionError where the result is not right."""
    return checkpoint_files.check(checkpoint_files.LEARNERS[kind], path, plain_results()[kind], {}, sign=sign)


def read_case(entry_name: str, kind: str, raw: bytes, plan: str, *, sign: bool = False) -> Case:
    """Return a case that reads a file: refused by name, or a valid result."""
    family, _, detail = kind.partition(": ")
    name = {"plane": "t.pgmx", "checkpoint": "run.ckpt", "model": FILES[detail].name if family == "model" else ""}.get(
        family, kind
    )

    def call(folder: Path) -> Any:
        path = folder / name
        path.write_bytes(raw)
        if family == "plane":
            return use_plane(path)
        if family == "checkpoint":
            return resume(detail, path, sign=sign)
        return FILES[detail].read(path) if family == "model" else TABLES[kind](path)

    def check(result: Any) -> None:
        if family == "model":
            check_model(result)
        elif family == "plane":
            assert sign or result == use_sound_plane(), "another result"
        elif isinstance(result, DiscreteTable):
            assert all(row.max() < len(states) for row, states in zip(result.codes, result.states, strict=True))

    words = [name, "column"] if kind in TABLES or (family == "plane" and sign) else [name]
    return Case(entry_name, call, check, refusal=fault(*words), plan=f"{kind}: {plan}")


@cache
def use_sound_plane() -> Any:
    """Return what the sound plane file gives."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "t.pgmx")
        path.write_bytes(sound_files()["plane"])
        table, score = use_plane(path)
        return encode(
            table.to_pandas(), state_names=dict(zip(table.columns, map(list, table.states), strict=True))
        ), score


@entry("files.damaged", 5.0)
def draw_damaged(rng: np.random.Generator) -> Case:
    """Return a file with bytes damaged at random."""
    kind = pick(rng, sound_files())
    return read_case("files.damaged", kind, damage(sound_files()[kind], rng), "damaged at random")


def draw_value(rng: np.random.Generator, fields: Any, field: str) -> Any:
    """Return possible values for a field."""
    value = fields.value(field)
    if field == "magic":
        return pick(rng, [b"PGMXTAC\n", bytes(8)])
    if field in WIDTHS and not isinstance(fields, ArrayFields):
        largest = 2 ** WIDTHS[field] - 1
        steps = [0, 1, 2, value - 1, value + 1, largest, largest // 2 + 1, 2**31, int(rng.integers(0, 2**32))]
        return pick(rng, [v for v in steps if 0 <= v <= largest])
    if isinstance(value, np.ndarray):
        return pick(rng, checkpoint_files.other_arrays(value))
    if isinstance(value, np.generic):
        return pick(rng, checkpoint_files.other_cells(value)) if value.dtype.kind in "biuf" else value
    if isinstance(fields, TextFields):
        return pick(rng, [*TEXTS, f"{value} {value}", f"-{value}"])
    if field.startswith(("codes.", "planes.")):
        return pick(rng, [value ^ 1, 255, 0] if field.startswith("codes.") else [value ^ 1, 0, 2**64 - 1])
    return pick(rng, [*JSON_VALUES, [value, value]])


def draw_forged(rng: np.random.Generator, *, sign: bool) -> Case:
    """Return a file of which one field holds another value."""
    kinds = [kind for kind, raw in sound_files().items() if kind not in TABLES and not raw.startswith(GZIP)]
    kind = pick(rng, kinds)
    raw = sound_files()[kind]
    fields = read_fields(raw)
    field = pick(rng, fields.list_fields())
    value = draw_value(rng, fields, field)
    fields.set_value(field, value)
    forged = fields.to_bytes(sign=sign, changed=field)
    name = "files.signed" if sign else "files.unsigned"
    return read_case(name, kind, forged, f"{field}={value!r:.200}", sign=sign)


@entry("files.signed", 4.0)
def draw_signed(rng: np.random.Generator) -> Case:
    """Return a forged file whose checksums and digest are valid."""
    return draw_forged(rng, sign=True)


@entry("files.unsigned", 2.0)
def draw_unsigned(rng: np.random.Generator) -> Case:
    """Return a forged file whose checksums and digest are those of the sound one."""
    return draw_forged(rng, sign=False)
