"""Warnings of columns that determine each other linearly: one per fit."""

import warnings
from collections.abc import Hashable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar

import numpy as np

from pgmx.checks import caller_level, join_names
from pgmx.statistics.collinearity import Collinearity, find_copies

_is_silent = ContextVar("_is_silent", default=False)


@contextmanager
def without_warnings() -> Iterator[None]:
    """Suppress the warnings, for resamples of a table that was already warned of."""
    token = _is_silent.set(True)
    try:
        yield
    finally:
        _is_silent.reset(token)


def warn_of_columns(correlation: np.ndarray, names: Sequence[Hashable], collinearity: Collinearity | None) -> None:
    """Warn of the pairs of columns that determine each other, and of a smallest set of three or more."""
    pairs = np.argwhere(np.triu(find_copies(correlation)))
    messages = []
    if len(pairs):
        shown = ", ".join(f"{names[i]!r} and {names[j]!r}" for i, j in pairs[:5].tolist())
        more = f" and {len(pairs) - 5} more pairs" if len(pairs) > 5 else ""
        messages.append(
            f"columns that determine each other linearly: {shown}{more}. Their density is unbounded, so no edge joins "
            "them: drop one of each pair"
        )
    if collinearity is not None:
        messages.append(_describe_set([names[v] for v in collinearity.smallest], collinearity.n_determined))
    _warn(messages)


def warn_of_set(members: Sequence[Hashable], n_determined: int) -> None:
    """Warn of a smallest set of variables that determine each other; `n_determined` columns are combinations."""
    _warn([_describe_set(members, n_determined)])


def _describe_set(members: Sequence[Hashable], n_determined: int) -> str:
    more = f" (in all, {n_determined} columns are combinations of others)" if n_determined > 1 else ""
    return (
        f"columns that determine each other linearly: {join_names(members[:-1], len(members))} and {members[-1]!r}"
        f"{more}. The graph is learned as if each column had independent noise of 1e-6 of its standard deviation. Drop "
        "one of the columns to learn without noise"
    )


def _warn(messages: list[str]) -> None:
    if messages and not _is_silent.get():
        warnings.warn(". Other ".join(messages), stacklevel=caller_level())
