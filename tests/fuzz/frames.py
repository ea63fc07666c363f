"""Tables drawn at random with known codes and states, and faults planted in them."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from tests.fuzz.cases import Fault, chance, fault, pick

PLAIN_NAMES = list("abcdefgh")
ODD_NAMES = ["", " ", "a b", "é", "a,b", "__class__", "x\ny", "1", "None", "missing", "{}", "%s", "a'b", "=1+1"]
OTHER_NAMES = [0, 1, -5, 2.5, ("t", 1), b"raw"]

#: Makers of states, as many as are asked for: distinct, sorted as pgmx sorts them.
STATES = {
    "int64": lambda n: list(range(n)),
    "int8": lambda n: list(range(-1, n - 1)),
    "uint8": lambda n: list(range(n)),
    "Int64": lambda n: list(range(n)),
    "object": lambda n: sorted(["no", "yes", "maybe", "", "é", "5", "nan "][:n]),
    "string": lambda n: sorted(["no", "yes", "maybe", "", "é", "5", "nan "][:n]),
    "category": lambda n: ["low", "mid", "high", "top", "x", "y", "z"][:n],
}


@dataclass
class Table:
    """A discrete table: what is handed to pgmx, and what pgmx should make of it."""

    frame: pd.DataFrame
    codes: np.ndarray  # (n, n_rows), -1 for a missing value
    cards: list[int]  # declared states, a category without rows among them
    names: list
    faults: list[Fault] = field(default_factory=list)
    plan: str = ""
    stand_in: tuple = ()  # what is handed over in place of the frame

    @property
    def data(self) -> Any:
        """What is handed over."""
        return self.stand_in[0] if self.stand_in else self.frame

    @property
    def n_rows(self) -> int:
        """The number of rows."""
        return len(self.frame)


def draw_names(rng: np.random.Generator, n: int, *, plain: bool = False) -> list:
    """Return distinct names of columns; with `plain` such as every file can hold."""
    if plain or chance(rng, 0.6):
        return [str(name) for name in rng.permutation(PLAIN_NAMES)[:n]]
    names = list(dict.fromkeys([*ODD_NAMES, *OTHER_NAMES]) if chance(rng, 0.4) else ODD_NAMES)
    return [names[i] for i in rng.permutation(len(names))[:n]]


def draw_codes(rng: np.random.Generator, n: int, n_rows: int, most_states: int = 4) -> np.ndarray:
    """Return codes (n, n_rows) of columns that depend on the ones before them; some are constant."""
    rows = []
    for v in range(n):
        r = 1 if chance(rng, 0.05) else int(rng.integers(2, most_states + 1))
        cause = rows[int(rng.integers(v))] if v else rng.integers(0, r, n_rows)
        noise = rng.random(n_rows) < rng.random()
        rows.append(np.where(noise, rng.integers(0, r, n_rows), cause % r))
    return np.array(rows, dtype=np.int64).reshape(n, n_rows)


def draw_table(
    rng: np.random.Generator, *, n: int | None = None, plain: bool = False, rows: int | None = None
) -> Table:
    """Return a sound discrete table as a pandas frame."""
    n = int(rng.integers(1, 6)) if n is None else n
    n_rows = int(pick(rng, [2, 3, 10, 40, 80, 200])) if rows is None else rows
    names = draw_names(rng, n, plain=plain)
    codes, cards, columns, kinds = draw_codes(rng, n, n_rows), [], [], []
    for v in range(n):
        kind = pick(rng, STATES) if not chance(rng, 0.1) else "bool"
        if kind == "bool":
            codes[v] %= 2
        levels = np.unique(codes[v])
        if kind == "category":
            unused = int(rng.integers(0, 2))
            cards.append(int(codes[v].max()) + 1 + unused)
            states = STATES[kind](cards[v])
            columns.append(pd.Categorical.from_codes(codes[v], states, ordered=chance(rng, 0.5)))
        else:
            cards.append(len(levels))
            states = [False, True] if kind == "bool" else STATES[kind](int(codes[v].max()) + 1)
            cells = [states[code] for code in codes[v]]
            columns.append(pd.Series(cells, dtype=kind))
            codes[v] = np.searchsorted(levels, codes[v])
        kinds.append(kind)
    frame = pd.DataFrame(dict(enumerate(columns))).set_axis(names, axis=1)
    if chance(rng, 0.2):
        frame.index = rng.permutation(n_rows) + 7
    return Table(frame, codes, cards, names, plan=f"{n_rows} rows of {dict(zip(map(repr, names), kinds, strict=True))}")


def punch_holes(rng: np.random.Generator, table: Table) -> list:
    """Make some cells missing in place, -1 in the codes; return the names of the columns concerned."""
    v = int(rng.integers(len(table.names)))
    mask = rng.random(table.n_rows) < 0.2
    mask[int(rng.integers(table.n_rows))] = True
    column = (
        table.frame.iloc[:, v].astype(object) if table.frame.dtypes.iloc[v].kind in "iub" else table.frame.iloc[:, v]
    )
    column = column.copy()
    column[mask] = None
    parts = [column if u == v else table.frame.iloc[:, u] for u in range(len(table.names))]
    table.frame = pd.concat(parts, axis=1).set_axis(table.names, axis=1)
    table.codes[v, mask] = -1
    if column.dtype != "category":  # a state may have lost its last row
        levels = np.unique(table.codes[v][~mask])
        table.codes[v, ~mask] = np.searchsorted(levels, table.codes[v][~mask])
        table.cards[v] = len(levels)
    return [table.names[v]]


def hold_names(name: object) -> tuple[str, ...]:
    """Return how an error may write the name of a column."""
    return (repr(name), str(name)) if str(name).strip() else (repr(name),)


# ---- faults of tables ----


def spoil(rng: np.random.Generator, table: Table) -> Table:
    """Plant one fault in a discrete table; any discrete learner must refuse it."""
    frame, n = table.frame, len(table.names)
    v = int(rng.integers(n))
    name = table.names[v]

    def with_column(cells: Any) -> pd.DataFrame:
        series = pd.Series(cells, index=frame.index)
        parts = [series if u == v else frame.iloc[:, u] for u in range(n)]
        return pd.concat(parts, axis=1).set_axis(table.names, axis=1)

    kind = pick(
        rng,
        [
            "one row",
            "no rows",
            "no columns",
            "twice",
            "no name",
            "hole",
            "date",
            "list",
            "complex",
            "floats",
            "no table",
        ],
    )
    words: tuple[object, ...] = hold_names(name)
    if kind in ("one row", "no rows"):
        frame, words = frame[: int(kind == "one row")], ("sample(s)", "rows")
    elif kind == "no columns":
        frame, words = frame.iloc[:, :0], ("feature(s)", "columns")
    elif kind == "twice":
        frame = pd.concat([frame, frame.iloc[:, [v]]], axis=1)
    elif kind == "no name":
        frame, words = (
            frame.set_axis([*table.names[:v], pick(rng, [None, np.nan, pd.NA, pd.NaT]), *table.names[v + 1 :]], axis=1),
            ("column name",),
        )
    elif kind == "hole":
        words = hold_names(punch_holes(rng, table)[0])
        frame = table.frame
    elif kind == "date":
        frame = with_column(pd.date_range("2020", periods=len(frame)).to_numpy())
    elif kind == "list":
        frame = with_column([[1, 2]] * len(frame))
    elif kind == "complex":
        frame = with_column(np.full(len(frame), 1 + 2j))
    elif kind == "floats":
        return (
            spoil(rng, table)
            if len(frame) < 3
            else Table(
                with_column(rng.normal(size=len(frame))),
                table.codes,
                table.cards,
                table.names,
                [fault(*words)],
                f"floats in {name!r}",
            )
        )
    else:
        data = pick(
            rng,
            [
                None,
                3,
                2.5,
                np.arange(4),
                np.zeros((2, 2, 2), dtype=int),
                {1, 2},
                object(),
                "no/such.csv",
                Path("no/such.csv"),
            ],
        )
        words = ("X", "data", "table", "no/such", "array", "dimension")
        return Table(frame, table.codes, table.cards, table.names, [fault(*words)], f"no table: {data!r}", (data,))
    return Table(frame, table.codes, table.cards, table.names, [fault(*words)], f"{kind} in {name!r}: {table.plan}")


def spoil_weights(rng: np.random.Generator, n_rows: int, *, count_rows: bool = True) -> tuple[Any, list[Fault]]:
    """Return row weights that must be refused; with `count_rows` those too that do not add up to one row."""
    weights: Any = rng.random(n_rows) + 0.5
    kind = int(rng.integers(7))
    if kind == 0:
        weights[int(rng.integers(n_rows))] = pick(rng, [-1.0, np.nan, np.inf, -np.inf])
    elif kind == 1:
        weights = weights[:-1]
    elif kind == 2:
        weights = weights[:, None]
    elif kind == 3:
        weights = weights + 1j
    elif kind == 4:
        weights = np.zeros(n_rows)
    elif kind == 5:
        weights = ["a"] * n_rows
    else:
        weights = pick(rng, [3.0, "weights", *([np.full(n_rows, 1e-9)] if count_rows else [])])
    return weights, [fault("sample_weight")]


# ---- tables of numbers ----


def draw_numbers(rng: np.random.Generator, *, n: int | None = None, rows: int | None = None) -> pd.DataFrame:
    """Return a frame of dependent continuous columns of different units, more rows than columns."""
    n = int(rng.integers(2, 6)) if n is None else n
    n_rows = int(pick(rng, [20, 60, 150])) if rows is None else rows
    mixing = np.eye(n) + np.triu(rng.normal(size=(n, n)) * (rng.random((n, n)) < 0.5), 1)
    cells = rng.normal(size=(n_rows, n)) @ mixing
    if chance(rng, 0.3):
        cells = cells * 10.0 ** rng.integers(-6, 7, n) + rng.normal(size=n)
    return pd.DataFrame(cells, columns=draw_names(rng, n))


def spoil_numbers(rng: np.random.Generator, frame: pd.DataFrame) -> tuple[Any, list[Fault], str]:
    """Plant one fault that every Gaussian learner must refuse; return the table, the fault and its description."""
    v = int(rng.integers(frame.shape[1]))
    words: tuple[object, ...] = (*hold_names(frame.columns[v]), f"x{v}")
    kind = pick(rng, ["inf", "nan", "constant", "text", "complex", "date", "one row", "no rows", "twice", "no name"])
    cells = frame.to_numpy().copy()
    i = int(rng.integers(len(frame)))
    if kind in ("inf", "nan"):
        cells[i, v] = pick(rng, [np.inf, -np.inf]) if kind == "inf" else np.nan
    elif kind == "constant":
        cells[:, v] = pick(rng, [0.0, 1e300, -5.5])
    elif kind == "complex":
        cells = cells + 1j
    if kind in ("one row", "no rows"):
        return frame[: int(kind == "one row")], [fault("sample(s)", "rows")], kind
    if kind == "twice":
        return pd.concat([frame, frame.iloc[:, [v]]], axis=1), [fault(*words)], kind
    if kind == "no name":
        names = [None if u == v else name for u, name in enumerate(frame.columns)]
        return frame.set_axis(names, axis=1), [fault("column name")], kind
    result = pd.DataFrame(cells, columns=frame.columns)
    if kind in ("text", "date"):
        column: Any = ["a"] * len(frame) if kind == "text" else pd.date_range("2020", periods=len(frame))
        parts = [pd.Series(column) if u == v else result.iloc[:, u] for u in range(frame.shape[1])]
        result = pd.concat(parts, axis=1).set_axis(frame.columns, axis=1)
    if kind == "complex":
        words = (*map(str, words), "complex")
    return result, [fault(*words)], f"{kind} in {frame.columns[v]!r}"
