"""One answer for each row of a distributed table, computed by the workers, as a collection of dask."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import accumulate
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pandas as pd

if TYPE_CHECKING:
    from distributed import Client, Future


class RowQuestion(NamedTuple):
    """A function of rows and of the number of the first of them, further arguments, and the answer for no rows."""

    function: Callable
    arguments: tuple
    meta: pd.DataFrame | pd.Series


def map_parts(client: Client, futures: Sequence[Future], rows_of: Sequence[int], question: RowQuestion) -> Any:
    """Return the answers for all rows as a dask.dataframe with the same partitions, computed when they are requested.

    The question is sent to one worker, from which the other workers get it.
    """
    import dask
    import dask.dataframe as dd

    with dask.config.set({"distributed.admin.large-graph-warning-threshold": "1TiB"}):  # a network may be large
        sent = client.submit(RowQuestion, *question, pure=False)
    answer = dask.delayed(answer_part, pure=False)
    begins = list(accumulate(rows_of, initial=0))
    partitions = [answer(part, sent, first) for part, first in zip(futures, begins, strict=False)]
    divisions = (*begins[:-1], begins[-1] - 1) if all(rows_of) else None
    return dd.from_delayed(partitions, meta=question.meta, divisions=divisions, verify_meta=False)


def answer_part(part: Any, question: RowQuestion, first: int) -> pd.DataFrame | pd.Series:
    """Return the answers for the rows of a partition, which are labelled from `first` on."""
    answers = []
    for begin, rows in part.pieces():
        try:
            answers.append(question.function(rows, first + begin, *question.arguments))
        except Exception as error:
            error.add_note(f"The rows of this message count from row {first + begin} of the distributed table.")
            raise
    if not answers:
        return question.meta
    if isinstance(question.meta, pd.Series):
        joined: pd.DataFrame | pd.Series = pd.Series(np.concatenate(answers), name=question.meta.name)
    else:
        joined = pd.concat(answers)
    joined.index = pd.RangeIndex(first, first + len(joined))
    return joined
