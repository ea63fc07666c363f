"""Checks of names: the variables of a network, and the columns of rows."""

from collections.abc import Hashable, Iterable, Sequence

from pgmx.checks import join_names
from pgmx.data.columns import python_scalar


def check_names(names: Iterable[Hashable]) -> tuple:
    """Return names as Python scalars in a tuple, or raise if they cannot be the distinct nodes of a graph."""
    names = tuple(python_scalar(name) for name in names)
    if not names:
        raise ValueError("a network needs one variable at least, got no names")
    unhashable = [name for name in names if not isinstance(name, Hashable)]
    if unhashable:
        kind = type(unhashable[0]).__name__
        raise TypeError(f"names of variables must be hashable, got {kind}: give a list of names")
    if None in names:
        raise ValueError("None cannot be the name of a variable: networkx has no such node")
    if len(set(names)) < len(names):
        counts: dict[Hashable, int] = {}
        for name in names:
            counts[name] = counts.get(name, 0) + 1
        twice = [name for name, count in counts.items() if count > 1]
        raise ValueError(f"the names {join_names(twice)} occur more than once: rename the variables")
    return names


def check_columns(columns: Sequence[Hashable], names: Sequence[Hashable], allow_missing: bool) -> None:
    """Raise if a column is not a variable of a network, or a variable lacks a column that it needs."""
    variables, present = set(names), set(columns)
    extra = [name for name in columns if name not in variables]
    if extra:
        raise ValueError(
            f"column(s) {join_names(extra)} are not variables of the network: leave them out, or rename them"
        )
    absent = [name for name in names if name not in present]
    if absent and not allow_missing:
        raise ValueError(f"the variables {join_names(absent)} have no column: predict() fills columns that are missing")


def check_complete(incomplete: Sequence[Hashable], allow_missing: bool) -> None:
    """Raise if columns have missing values and must not."""
    if incomplete and not allow_missing:
        raise ValueError(
            f"missing values in column(s) {join_names(incomplete)}: drop the rows, or fill them by predict()"
        )
