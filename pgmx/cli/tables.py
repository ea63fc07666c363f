"""The data of a command: a table in files, read and discretised according to the options, or a sampled network."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from pgmx.ci_tests.registry import find_test
from pgmx.cli.knowledge import choose_column, learner_knowledge
from pgmx.cli.methods import MARKOV_METHODS, TESTED, default_score
from pgmx.cli.paths import Source, find_source
from pgmx.scores.registry import find_score, needs_columns

#: The reading options of every command with a table.
READING = ("sep", "decimal", "na", "columns", "drop", "index_column")

#: Rows that are sampled from a bundled network.
DEFAULT_ROWS = 10_000

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
    from pgmx.data.files.readers import declare_discrete

    return declare_discrete(read_input(path, options), choose_discrete(path, options))


def _list_columns(path: Path, options: Mapping[str, Any]) -> list:
    from pyarrow import parquet

    from pgmx.data import open_table
    from pgmx.data.files.csv_layout import find_layout
    from pgmx.data.files.readers import explain_unreadable, is_csv, list_table_files, read_csv_header

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
    from pgmx.data.files.readers import is_csv

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


# ---- files and sampled networks ----


class Data(NamedTuple):
    """The data of a learner.

    `table` is coded, or has columns if some are continuous. `score` is the name of the score, test or loss. `network`
    is the kind of the fitted network ("discrete", "gaussian", "mixed", "markov" or None). `truth` is the bundled
    network. `discretizer` bins other rows alike. `interventions` are set in each row. `integers` become continuous.
    """

    table: Any
    columns: tuple
    n_rows: int
    score: str
    network: str | None
    truth: Any
    discretizer: Any = None
    interventions: Any = None
    integers: tuple = ()

    @property
    def fit_arguments(self) -> dict[str, Any]:
        """The arguments of ``fit`` in addition to the table."""
        return {} if self.interventions is None else {"interventions": self.interventions}

    @property
    def discrete(self) -> bool:
        """Whether the result is a discrete Bayesian network."""
        return self.network == "discrete"


def open_source(text: str, options: dict) -> Source:
    """Find the source; raise an error for --rows with a file, and for options of files without a file."""
    where = find_source(text)
    if where.path is None:
        refuse_reading(where.name, options)
    elif options["rows"] is not None:
        raise ValueError("--rows is for bundled networks, which are sampled: leave it out for a file")
    return where


def load(where: Source, options: dict) -> tuple[Data, dict]:
    """Return the data and the learner's arguments about columns; names in the options are checked first."""
    discretizer = interventions = None
    integers: tuple = ()
    if where.path is None:
        from pgmx.data import encode
        from pgmx.datasets import load_network, sample

        truth = load_network(where.name)
        learner_knowledge(options, list(truth.nodes()))
        table = encode(sample(truth, options["rows"] or DEFAULT_ROWS, random_state=options["random_state"]))
    else:
        truth = None
        columns = peek_columns(where.path, options)
        if columns is not None:
            learner_knowledge(options, columns)
        if options.get("interventions") is None:
            (table, integers), discretizer = _open_file(where.path, options)
        else:
            (table, integers), interventions = _open_experiments(where.path, options)
    data = _describe(table, truth, options)._replace(
        discretizer=discretizer, interventions=interventions, integers=integers
    )
    return data, learner_knowledge(options, data.columns)


def _open_file(path: Path, options: dict) -> tuple[tuple[Any, tuple], Any]:
    """Open a file as `_open_rows` does, or discretised as a coded table.

    Also return the discretizer for other rows, None if nothing was discretised.
    """
    from pgmx.data import encode

    if options["discretize"] is not None:
        rows, discretizer = discretize_input(path, options)
        return (encode(rows, missing=_coding_of(options), n_jobs=options["n_jobs"]), ()), discretizer
    return _open_rows(open_input(path, options), choose_discrete(path, options), options), None


