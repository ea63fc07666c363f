"""The data of a command: a table in files, or rows sampled from a bundled network."""

from pathlib import Path
from typing import Any, NamedTuple

from pgmx.cli.inputs.knowledge import learner_knowledge
from pgmx.cli.inputs.paths import Source, find_source
from pgmx.cli.learners import default_score
from pgmx.cli.methods import MARKOV_METHODS

DEFAULT_ROWS = 10_000


class Data(NamedTuple):
    """What is learned from.

    `table` is coded, or columns where some are floats; `score` is the name of the score or loss in force; `network` is
    the kind of fitted network there will be ("discrete", "gaussian", "mixed", "markov", or none); `truth` is the
    bundled network.
    """

    table: Any
    columns: tuple
    n_rows: int
    score: str
    network: str | None
    truth: Any

    @property
    def discrete(self) -> bool:
        """Whether a discrete Bayesian network comes of it."""
        return self.network == "discrete"


def open_source(text: str, rows: int | None) -> Source:
    """Find the source, and refuse rows to sample where there is a file."""
    where = find_source(text)
    if where.path is not None and rows is not None:
        raise ValueError("--rows is for bundled networks, which are sampled; a file is used whole")
    return where


def load(where: Source, options: dict) -> tuple[Data, dict]:
    """Return the data and what the learner is given about their columns; names in the options are checked first."""
    if where.path is None:
        from pgmx.data import encode
        from pgmx.datasets import load_network, sample

        truth = load_network(where.name)
        learner_knowledge(options, list(truth.nodes()))
        table = encode(sample(truth, options["rows"] or DEFAULT_ROWS, random_state=options["random_state"]))
    else:
        truth = None
        columns = peek_columns(where.path)
        if columns is not None:
            learner_knowledge(options, columns)
        table = _open_file(where.path, options)
    data = _describe(table, truth, options)
    return data, learner_knowledge(options, data.columns)


def peek_columns(path: Path) -> list | None:
    """Return the names of the columns without reading the rows; None where reading them will say what is wrong."""
    from pyarrow import parquet

    from pgmx.data import open_table
    from pgmx.data.files.readers import csv_header, explain_unreadable, is_csv, table_files

    try:
        if path.suffix.lower() == ".pgmx":
            return list(open_table(path).columns)
        first = table_files(path)[0]
        with explain_unreadable(first):
            return list(csv_header(first)) if is_csv(first) else list(parquet.read_schema(first).names)
    except (OSError, ValueError):
        return None


def _open_file(path: Path, options: dict):
    """Open a file as a coded table, or as columns where some are floats or the score is for numbers."""
    from pgmx.data import open_any, open_frame

    if _is_for_numbers(options["score"]) and path.suffix.lower() != ".pgmx":
        return open_frame(path)
    return open_any(path, missing=options["missing"], n_jobs=options["n_jobs"])


def _is_for_numbers(score: str | None) -> bool:
    return score is not None and score.endswith(("-g", "-cg"))


def _describe(table, truth, options: dict) -> Data:
    from pgmx.data import DiscreteTable

    coded = isinstance(table, DiscreteTable)
    columns = tuple(table.columns if coded else table.names)
    floats = () if coded else table.float_columns
    if options["method"] in MARKOV_METHODS:
        _refuse_floats(floats, options["method"])
        return Data(table, columns, table.n_rows, options["loss"] or "pseudolikelihood", "markov", truth)
    score = options["score"] or default_score(options["method"], len(floats), len(columns))
    network = None
    if coded and not _is_for_numbers(score):
        network = "discrete"
    elif floats:
        network = "gaussian" if len(floats) == len(columns) else "mixed"
    return Data(table, columns, table.n_rows, score, network, truth)


def _refuse_floats(floats, method: str) -> None:
    if floats:
        raise ValueError(
            f"column {floats[0]!r} holds floats, but --method {method} is for discrete columns: make bins of it, or "
            "integers where it holds codes"
        )
