"""The work of ``pgmx predict``: missing values of a file, or their distributions, chunk by chunk into another file."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pgmx.checks import join_names
from pgmx.cli.console import escape_controls, say
from pgmx.cli.networks import read_any
from pgmx.cli.paths import check_writable
from pgmx.cli.tables import choose_columns, list_layout

if TYPE_CHECKING:
    import pandas as pd

    from pgmx.data import Frame

_SUFFIXES = (".csv", ".parquet", ".pq")
_DELAY = 1.0  # seconds before the progress bar is shown


def predict(
    model: str,
    source: str,
    *,
    format: str | None,
    method: str,
    proba: bool,
    out: Path | None,
    quiet: bool,
    **reading: Any,
) -> None:
    """Predict the missing values of a file and write the complete rows, or the distributions of the missing values."""
    path = Path(source)
    _check_files(path, out)
    network = _read_network(model, format)
    states = _list_states(network)
    answer = _make_answer(network, method)
    if proba:
        answer = _make_distributions(network, _find_incomplete(path, states, reading))
    frames = _answer_chunks(answer, path, states, reading, quiet)
    if out is None:
        write_csv(frames, sys.stdout)
        return
    from pgmx.atomic import replace_file

    with replace_file(out) as part:
        if out.suffix.lower() == ".csv":
            with part.open("w", encoding="utf-8", newline="") as file:
                n_rows = write_csv(frames, file)
        else:
            n_rows = _write_parquet(frames, part)
    say(f"wrote {out}: {n_rows:,} rows")


def _check_files(path: Path, out: Path | None) -> None:
    if not path.exists():
        raise ValueError(f"no such file or folder: {path}")
    if out is None:
        return
    if out.suffix.lower() not in _SUFFIXES:
        raise ValueError(f"--out {out}: the suffix must be one of {', '.join(_SUFFIXES)}")
    check_writable(out, "--out")


# ---- networks ----


def _read_network(model: str, format: str | None) -> Any:
    """Read a network that predicts."""
    from pgmx.models import DynamicBayesianNetwork, LinearDynamicalSystem

    network = read_any(model, format)
    if isinstance(network, LinearDynamicalSystem):
        raise ValueError(f"{model} is a linear dynamical system: use pgmx forecast")
    if isinstance(network, DynamicBayesianNetwork):
        raise ValueError(f"{model} is a dynamic Bayesian network: use pgmx forecast")
    if not hasattr(network, "predict"):
        raise ValueError(
            f"{model} holds a {type(network).__name__}: predict needs a network with parameters (discrete, Gaussian or "
            "mixed)"
        )
    return network


def _list_states(network: Any) -> dict[Any, tuple | None]:
    """Return the states of each variable of a network, None for continuous ones."""
    states = network.list_states() if hasattr(network, "list_states") else {}
    names = getattr(network, "names", None) or list(network.nodes())
    return {name: tuple(states[name]) if states.get(name) is not None else None for name in names}


def _make_answer(network: Any, method: str) -> Callable[[pd.DataFrame], pd.DataFrame]:
    """Return the function that completes rows; complete rows stay as they are."""
    from inspect import signature

    predict = network.fill if hasattr(network, "fill") else network.predict
    # the conditional mean of a Gaussian network is both
    options = {"method": method} if "method" in signature(predict).parameters else {}
    return lambda rows: predict(rows, **options)


def _make_distributions(network: Any, wanted: Sequence) -> Callable[[pd.DataFrame], pd.DataFrame]:
    """Return the function that gives the distributions of the wanted variables, also in rows that observe them."""
    import pandas as pd

    states = _list_states(network)

    def answer(rows: pd.DataFrame) -> pd.DataFrame:
        found = network.predict_proba(rows)
        hidden = set(found.columns.get_level_values(0)) if found.shape[1] else set()
        columns = {}
        for name in wanted:
            for label in states[name] or ("mean", "std"):
                if name in hidden:
                    values = found[name, label]
                elif states[name] is not None:
                    values = (rows[name] == label).astype(float)
                else:
                    values = rows[name] if label == "mean" else 0.0 * rows[name]
                columns[f"{name}_{label}"] = values.to_numpy()
        return pd.DataFrame(columns)

    n_columns = len({f"{name}_{label}" for name in wanted for label in states[name] or ("mean", "std")})
    if n_columns < sum(len(states[name] or ("mean", "std")) for name in wanted):
        raise ValueError("two columns NAME_STATE of the distributions have the same name: rename a variable or a state")
    return answer


# ---- rows ----


def _answer_chunks(
    answer: Callable[[pd.DataFrame], pd.DataFrame], path: Path, states: Mapping, reading: dict, quiet: bool
) -> Iterator[pd.DataFrame]:
    """Yield the answers chunk by chunk, with text as names of columns; errors count rows from the first of the file."""
    from tqdm.auto import tqdm

    from pgmx.models.distributed_rows import number_rows_from
    from pgmx.models.rows import type_columns

    begin, empty = 0, None
    with tqdm(desc="predict", unit=" rows", delay=_DELAY, disable=quiet or not sys.stderr.isatty()) as bar:
        for frame in _read_chunks(path, states, reading):
            rows = type_columns(frame, states)
            if not len(rows):  # a Parquet file begins with its columns
                empty = rows
                continue
            with number_rows_from(begin), _naming_first_row(begin):
                answers = answer(rows)
            yield answers.set_axis([str(name) for name in answers.columns], axis=1)
            begin += len(rows)
            bar.update(len(rows))
    if not begin and empty is not None:
        answers = answer(empty)
        yield answers.set_axis([str(name) for name in answers.columns], axis=1)


@contextmanager
def _naming_first_row(begin: int) -> Iterator[None]:
    """Add the first row of a chunk to an error that counts rows from there."""
    from pgmx.inference import TreewidthError
    from pgmx.models.distributed_rows import ImpossibleRowsError

    try:
        yield
    except (ImpossibleRowsError, TreewidthError):
        raise
    except ValueError as error:
        raise ValueError(f"{error} (rows are counted from row {begin} of the file)" if begin else str(error)) from error


def _find_incomplete(path: Path, states: Mapping, reading: dict) -> list:
    """Return the variables without a column or with a missing value in a file, in the order of the network."""
    from pgmx.data.columns import find_missing

    complete = None
    for frame in _read_chunks(path, states, reading):
        complete = set(frame.names) if complete is None else complete
        for name, values in zip(frame.names, frame.columns, strict=True):
            mask = find_missing(values) if name in complete else None
            if mask is not None and mask.any():
                complete.discard(name)
    wanted = [name for name in states if name not in (complete or ())]
    if not wanted:
        raise ValueError(f"no value is missing in {path}: there is nothing to predict; leave out columns by --drop")
    return wanted


def _read_chunks(path: Path, states: Mapping, reading: dict) -> Iterator[Frame]:
    """Yield the chosen columns of a file under the names of the variables, chunk by chunk."""
    from pgmx.data import DiscreteTable, Frame
    from pgmx.data.files.readers import CHUNK_ROWS, open_chunks
    from pgmx.data.inputs import open_new_chunks

    layout = list_layout(path, reading)
    if path.suffix.lower() == ".pgmx":
        chunks: Any = open_new_chunks(path)[0]
    else:
        chunks, _ = open_chunks(path, CHUNK_ROWS, 0, reading.get("na"), layout)
    names = {str(name): name for name in states}
    for chunk in chunks:
        if isinstance(chunk, DiscreteTable):
            yield from _split_table(chunk, names, path, reading)
            continue
        kept = chunk.take_columns(choose_columns(chunk.names, reading))
        yield Frame(_match_names(kept.names, names, path), kept.columns, kept.n_rows)


def _split_table(table: Any, names: Mapping[str, Any], path: Path, reading: dict) -> Iterator[Frame]:
    """Yield the chosen columns of a coded table, chunk by chunk."""
    import pandas as pd

    from pgmx.data import Frame
    from pgmx.data.files.readers import CHUNK_ROWS

    columns = choose_columns(table.columns, reading)
    matched, places = _match_names(columns, names, path), [table.index(name) for name in columns]
    for begin in range(0, table.n_rows, CHUNK_ROWS):
        rows = slice(begin, min(begin + CHUNK_ROWS, table.n_rows))
        values = []
        for v in places:
            codes = table.codes[v, rows].astype("i4")
            if table.missing_codes[v] >= 0:
                codes[codes == table.missing_codes[v]] = -1
            values.append(pd.Categorical.from_codes(codes, pd.Index(table.states[v], tupleize_cols=False)))
        yield Frame(matched, values, rows.stop - rows.start)


def _match_names(columns: Sequence, names: Mapping[str, Any], path: Path) -> tuple:
    """Return the variables of columns by their text; raise for columns that are not variables."""
    from pgmx.lookup import suggest

    others = [str(name) for name in columns if str(name) not in names]
    if others:
        raise ValueError(
            f"column(s) {join_names(others)} of {path} are not variables of the network{suggest(others[0], names)}: "
            f"leave them out by --drop {','.join(others[:3])}"
        )
    return tuple(names[str(name)] for name in columns)


# ---- files ----


def write_csv(frames: Iterator[pd.DataFrame], file: Any) -> int:
    """Write frames one after the other as one CSV table, and return the number of rows."""
    n_rows, is_terminal = 0, file is sys.stdout
    for number, frame in enumerate(frames):
        text = frame.to_csv(header=number == 0, index=False, lineterminator="\n")
        if is_terminal:
            for line in text.splitlines():
                say(escape_controls(line))
        else:
            file.write(text)
        n_rows += len(frame)
    return n_rows


def _write_parquet(frames: Iterator[pd.DataFrame], path: Path) -> int:
    """Write frames one after the other as one Parquet table, and return the number of rows."""
    import pyarrow as pa
    from pyarrow import parquet

    writer, n_rows = None, 0
    try:
        for frame in frames:
            table = pa.Table.from_pandas(_with_plain_states(frame), preserve_index=False)
            if writer is None:
                writer = parquet.ParquetWriter(path, table.schema)
            writer.write_table(table)
            n_rows += len(frame)
    finally:
        if writer is not None:
            writer.close()
    return n_rows


def _with_plain_states(frame: pd.DataFrame) -> pd.DataFrame:
    """Return a frame whose states have one type per column, text if they are of several types."""
    frame = frame.copy(deep=False)
    for v, column in enumerate(frame.items()):
        values = column[1]
        if not hasattr(values, "cat"):
            continue
        kinds = {type(state) for state in values.cat.categories}
        if len(kinds) > 1 or not kinds <= {str, int, float, bool}:
            frame.isetitem(v, values.cat.rename_categories([str(state) for state in values.cat.categories]))
    return frame
