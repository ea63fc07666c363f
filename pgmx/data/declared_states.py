"""States and discrete columns that the user declares: their checks, and the coding of columns by declared states."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

import numpy as np

from pgmx.checks import join_names
from pgmx.data.columns import MAX_BYTE_STATES, MAX_STATES, MISSING, CodedColumn, is_missing, python_scalar
from pgmx.data.errors import UnknownColumnsError, refuse_undeclared
from pgmx.data.files.missing_words import read_number


def match_states(states: Sequence, target: Sequence, absent: int = 0) -> np.ndarray:
    """Return the position in `target` of each state as intp, `absent` for those that `target` does not have."""
    position = {state: code for code, state in enumerate(target)}
    return np.array([position.get(state, absent) for state in states], dtype=np.intp)


def match_texts(states: Sequence, target: Sequence, absent: int = 0) -> np.ndarray:
    """Return the position in `target` of each state as `match_states` does, or of the one with the same text.

    Files keep states as text: the word "1" is the state 1 and the integer 1 is the state "1", as is the number 1.0;
    the word true is the state True, whatever its case. If all states are numeric, words match them by value: "1.0" is
    the state "1". Codes such as "01" are text.
    """
    known, texts = set(target), [write_state(state) for state in target]
    exact = {text: code for code, text in reversed(list(enumerate(texts)))}
    are_numbers = all(read_number(state) is not None for state in target if isinstance(state, str) and state != MISSING)
    places = [(_read_number(state), code) for code, state in enumerate(target) if are_numbers or type(state) is not str]
    numbers: dict[float | None, int] = {value: code for value, code in places if value is not None}
    if len(numbers) < sum(value is not None for value, _ in places):  # "1" and "1.0" are two states
        numbers = {}
    found = match_states(states, target, absent)
    for k, state in enumerate(states):
        if state in known:
            continue
        text = write_state(state)
        if text in exact:
            found[k] = exact[text]
        elif isinstance(state, bool) or text.lower() in ("true", "false"):
            alike = [code for code, known_text in enumerate(texts) if known_text.lower() == text.lower()]
            found[k] = alike[0] if len(alike) == 1 else absent
        elif numbers and isinstance(state, str):
            found[k] = numbers.get(_read_number(state), absent)
    return found


def write_state(state) -> str:
    """Return a state as text, a whole number without a decimal point."""
    return str(int(state)) if isinstance(state, float) and state.is_integer() else str(state)


def _read_number(state) -> float | None:
    """Return the number that a state is, also as text; None for other states."""
    if isinstance(state, str):
        return read_number(state)
    return float(state) if type(state) in (int, float) else None


def list_unknown_states(states: Sequence, target: Sequence, codes: np.ndarray) -> list:
    """Return the states that occur in `codes` and are not in `target`; codes from len(states) on are ignored."""
    known = set(target)
    unknown = [code for code, state in enumerate(states) if state not in known]
    counts = np.bincount(codes, minlength=len(states)) if unknown else ()
    return [states[code] for code in unknown if counts[code]]


def check_state_names(state_names, columns):
    """Return the declared states by column, each a tuple; raise if `state_names` does not fit `columns`."""
    if not isinstance(state_names, Mapping):
        raise TypeError(f"state_names must be a dict of lists of states, got {type(state_names).__name__}")
    known = set(columns)
    unknown = [name for name in state_names if name not in known]
    if unknown:
        raise UnknownColumnsError(
            f"state_names has unknown column(s) {join_names(unknown)}: the columns are {join_names(columns)}", unknown
        )
    return {name: _check_states(states, name) for name, states in state_names.items()}


def _check_states(states, name):
    """Check the states declared for one column."""
    if isinstance(states, (str, bytes)) or not isinstance(states, Iterable):
        raise TypeError(f"state_names[{name!r}] must be a list of states, got {states!r}")
    states = tuple(python_scalar(state) for state in states)
    if not 0 < len(states) <= MAX_STATES:
        raise ValueError(f"state_names[{name!r}] must hold 1 to {MAX_STATES} states, got {len(states)}")
    if any(map(is_missing, states)):
        raise ValueError(f"state_names[{name!r}] holds a missing value (None or NaN), which cannot be a state")
    try:
        twice = [state for state, count in Counter(states).items() if count > 1]
    except TypeError:
        raise TypeError(f"state_names[{name!r}] holds an unhashable state: use strings, booleans or integers") from None
    if twice:
        raise ValueError(f"state_names[{name!r}] repeats the state(s) {join_names(twice)}: name each state once")
    return states


def list_discrete_columns(discrete_columns):
    """Return the names of the columns that the user declared discrete, none for None; raise if they are not a list."""
    if discrete_columns is None:
        return []
    if isinstance(discrete_columns, (str, bytes, Iterator)) or not isinstance(discrete_columns, Iterable):
        raise TypeError(f"discrete_columns must be a list of column names, got {discrete_columns!r}")
    return list(discrete_columns)


def check_discrete_columns(discrete_columns, columns):
    """Return the columns that the user declared discrete as a frozenset; raise if they are not among `columns`."""
    names = list_discrete_columns(discrete_columns)
    known = set(columns)
    unknown = [name for name in names if name not in known]
    if unknown:
        raise UnknownColumnsError(
            f"discrete_columns has unknown column(s) {join_names(unknown)}: the columns are {join_names(columns)}",
            unknown,
        )
    return frozenset(names)


def recode_column(coded, row, states, name):
    """Code a column by the declared states; raise if it holds a state that is not declared.

    The code after the last state of `coded` means a missing value, also in the result. `row`, uint8 of shape
    (n_rows,), holds the codes if `coded` has none of its own, and receives the new codes if they fit.
    """
    codes = row if coded.codes is None else coded.codes
    undeclared = list_unknown_states(coded.states, states, codes)
    if undeclared:
        refuse_undeclared(name, undeclared, states)
    # the last entry maps the code of missing values to the code after the declared states
    rank = np.append(match_states(coded.states, states), len(states)).astype(np.uint16)
    if len(states) > MAX_BYTE_STATES:
        return CodedColumn(states, rank[codes])
    row[:] = rank.astype(np.uint8)[codes]
    return CodedColumn(states)
