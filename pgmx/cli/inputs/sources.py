"""The data of a command: a table in files, or rows sampled from a bundled network."""

from pathlib import Path
from typing import Any, NamedTuple

from pgmx.cli.inputs.knowledge import learner_knowledge
from pgmx.cli.inputs.paths import Source, find_source
from pgmx.cli.inputs.tables import (
    choose_discrete,
    discretize_input,
    open_input,
    peek_columns,
    read_declared,
    refuse_reading,
)
from pgmx.cli.learners import default_score
from pgmx.cli.methods import MARKOV_METHODS
from pgmx.scores.registry import needs_columns

DEFAULT_ROWS = 10_000


class Data(NamedTuple):
    """The data of a learner.

    `table` is coded, or has columns if some are continuous. `score` is the name of the score or loss. `network` is the
    kind of the fitted network ("discrete", "gaussian", "mixed", "markov" or None). `truth` is the bundled network.
    `discretizer` puts other rows into the same bins.
    """

    table: Any
    columns: tuple
    n_rows: int
    score: str
    network: str | None
    truth: Any
    discretizer: Any = None

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
    discretizer = None
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
        table, discretizer = _open_file(where.path, options)
    data = _describe(table, truth, options)._replace(discretizer=discretizer)
    return data, learner_knowledge(options, data.columns)


def _open_file(path: Path, options: dict) -> tuple[Any, Any]:
    """Open a file as a coded table, or as columns if some are continuous or the score is for continuous variables.

    Also return the discretizer for other rows, None if nothing was discretised.
    """
    from pgmx.data import encode, open_frame
    from pgmx.data.few_values import warn_of_few_values

    if options["discretize"] is not None:
        rows, discretizer = discretize_input(path, options)
        return encode(rows, missing=_coding_of(options), n_jobs=options["n_jobs"]), discretizer
    source = open_input(path, options)
    if needs_columns(options["score"]) and path.suffix.lower() != ".pgmx":
        table = open_frame(source).declare_discrete(choose_discrete(path, options))
    else:
        table = _open_states(source, choose_discrete(path, options), options)
    if hasattr(table, "float_columns") and options["method"] not in MARKOV_METHODS:
        warn_of_few_values(table)
    return table, None


def _coding_of(options: dict) -> str:
    """Return the coding of missing values; for structural EM they are marked."""
    return "pairwise" if options["missing"] == "em" else options["missing"]


def _open_states(source: Any, discrete: list | None, options: dict) -> Any:
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
        return _open_states(open_input(path, options), choose_discrete(path, options), options)
    from pgmx.data import encode

    rows = discretizer.transform(read_declared(path, options))
    return encode(rows, missing=options["missing"], n_jobs=options["n_jobs"])


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
    if coded and not needs_columns(score):
        network = "discrete"
    elif floats:
        network = "gaussian" if len(floats) == len(columns) else "mixed"
    return Data(table, columns, table.n_rows, score, network, truth)


def _refuse_floats(floats, method: str) -> None:
    if floats:
        raise ValueError(
            f"column {floats[0]!r} is continuous, but --method {method} is for discrete columns: use --discretize "
            "quantile:5 to bin it, or convert codes to integers"
        )