def _open_rows(source: Any, discrete: list | None, options: dict) -> tuple[Any, tuple]:
    """Open rows as `_open_coded` does; with a score or test for continuous variables integers are continuous.

    Also return the names of these columns of integers.
    """
    from pgmx.data import DiscreteTable, open_frame
    from pgmx.data.few_values import warn_of_few_values

    is_coded_file = isinstance(source, Path) and source.suffix.lower() == ".pgmx"
    if is_coded_file or not (needs_columns(options["score"]) or _is_gaussian(options)):
        table = _open_coded(source, discrete, options)
    else:
        table = open_frame(source).declare_discrete(discrete)
        if not _is_gaussian(options) and not table.list_known_floats():
            table = _open_coded(table, None, options)
    if isinstance(table, DiscreteTable):
        return table, ()
    if options["method"] not in MARKOV_METHODS:
        warn_of_few_values(table)
    if not _is_gaussian(options):
        return table, ()
    opened = table.declare_continuous(table.names)
    return opened, tuple(name for name in opened.float_columns if name not in table.float_columns)


def _open_experiments(path: Path, options: dict) -> tuple[tuple[Any, tuple], Any]:
    """Open the other columns of a file with a column of interventions; also return the variables set in each row."""
    from pgmx.data import open_frame
    from pgmx.data.inputs import split_column
    from pgmx.data.weights import read_interventions

    if options["discretize"] is not None:
        raise ValueError("--interventions is not for --discretize: discretise the columns first")
    frame = open_frame(open_input(path, options))
    name = choose_column(options["interventions"], list(frame.names), "--interventions")
    cells, rows = split_column(frame, name, "--interventions")
    interventions = read_interventions(*cells, rows.names, name)
    if options["missing"] == "drop" and rows.missing_columns():
        keep = rows.complete_mask()
        interventions, rows = interventions.take(keep), rows.enough_complete_rows()
    return _open_rows(rows, choose_discrete(path, options), options), interventions


def _is_gaussian(options: dict) -> bool:
    """Return whether the score or the test is for continuous variables, so that integers are not states."""
    score, test = options["score"], options.get("test")
    is_score = score is not None and find_score(score).kind == "continuous"
    return is_score or (test is not None and find_test(test).kind == "continuous")


def _coding_of(options: dict) -> str:
    """Return the coding of missing values; for structural EM they are marked."""
    return "pairwise" if options["missing"] == "em" else options["missing"]


def _open_coded(source: Any, discrete: list | None, options: dict) -> Any:
    """Open a table, coded if all columns are discrete; `discrete` lists the columns declared as such."""
    from pgmx.data import Frame, encode, open_any

    missing = _coding_of(options)
    table = open_any(source, missing=missing, discrete_columns=discrete, n_jobs=options["n_jobs"])
    if isinstance(table, Frame) and not table.list_known_floats():
        return encode(table, missing=missing, n_jobs=options["n_jobs"])
    return table


def open_held_out(path: Path, options: dict, discretizer: Any) -> Any:
    """Open the rows of --held-out, read and binned in the same way as the training data."""
    if discretizer is None:
        return _open_coded(open_input(path, options), choose_discrete(path, options), options)
    from pgmx.data import encode

    rows = discretizer.transform(read_declared(path, options))
    return encode(rows, missing=options["missing"], n_jobs=options["n_jobs"])


def _describe(table, truth, options: dict) -> Data:
    from pgmx.data import DiscreteTable

    coded = isinstance(table, DiscreteTable)
    columns = tuple(table.columns if coded else table.names)
    floats = () if coded else table.float_columns
    if options["method"] in MARKOV_METHODS:
        _refuse_continuous(floats, options["method"])
        return Data(table, columns, table.n_rows, options["loss"] or "pseudolikelihood", "markov", truth)
    network = "discrete" if coded else "gaussian" if len(floats) == len(columns) else "mixed"
    if options["method"] in TESTED:
        test = options["test"] or default_score(options["method"], len(floats), len(columns))
        return Data(table, columns, table.n_rows, test, network, truth)
    score = options["score"] or default_score(options["method"], len(floats), len(columns))
    return Data(table, columns, table.n_rows, score, network, truth)


def _refuse_continuous(floats, method: str) -> None:
    if floats:
        raise ValueError(
            f"column {floats[0]!r} is continuous, but --method {method} is for discrete columns: use --discretize "
            "quantile:5 to bin it, or convert codes to integers"
        )
