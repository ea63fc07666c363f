"""Cases of pgmx.data: coding, files of tables, tables of numbers."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from pgmx.data import (
    DiscreteTable,
    DistributedNumericTable,
    DistributedTable,
    distribute,
    encode,
    estimate_memory,
    open_any,
    open_frame,
    open_numeric,
    open_table,
    read_table,
    write_table,
)
from tests.fuzz.calls import Wrong, enter_calls
from tests.fuzz.cases import Case, chance, entry, fault, pick
from tests.fuzz.containers import draw_container, put_into
from tests.fuzz.frames import Table, draw_numbers, draw_table, punch_holes, spoil, spoil_numbers
from tests.fuzz.oracles import is_close, rows_in_use


def check_coded(result: DiscreteTable, table: Table, missing: str) -> None:
    """Raise an AssertionError unless a table is coded as it was drawn."""
    codes, cards, _ = rows_in_use(table, missing, None)
    assert list(result.columns) == table.names, result.columns
    assert result.cardinalities.tolist() == cards, (result.cardinalities, cards)
    assert np.array_equal(result.codes, codes)
    for v, name in enumerate(table.names):
        cells = table.frame.iloc[:, v].tolist()
        known = {state for state in cells if not pd.isna(state)}
        assert known <= set(result.states[v]) or missing == "drop", (name, known, result.states[v])


@entry("data.encode", 4.0)
def draw_encode_case(rng: np.random.Generator) -> Case:
    """Return a case of coding a table."""
    table, options = draw_table(rng), {}
    container = "pandas"
    if chance(rng, 0.3):
        table = spoil(rng, table)
    elif chance(rng, 0.1):
        options = pick(
            rng, [{"missing": "x"}, {"missing": None}, {"state_names": 3}, {"state_names": {"no such column": [1]}}]
        )
        table.faults = [fault(next(iter(options)))]
    elif chance(rng, 0.3) and table.n_rows >= 40:
        punch_holes(rng, table)
        options = {"missing": pick(rng, ["drop", "category", "pairwise"])}
    else:
        container = draw_container(rng, table.frame, 0.8)
    function = pick(rng, [encode, open_any])
    is_coded = function is encode

    def call(folder: Path) -> Any:
        data = table.data if container == "pandas" else put_into(container, table.frame, folder)
        result = function(data, **options)
        return result if isinstance(result, DiscreteTable) else result.encode(**options)

    def check(result: DiscreteTable) -> None:
        check_coded(result, table, options.get("missing", "error"))

    return Case("", call, check, table.faults, plan=f"{container}, {options}, {is_coded}, {table.plan}")


@entry("data.write_table", 2.0)
def draw_write_case(rng: np.random.Generator) -> Case:
    """Return a case of a plane file, written and opened."""
    table = draw_table(rng)
    suffix = pick(rng, ["t.pgmx", "t.PGMX"])
    faults, folder_name, options = [], ".", {}
    container = draw_container(rng, table.frame)
    kind = pick(rng, ["", "", "", "suffix", "folder", "chunk_rows", "table", "name"])
    if kind == "suffix":
        suffix = pick(rng, ["t.csv", "t", "pgmx"])
        faults = [fault(suffix)]
    elif kind == "folder":
        folder_name, faults = "none", [fault("none")]
    elif kind == "chunk_rows":
        options, faults = {"chunk_rows": pick(rng, [0, -1, 1.5, "x", None])}, [fault("chunk_rows")]
    elif kind == "table":
        table, container = spoil(rng, table), "pandas"
        faults = table.faults
    elif any(isinstance(name, bytes) for name in table.names):
        faults = [fault("raw")]

    def call(folder: Path) -> Any:
        data = table.data if container == "pandas" else put_into(container, table.frame, folder)
        path = folder / folder_name / suffix
        write_table(data, path, **options)
        return open_table(path, verify=chance(np.random.default_rng(0), 0.5))

    def check(result: DiscreteTable) -> None:
        check_coded(result, table, "error")

    return Case("", call, check, faults, plan=f"{kind}, {container}, {table.plan}")


@entry("data.open_table", 1.0)
def draw_open_case(rng: np.random.Generator) -> Case:
    """Return a case of a path that holds no plane file."""
    content = pick(rng, [b"", b"a,b\n1,2\n", b"PGMXTAB\n", bytes(5000), rng.bytes(8000), None])
    function = pick(rng, [open_table, encode, open_any, read_table, open_numeric])
    name = pick(rng, ["t.pgmx", "é t.pgmx"]) if function is not read_table else "t.parquet"

    def call(folder: Path) -> Any:
        if content is not None:
            (folder / name).write_bytes(content)
        return function(folder / name)

    return Case("", call, faults=[fault(name)], plan=f"{function.__name__} of {content!r:.60}")


@entry("data.read_table", 1.0)
def draw_read_case(rng: np.random.Generator) -> Case:
    """Return a case of a file of a table, read as it was written."""
    frame = draw_numbers(rng)
    frame.columns = [f"n{v}" for v in range(frame.shape[1])]
    kind = pick(rng, ["csv", "csv.gz", "parquet", "txt", "missing"])
    name = "t.csv" if kind == "missing" else f"t.{kind}"

    def call(folder: Path) -> Any:
        if kind == "parquet":
            frame.to_parquet(folder / name)
        elif kind != "missing":
            frame.to_csv(folder / name, index=False)
        return read_table(folder / name)

    def check(result: Any) -> None:
        assert list(result.columns) == list(frame.columns)
        assert is_close(result.to_numpy(), frame.to_numpy())

    # text of another suffix is read if a separator splits its lines alike
    refusal = fault(name) if kind == "txt" else None
    return Case("", call, check, [fault(name)] if kind == "missing" else [], refusal, plan=kind)


@entry("data.open_numeric", 2.0)
def draw_numeric_case(rng: np.random.Generator) -> Case:
    """Return a case of a table of numbers."""
    frame = draw_numbers(rng)
    data, faults, plan = frame, [], ""
    options: dict[str, Any] = {}
    kind = pick(rng, ["", "", "table", "missing"])
    if kind == "table":
        data, faults, plan = spoil_numbers(rng, frame)
        if plan.startswith("constant"):
            faults = []
            frame = data
    elif kind == "missing":
        options, faults = {"missing": pick(rng, ["x", None, "category"])}, [fault("missing")]
    function = pick(rng, [open_numeric, open_frame]) if not kind else open_numeric

    def call(folder: Path) -> Any:
        result = function(data, **options)
        return result.rows() if function is open_numeric else result.to_pandas().to_numpy()

    def check(result: Any) -> None:
        assert is_close(result, frame.to_numpy(), rtol=0, atol=0)

    return Case("", call, check, faults, plan=f"{plan} {options} {frame.shape}")


def draw_sizes(rng: np.random.Generator) -> dict[str, Any]:
    """Return a number of rows and numbers of states."""
    return {
        "n_rows": int(rng.integers(1, 10**6)),
        "cardinalities": rng.integers(1, 300, int(rng.integers(1, 20))).tolist(),
        "n_threads": int(rng.integers(1, 20)),
    }


def check_estimate(result: Any, arguments: dict[str, Any]) -> None:
    """The sum is that of the parts."""
    *parts, total = result
    assert total == sum(parts) and all(part >= 0 for part in parts)


enter_calls(
    "data.estimate_memory",
    estimate_memory,
    draw_sizes,
    check_estimate,
    {
        "n_rows": Wrong((0, -1, "x", None, np.nan)),
        "cardinalities": Wrong(([], [0], [70_000], "x", [[2]], 3, [2.5], None, [2**70])),
        "n_threads": Wrong((0, -1, "x", None, 1.5)),
    },
)


@entry("data.distribute", 0.5)
def draw_distribution_case(rng: np.random.Generator) -> Case:
    """Return a case of rows for workers that cannot be; those of a real cluster are tested with the learners."""
    table = draw_table(rng)
    option, value = pick(
        rng, [("client", "tcp://127.0.0.1:8786"), ("client", 3), ("missing", "x"), ("missing", "pairwise")]
    )
    return Case(
        "", lambda folder: distribute(table.data, **{option: value}), faults=[fault(option)], plan=f"{option}={value!r}"
    )


@entry("data.DistributedTable", 0.1)
def draw_distributed_table_case(rng: np.random.Generator) -> Case:
    """Return the case of a table that the constructor cannot make."""
    return Case("", lambda folder: DistributedTable(["a"], [["x"]], [[0, 0]]), faults=[fault("distribute")])


@entry("data.DistributedNumericTable", 0.1)
def draw_distributed_numbers_case(rng: np.random.Generator) -> Case:
    """Return the case of a table of numbers that the constructor cannot make."""
    return Case("", lambda folder: DistributedNumericTable(["a"], "error"), faults=[fault("distribute")])


@entry("data.DiscreteTable", 2.0)
def draw_table_case(rng: np.random.Generator) -> Case:
    """Return a case of a coded table made from its parts, and of its methods."""
    table = draw_table(rng)
    states = [list(range(card)) for card in table.cards]
    v = int(rng.integers(len(states)))
    codes = table.codes.copy()
    kind = pick(
        rng, ["", "", "code", "negative", "states", "twice", "shape", "floats", "column", "weights", "more codes"]
    )
    name = table.names[v]
    faults = []
    if kind == "code":
        codes[v, 0] = table.cards[v]
        faults = [fault(repr(name))]
    elif kind == "negative":
        codes[v, 0] = -1
        faults = [fault(repr(name))]
    elif kind == "states":
        states[v] = [0] * len(states[v]) if len(states[v]) > 1 else []
        faults = [fault(repr(name))]
    elif kind == "twice":
        table.names = [*table.names, name]
        states, codes = [*states, states[v]], np.concatenate([codes, codes[[v]]])
        faults = [fault(repr(name))]
    elif kind in ("shape", "floats", "more codes"):
        codes = {"shape": codes[0], "floats": codes + 0.5, "more codes": np.concatenate([codes, codes])}[kind]
        faults = [fault("codes")]
    elif kind in ("column", "weights"):
        faults = [fault("no such column" if kind == "column" else "weight")]
    weights = pick(rng, [[-1] * table.n_rows, [1.5] * table.n_rows, [1], [0] * table.n_rows, "x"])

    def call(folder: Path) -> Any:
        result = DiscreteTable(table.names, states, codes)
        if kind == "column":
            return result.index("no such column")
        if kind == "weights":
            return result.repeat_rows(weights)
        return result, result.to_pandas(), result.repeat_rows([2] * table.n_rows), result.index(name)

    def check(result: Any) -> None:
        coded, frame, repeated, position = result
        assert np.array_equal(coded.codes, codes) and position == v
        assert all(frame[name].tolist() == [states[u][c] for c in codes[u]] for u, name in enumerate(table.names))
        assert repeated.n_rows == 2 * table.n_rows

    return Case("", call, check, faults, plan=f"{kind} {name!r} {weights if kind == 'weights' else ''} {table.plan}")
