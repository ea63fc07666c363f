"""Tables in files, read according to the options (separator, decimal point, columns), and discretisation."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pgmx.cli.inputs.knowledge import choose_column

#: The reading options of every command with a table.
READING = ("sep", "decimal", "na", "columns", "drop", "index_column")

#: Separators that are hard to type in a shell, or that match several characters.
_SEPARATORS = {"tab": "\t", "\\t": "\t", " ": r"\s+", "space": r"\s+"}


def list_reading(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the reading options that were given."""
    return {name: options[name] for name in READING if options.get(name) is not None}


def refuse_reading(name: str, options: Mapping[str, Any]) -> None:
    """Raise an error for options of files if the rows are sampled."""
    others = [option for option in ("discretize", "discrete") if options.get(option)]
    for option in (*list_reading(options), *others):
        raise ValueError(f"--{option.replace('_', '-')} is for files, but {name} is a network that is sampled")


def peek_columns(path: Path, options: Mapping[str, Any]) -> list | None:
    """Return the names of the columns to read; None if they are invalid, which is reported when rows are read."""
    try:
        return choose_columns(_list_columns(path, options), options)
    except (OSError, ValueError):
        return None


def open_input(path: Path | None, options: Mapping[str, Any]) -> Any:
    """Return the input of learners: the path itself, or its rows in memory if there are reading options."""
    return path if path is None or not list_reading(options) else read_input(path, options)


def read_input(path: Path, options: Mapping[str, Any]) -> Any:
    """Read the rows of a file with the reading options: a pandas frame, or a coded table from a coded table."""
    from pgmx.data import DiscreteTable, open_table
    from pgmx.data.readers import read_whole

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
    """Return the columns of --discrete, None without the option; a name that the file does not have is an error."""
    if not options.get("discrete"):
        return None
    known = choose_columns(_list_columns(path, options), options)
    return [choose_column(name, known, "--discrete") for name in options["discrete"]]


def choose_columns(known: Sequence, options: Mapping[str, Any]) -> list:
    """Return the columns to read in the order of the file; a name that the file does not have is an error."""
    wanted = options.get("columns")
    names = set(known) if wanted is None else {choose_column(name, known, "--columns") for name in wanted}
    for name in options.get("drop") or ():
        names.discard(choose_column(name, known, "--drop"))
    index = options.get("index_column")
    if index:  # a column of row numbers has the name "" or "Unnamed: 0"
        names.discard(choose_column(index, known, "--index-column"))
    elif index == "" and len(known) and known[0] == "Unnamed: 0":
        names.discard(known[0])
    if not names:
        raise ValueError("--columns, --drop and --index-column leave no column: name fewer of them")
    return [name for name in known if name in names]


def split_discretize(text: str) -> tuple[str, int]:
    """Return the method and the number of bins of ``quantile:5``; the default number is 5."""
    from pgmx.data.discretizer import METHODS

    method, _, count = text.partition(":")
    if method not in METHODS or not (count or "5").isdecimal() or not 2 <= int(count or 5) <= 255:
        raise ValueError(f"--discretize {text}: give one of {', '.join(METHODS)}, and 2 to 255 bins, as in quantile:5")
    return method, int(count or 5)


def discretize_input(path: Path, options: Mapping[str, Any]) -> tuple[Any, Any]:
    """Return the rows of a file with continuous columns discretised, and the discretizer for other rows."""
    from pgmx.data import discretize

    method, n_bins = split_discretize(options["discretize"])
    if path.suffix.lower() == ".pgmx":
        raise ValueError(f"--discretize is for numeric columns, but {path} is a coded discrete table: leave it out")
    return discretize(read_declared(path, options), method, n_bins=n_bins)


def read_declared(path: Path, options: Mapping[str, Any]) -> Any:
    """Read the rows of a file as `read_input` does; float columns in --discrete become discrete."""
    from pgmx.data.readers import declare_discrete

    return declare_discrete(read_input(path, options), choose_discrete(path, options))


def _list_columns(path: Path, options: Mapping[str, Any]) -> list:
    from pyarrow import parquet

    from pgmx.data import open_table
    from pgmx.data.csv_files import find_layout
    from pgmx.data.readers import explain_unreadable, is_csv, list_table_files, read_csv_header

    layout = list_layout(path, options)
    if path.suffix.lower() == ".pgmx":
        return list(open_table(path).columns)
    first = list_table_files(path, layout.get("sep"))[0]
    with explain_unreadable(first):
        if is_csv(first):
            return list(read_csv_header(first, find_layout(first, **layout)))
        return list(parquet.read_schema(first).names)


def list_layout(path: Path, options: Mapping[str, Any]) -> dict[str, str]:
    """Return the separator and decimal point for readers; with --na, they are an error for files other than CSV."""
    from pgmx.data.readers import is_csv

    given = {name: options[name] for name in ("sep", "decimal", "na") if options.get(name) is not None}
    for option, value in given.items():
        if not is_csv(path):
            text = " ".join(map(repr, [value] if isinstance(value, str) else value))
            raise ValueError(f"--{option} {text} is for CSV files, but {path} is not one: leave it out")
    given.pop("na", None)
    if "sep" in given:
        given["sep"] = separator = _SEPARATORS.get(str(given["sep"]), str(given["sep"]))
        if len(separator) != 1 and separator != r"\s+":
            raise ValueError(f"--sep {options['sep']!r} must be one character, 'tab' or 'space'")
    return given
