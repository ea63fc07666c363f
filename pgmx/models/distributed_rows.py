"""Row-wise results of networks on distributed tables: each worker receives the network once.

`without_graph` returns the object that is sent to the workers; it can be unpickled without pgmpy. `read_rows` reads
rows. A call of the network's method with no rows checks columns and options and shows the type of the results.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import wraps
from inspect import signature
from typing import Any, Protocol, TypeVar, cast

import numpy as np
import pandas as pd

from pgmx.data import DiscreteTable, Frame, NumericTable
from pgmx.data.distributed.tables import is_remote
from pgmx.inference.exact.elimination_order import TreewidthError
from pgmx.inference.reduced_network import show_evidence
from pgmx.statistics import marginal_counts


class ImpossibleRowsError(ValueError):
    """Rows of a table are impossible: their number, the first one and its observed values, under what, and a remedy."""

    def __init__(
        self,
        n_rows: int,
        first: int,
        values: Mapping[Hashable, Hashable],
        cause: str = "the network",
        remedy: str = "leave out some of these values",
    ) -> None:
        super().__init__(n_rows, first, values, cause, remedy)

    def __str__(self) -> str:
        n_rows, first, values, cause, remedy = self.args
        return (
            f"{n_rows} row(s), the first at position {first}, are impossible under {cause}. The first has "
            f"{show_evidence(values)}: {remedy}"
        )

    def number_from(self, first_row: int) -> ImpossibleRowsError:
        """Return the error with its row counted in a table in which `first_row` rows come before."""
        n_rows, first, *rest = self.args
        return ImpossibleRowsError(n_rows, first_row + first, *rest)


@contextmanager
def number_rows_from(first_row: int) -> Iterator[None]:
    """Count the row that an error about a chunk names from the first row of the table."""
    try:
        yield
    except (ImpossibleRowsError, TreewidthError) as error:
        raise error.number_from(first_row) from None


Method = TypeVar("Method", bound=Callable[..., Any])

#: The most unknown values of a discrete column that an error lists.
MOST_UNKNOWN = 1000


class RowNetwork(Protocol):
    """A network with row-wise methods."""

    def _require_parameters(self) -> None:
        """Raise if the network has no parameters."""
        ...

    def without_graph(self, question: str) -> Any:
        """Return an object that has only arrays and the method `question` of the network."""
        ...

    def read_rows(self, rows: Any) -> object:
        """Read rows, in which columns may be absent; raise ValueError for unknown columns and states."""
        ...

    def list_states(self) -> Mapping[Hashable, Sequence]:
        """Return the states of the discrete variables, by name."""
        ...


def let_workers_answer(method: Method) -> Method:
    """Decorate a row-wise method of a network: for a distributed table its workers compute the answers.

    The method gets rows on this machine, and the same method of ``without_graph`` the rows of each worker. The result
    is a dask.dataframe with an answer for each row. An option `first_row` becomes the position of the first row of each
    chunk that a worker reads.
    """
    parameters = signature(method)

    @wraps(method)
    def answer(self: RowNetwork, X: Any, *arguments: Any, **options: Any) -> Any:
        if is_remote(X):  # the answers stay with the workers too, as a dask.dataframe
            bound = parameters.bind(self, X, *arguments, **options).arguments
            return _ask_partitions(self, method.__name__, X, **dict(list(bound.items())[2:]))
        return method(self, X, *arguments, **options)

    return cast(Method, answer)


def _ask_partitions(network: RowNetwork, question: str, X: Any, **options: Any) -> Any:
    network._require_parameters()
    _check_states(network, X)
    meta = getattr(network, question)(X.without_rows(), **options)
    if isinstance(meta, np.ndarray):
        meta = pd.Series(meta, name=question)
    return X.map_rows(_answer, network.without_graph(question), question, options, meta=meta)


def average_answers(
    network: RowNetwork,
    question: str,
    X: Any,
    read: Callable[[Any], Any] | None = None,
    local_question: str | None = None,
) -> float:
    """Return the mean over all rows of the values that a method of a network returns per row.

    `read` prepares rows on this machine in which values may be missing, and `local_question` is the method for them;
    no value of a distributed table is missing.
    """
    if is_remote(X):  # sums of partitions: one number per worker in place of one per row
        return sum_partitions(network, question, X) / X.n_rows
    return float(np.mean(getattr(network, local_question or question)(X if read is None else read(X))))


def sum_partitions(network: RowNetwork, question: str, X: Any) -> float:
    """Return the sum over all rows of a distributed table of the values that a method of a network returns per row."""
    _check_states(network, X)
    getattr(network, question)(X.without_rows())
    return float(X.reduce(_sum_answers, network.without_graph(question), question, add=sum))


def _answer(rows: Any, first_row: int, network: Any, question: str, options: Mapping) -> Any:
    if "first_row" in options:
        options = {**options, "first_row": first_row}
    with number_rows_from(first_row):
        return getattr(network, question)(rows, **options)


def _sum_answers(partition: Any, network: Any, question: str) -> float:
    return float(sum(np.sum(getattr(network, question)(rows)) for _, rows in partition.chunks()))


# ---- checks of columns and states, before any row is sent to a method ----


def _check_states(network: RowNetwork, X: Any) -> None:
    """Raise for columns, and for observed states, that the network does not have."""
    empty = X.without_rows()
    if isinstance(X, NumericTable):
        network.read_rows(empty)
        _check_values(network, X)
        return
    if not network.list_states():
        raise TypeError(
            f"{X!r} holds discrete columns, but all variables of the network are continuous: distribute a numeric table"
        )
    try:
        network.read_rows(_make_rows(X, [np.arange(len(states)) for states in X.states]))
    except ValueError:  # declared states need not occur
        counts = np.split(marginal_counts(X), np.cumsum(X.cardinalities)[:-1])
        network.read_rows(_make_rows(X, [np.flatnonzero(count) for count in counts]))


def _make_rows(X: DiscreteTable, codes: Sequence[np.ndarray]) -> DiscreteTable:
    """Return rows in which each column has the given states."""
    n_rows = max(map(len, codes))
    # columns with fewer states repeat them
    rows = np.stack([np.resize(of_column, n_rows) for of_column in codes])
    return DiscreteTable._from_parts(X.columns, X.states, rows.astype(np.uint16 if rows.max() > 255 else np.uint8))


def _check_values(network: RowNetwork, X: NumericTable) -> None:
    """Raise for values of discrete columns that are not among the states."""
    states = network.list_states()
    places = {v: frozenset(states[name]) for v, name in enumerate(X.names) if name in states}
    if not places:
        return
    unknown = {v: values for v, values in X.reduce(_list_unknown, places, add=_join_unknown).items() if values}
    if unknown:
        n_rows = max(map(len, unknown.values()))
        columns = [np.resize(np.array(values), n_rows) for values in unknown.values()]
        network.read_rows(Frame(tuple(X.names[v] for v in unknown), columns, n_rows))


def _list_unknown(partition: Any, places: Mapping[int, frozenset]) -> dict[int, list]:
    """Return the smallest values, by column, that are not among the states of the column."""
    unknown: dict[int, set] = {v: set() for v in places}
    for block in partition.blocks:
        for v, known in places.items():
            unknown[v].update(value for value in np.unique(block[:, v]).tolist() if value not in known)
    return _join_unknown([{v: list(values) for v, values in unknown.items()}])


def _join_unknown(answers: Sequence[Mapping[int, list]]) -> dict[int, list]:
    return {v: sorted({value for answer in answers for value in answer[v]})[:MOST_UNKNOWN] for v in answers[0]}
