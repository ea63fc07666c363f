"""From a source with continuous columns to a distributed numeric table: every partition is read and checked once."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from pgmx.checks import check_same_names, join_names
from pgmx.data.distributed.numeric_parts import order_columns, read_numbers, survey_numbers
from pgmx.data.distributed.numeric_table import DistributedNumericTable
from pgmx.data.distributed.placement import Placement
from pgmx.data.errors import ContinuousColumnsError, check_rows_left
from pgmx.data.numeric import MissingNumbersError, ValueFaults, select_names
from pgmx.data.table import check_rows


def distribute_numbers(
    placement: Placement, missing: str, floats: Sequence, na_values: Any = None
) -> DistributedNumericTable:
    """Have the workers keep the rows of a numeric table; `floats` are the names of floating-point columns."""
    if missing == "category":
        raise ValueError(
            f"missing='category' makes missing values a state, and column(s) {join_names(floats)} are continuous: give "
            "missing='drop', or fill the values first"
        )
    futures = placement.submit_parts(read_numbers, missing == "drop", na_values)
    surveys = placement.ask_parts(survey_numbers, futures)
    names = surveys[0].faults.names
    faults, positions = ValueFaults(names), []
    integers = np.ones(len(names), dtype=bool)
    for survey, source in zip(surveys, placement.sources, strict=True):
        check_same_names(names, survey.faults.names, "the first partition", source.name, "columns")
        place = {name: v for v, name in enumerate(survey.faults.names)}
        positions.append([place[name] for name in names])
        faults.merge(survey.faults, positions[-1])
        integers &= survey.integers[positions[-1]]
    if faults.kinds:
        states = join_names([name for name in names if name in faults.kinds])
        contents = ", ".join(sorted(set(map(str, faults.kinds.values()))))
        hint = f" Column(s) {states} are not numeric ({contents}): a distributed table is numeric or discrete"
        raise ContinuousColumnsError(floats, hint, scores=False)
    try:
        faults.raise_if_any(missing)
    except MissingNumbersError as error:
        raise error.among(("drop",)) from None
    rows_of = [survey.n_rows for survey in surveys]
    rows_seen = sum(survey.rows_seen for survey in surveys)
    check_rows(rows_seen, len(names))
    check_rows_left(sum(rows_of), rows_seen, lambda: select_names(names, faults.incomplete))
    parts = placement.keep_parts(order_columns, futures, positions, rows_of, names)
    return DistributedNumericTable._from_remote_parts(names, select_names(names, integers), parts)
