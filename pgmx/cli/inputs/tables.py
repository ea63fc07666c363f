"""Tables in files as the options of reading say: separator, decimal point, columns; and numbers as categories."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pgmx.cli.inputs.knowledge import choose_column

#: The options that every command with a table takes.
READING = ("sep", "decimal", "na", "columns", "drop", "index_column")

#: Separators that a shell makes hard to type, or that stand for more than themselves.
_SEPARATORS = {"tab": "\t", "\\t": "\t", " ": r"\s+", "space": r"\s+"}


def list_reading(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return those of the options of reading that were given."""
    return {name: options[name] for name in READING if options.get(name) is not None}


def refuse_reading(name: str, options: Mapping[str, Any]) -> None:
    """Refuse options of files for rows that are sampled."""
    others = [option for option in ("discretize", "discrete") if options.get(option)]
    for option in (*list_reading(options), *others):
        raise ValueError(f"--{option.replace('_', '-')} is for files, and {name} is a network that is sampled")


def peek_columns(path: Path, options: Mapping[str, Any]) -> list | None:
    """Return the names of the columns that are read; None where reading the rows will say what is wrong."""
    try:
        return choose_columns(_list_columns(path, options), options)
    except (OSError, ValueError):
        return None


def open_input(path: Path | None, options: Mapping[str, Any]) -> Any:
    """Return what learners are given: the path as it is, or, where options say how to read it, its rows in memory."""
    return path if path is None or not list_reading(options) else read_input(path, options)


def read_input(path: Path, options: Mapping[str, Any]) -> Any:
    """Read the rows of a file as the options say: a pandas frame, of a coded table another one."""
    from pgmx.data import DiscreteTable, open_table
    from pgmx.data.files.readers import read_whole

    if not list_reading(options):
        return read_whole(path)
    if not path.exists():
        raise ValueError(f"no such file or folder: {path}")
    names = choose_columns(_list_columns(path, options), options)
    if path.suffix.lower() == ".pgmx":
        table = open_table(path)
        at = [table.index(name) for name in names]
        return DiscreteTable(names, [table.states[v] for v in at], table.codes[at])
    return read_whole(path, **list_layout(path, options), na_values=options.get("na"), columns=names)


def choose_discrete(path: Path, options: Mapping[str, Any]) -> list | None:
    """Return the columns that --discrete names, None without any; a name that the file lacks is an error."""
    if not options.get("discrete"):
        return None
    known = choose_columns(_list_columns(path, options), options)
    return [choose_column(name, known, "--discrete") for name in options["discrete"]]


def choose_columns(known: Sequence, options: Mapping[str, Any]) -> list:
    """Return the columns to read among those of the file, in its order; a name that it lacks is an error."""
    wanted = options.get("columns")
    names = set(known) if wanted is None else {choose_column(name, known, "--columns") for name in wanted}
    for name in options.get("drop") or ():
        names.discard(choose_column(name, known, "--drop"))
    index = options.get("index_column")
    if index:  # one without a name, which is "", counts the rows and is left out, or is called "Unnamed: 0"
        names.discard(choose_column(index, known, "--index-column"))
    elif index == "" and len(known) and known[0] == "Unnamed: 0":
        names.discard(known[0])
    if not names:
        raise ValueError("--columns, --drop and --index-column leave no column: name fewer of them")
    return [name for name in known if name in names]


def split_discretize(text: str) -> tuple[str, int]:
    """Return the method and the number of bins of ``quantile:5``; 5 where there is no number."""
    from pgmx.data.bins.discretizer import METHODS

    method, _, count = text.partition(":")
    if method not in METHODS or not (count or "5").isdecimal() or not 2 <= int(count or 5) <= 255:
        raise ValueError(f"--discretize {text}: give one of {', '.join(METHODS)}, and 2 to 255 bins, as in quantile:5")
    return method, int(count or 5)


def discretize_input(path: Path, options: Mapping[str, Any]) -> tuple[Any, Any]:
    """Return the rows of a file with ordered categories for floats, and what puts other rows into the same bins."""
    from pgmx.data import discretize

    method, n_bins = split_discretize(options["discretize"])
    if path.suffix.lower() == ".pgmx":
        raise ValueError(f"--discretize is for columns of numbers, and {path} holds coded states: leave it out")
    return discretize(read_declared(path, options), method, n_bins=n_bins)


def read_declared(path: Path, options: Mapping[str, Any]) -> Any:
    """Read the rows of a file as `read_input` does, columns of floats that --discrete names as states."""
    from pgmx.data.files.readers import declare_discrete

    return declare_discrete(read_input(path, options), choose_discrete(path, options))


def _list_columns(path: Path, options: Mapping[str, Any]) -> list:
    from pyarrow import parquet

    from pgmx.data import open_table
    from pgmx.data.files.csv_layout import find_layout
    from pgmx.data.files.readers import csv_header, explain_unreadable, is_csv, table_files

    layout = list_layout(path, options)
    if path.suffix.lower() == ".pgmx":
        return list(open_table(path).columns)
    first = table_files(path, layout.get("sep"))[0]
    with explain_unreadable(first):
        if is_csv(first):
            return list(csv_header(first, find_layout(first, **layout)))
        return list(parquet.read_schema(first).names)


def list_layout(path: Path, options: Mapping[str, Any]) -> dict[str, str]:
    """Return separator and decimal point as readers take them; for files other than CSV they and --na are refused."""
    from pgmx.data.files.readers import is_csv

    given = {name: options[name] for name in ("sep", "decimal", "na") if options.get(name) is not None}
    for option, value in given.items():
        if not is_csv(path):
            text = " ".join(map(repr, [value] if isinstance(value, str) else value))
            raise ValueError(f"--{option} {text} is for CSV files, and {path} is not one: leave it out")
    given.pop("na", None)
    if "sep" in given:
        given["sep"] = separator = _SEPARATORS.get(str(given["sep"]), str(given["sep"]))
        if len(separator) != 1 and separator != r"\s+":
            raise ValueError(f"--sep {options['sep']!r} must be one character, 'tab' or 'space'")
    return given
