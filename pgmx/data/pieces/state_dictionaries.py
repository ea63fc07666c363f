"""States that grow chunk by chunk: one dictionary per column, for tables that are read in chunks."""

import csv
import io
from typing import NamedTuple

import numpy as np
import pandas as pd

from pgmx._ext import _rows
from pgmx.data.columns.declared import refuse_undeclared
from pgmx.data.columns.kinds import column_kind, list_categories, name_numbers, order_states, raise_too_many
from pgmx.data.columns.missing import code_known_cells, missing_name
from pgmx.data.columns.objects import check_distinct
from pgmx.data.errors import FloatColumnsError
from pgmx.data.files.readers import CSV_OPTIONS
from pgmx.data.recode import list_unknown_states, match_states
from pgmx.data.table import MAX_STATES

#: Codes of missing values among the codes of a chunk, for codes of one and of two bytes.
NARROW_MISSING = 255
WIDE_MISSING = 65535


class Final(NamedTuple):
    """States of a column and their codes after all chunks were read."""

    states: tuple
    #: Final code of each number that `GrowingColumn.recode` gave, in the order of the numbers.
    codes: np.ndarray
    #: Final code of missing values, -1 if there are none.
    missing_code: int


class GrowingColumn:
    """The states of one column, numbered in the order in which chunks bring them.

    `has_missing` is whether a value was missing so far. With `texts`, the values are the words of a text file, whose
    type is inferred at the end from all of them. With `is_discrete`, numeric values are states. With `tally`, values
    that look like markers of missing values are counted there.
    """

    def __init__(self, name, texts, is_discrete=False, tally=None):
        self.name = name
        self.has_missing = False
        self.is_discrete = is_discrete
        self.tally = tally
        self._texts = texts
        self._kind = None
        self._numbers: dict = {}  # (type, state): number
        self._seen: set = set()  # numbers of states that occur
        self._has_blank_floats = False

    def recode(self, values, coded, row, counts=True, tallies=True):
        """Return the codes of a chunk in the numbers of the whole column, one of the codes above for missing values.

        `coded` is the result of `code_column` for `values`; `row`, uint8 of shape (n_rows,), holds its codes if it has
        none, and may be overwritten. States count as occurring if `counts`, and are tallied if `tallies`. Raise
        ValueError if values are of another kind than before, or there are more than 65535 states.
        """
        incomplete = coded.obstacle is not None
        self.note(coded.obstacle)
        if coded.obstacle == "float":
            return np.full(len(row), NARROW_MISSING, dtype=np.uint8)
        if incomplete:
            coded = code_known_cells(values, row, self.name, self.is_discrete)
        self._check_kind(values, bool(coded.states))
        codes = row if coded.codes is None else coded.codes
        numbers = [self._number(state) for state in coded.states]
        if self.tally is not None and tallies:
            self.tally.add(coded.states, np.bincount(codes, minlength=len(numbers))[: len(numbers)].tolist())
        if self._kind == "category":
            self._seen.update(np.array(numbers, dtype=int)[np.bincount(codes, minlength=len(numbers) + 1)[:-1] > 0])
        elif counts:
            self._seen.update(numbers)
        if len(self._numbers) > NARROW_MISSING:
            labels = np.array([*numbers, WIDE_MISSING], dtype=np.uint16)
        else:
            labels = np.array([*numbers, NARROW_MISSING], dtype=np.uint8)
            if not incomplete and numbers == list(range(len(numbers))):
                return codes
        out = np.empty(len(codes), dtype=labels.dtype)
        _rows.relabel(codes, labels, out)
        return out

    def note(self, obstacle):
        """Remember why a chunk could not be coded: missing values, or a float column in which all are missing."""
        self.has_missing |= obstacle is not None
        # pandas gives this type to a chunk of any column in which all values are missing
        self._has_blank_floats |= obstacle == "float"

    def declare(self, values):
        """Enter the categories of a chunk without rows."""
        if column_kind(values) == "category":
            self._check_kind(values, True)
            for state in list_categories(values):
                self._number(state)

    def merge(self, other):
        """Enter the states of the same column in later rows; return their numbers here, in the order of the other's."""
        if other._kind is not None:
            self._join_kinds(other._kind)
        self.has_missing |= other.has_missing
        self._has_blank_floats |= other._has_blank_floats
        numbers = np.array([self._number(state) for _, state in other._numbers], dtype=np.intp)
        self._seen.update(numbers[sorted(other._seen)].tolist())
        if self.tally is not None and other.tally is not None:
            self.tally.merge(other.tally)
        return numbers

    def enter_states(self, states, codes):
        """Enter the states of a coded column, in their order, as declared; `codes` are the codes of all its values."""
        self._kind = "category"
        numbers = np.array([self._number(state) for state in states])
        self._seen.update(numbers[np.bincount(codes, minlength=len(states)) > 0].tolist())

    def finish(self, declared, missing):
        """Return the states in their final order, and the final code of each number.

        `declared` are the states that the user declared, None without. Raise FloatColumnsError if the column turns out
        to be floating-point, ValueError if a state is not declared, there are too many, or two states differ only in
        their type.
        """
        values = self._infer_types()
        if self._kind != "category" and any(type(value) is float for value in values):
            values = name_numbers(values)
        if self._has_blank_floats and all(type(value) is int for value in values):
            raise FloatColumnsError([self.name])
        observed = sorted(self._seen)
        if self._kind != "category":
            distinct = list({(type(values[i]), values[i]): values[i] for i in observed}.values())
            check_distinct(distinct, self.name)
            states = tuple(distinct[i] for i in order_states(distinct)) if distinct else ()
        else:
            states = tuple(values)
        if declared is not None:
            undeclared = list_unknown_states(values, declared, np.array(observed, dtype=np.intp))
            if undeclared:
                refuse_undeclared(self.name, dict.fromkeys(undeclared), declared)
            states = declared
        codes = match_states(values, states)
        if not self.has_missing or missing in ("error", "drop"):
            return Final(states, codes, -1)
        states = (*states, missing_name(states))
        if len(states) > MAX_STATES:
            raise_too_many(self.name)
        return Final(states, codes, len(states) - 1)

    def _check_kind(self, values, is_known):
        """Refuse a chunk of another kind than before; a chunk without observed values fits any kind."""
        kind = column_kind(values)
        if self.is_discrete and kind == "float":
            kind = "integer"  # chunks of integers and of floats may follow each other
        if is_known or kind == "category":
            self._join_kinds(kind)

    def _join_kinds(self, kind):
        """Store the kind of further values, or refuse them."""
        known = self._kind
        if known in (None, kind) or (known == "object" and kind != "category"):
            self._kind = known or kind
        elif kind == "object" and known != "category":
            self._kind = kind
        else:
            raise ValueError(
                f"column {self.name!r} holds {known} values in the first chunks and {kind} values in a later one: give "
                "all chunks the same types of columns"
            )

    def _number(self, state):
        """Return the number of a state; a new state is entered."""
        number = self._numbers.setdefault((type(state), state), len(self._numbers))
        if number >= MAX_STATES:
            if self._texts:
                self._infer_types()  # if they are floating-point values, that error is more helpful
            raise_too_many(self.name)
        return number

    def _infer_types(self):
        """Return the states in the order of their numbers; words of a text file in the type that fits all of them."""
        values = [state for _, state in self._numbers]
        if not self._texts or not values:
            return values
        # The parser of whole files decides: the type of a column depends only on its distinct words.
        text = io.StringIO()
        csv.writer(text, quoting=csv.QUOTE_ALL).writerows([["words"], *([word] for word in values)])
        text.seek(0)
        typed = pd.read_csv(text, dtype_backend="numpy_nullable", **CSV_OPTIONS)["words"]
        if typed.dtype.kind == "f" and not self.is_discrete:
            raise FloatColumnsError([self.name])
        return typed.tolist() if typed.dtype.kind in "iubf" else values
