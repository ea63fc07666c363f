"""Errors and warnings about data, and the words that they share."""

import warnings
from copy import copy
from shlex import quote

import numpy as np

from pgmx.checks import caller_level, check_known_names, join_names

COMPLEX_REMEDY = "use .real or .abs() of each, or both components as columns; a float would lose the imaginary part"

#: How to make continuous variables discrete, and the scores that accept them unchanged.
DISCRETIZE = "pgmx.data.discretize (pgmx learn --discretize quantile:5)"
_GAUSSIAN_SCORE = "a Gaussian score ('bic-g', or 'bic-clg' if there are discrete columns too)"


def spell_discrete(names):
    """Return the option that declares columns discrete, in Python and on the command line."""
    names = list(names)
    # a message of hundreds of columns could not be read
    shown = names[:10]
    options = " ".join(f"--discrete {quote(str(name))}" for name in shown)
    return f"discrete_columns={shown!r} (command line: {options})"


class IncompleteRowsWarning(UserWarning):
    """Rows with missing values are left out, or too few are complete in the columns that a score compares."""


class ChoiceError(ValueError):
    """Columns that the data or the option `missing` cannot have; `choices` are the values of the option that help.

    `option` is how the caller writes the option. A subclass composes the message in `__str__`.
    """

    #: The possible choices and their purposes.
    purposes = {
        "drop": "to leave out the rows that have them",
        "category": "to make them a state",
        "pairwise": "to use in each family or test the rows in which its variables are observed",
        "em": "to use their expected counts",
    }

    def __init__(self, *arguments, choices=(), option="missing={!r}"):
        self.choices = tuple(choices)
        self.option = option
        super().__init__(*arguments)

    def spell(self, choice):
        """Return the option with one of its values as the caller writes it."""
        return self.option.format(choice)

    def among(self, choices, marks=None):
        """Return the error for a caller who has only some of the choices; "em" if missing values can be marked.

        By default these are values of discrete columns, which "pairwise" marks too.
        """
        marks = "pairwise" in self.choices if marks is None else marks
        possible = (*self.choices, "em") if marks and "em" in self.purposes else self.choices
        return self._replace(choices=tuple(choice for choice in possible if choice in choices))

    def with_option(self, option):
        """Return the error for a caller who writes the option in another way."""
        return self._replace(option=option)

    def for_tests(self, choices):
        """Return the error for tests of independence, which have these choices and a set of rows each."""
        return self._replace(choices=tuple(choices), purposes=ChoiceError.purposes)

    def _replace(self, **values):
        # a copy: the error may be raised as it is elsewhere
        error = copy(self)
        vars(error).update(values)
        return error


class ContinuousColumnsError(ChoiceError):
    """Floating-point columns in a table of discrete variables; with `scores`, a Gaussian score is suggested.

    `choices` are the values of `missing` that such a score accepts, if the message should list them.
    """

    def __init__(self, names, hints="", scores=True, choices=()):
        self.names = names
        self.hints = hints
        self.scores = scores
        super().__init__(names, hints, scores, choices=choices)

    def __str__(self):
        remedy = ""
        if self.scores:
            remedy = f", or use {_GAUSSIAN_SCORE}"
            remedy += f" with {' or '.join(map(self.spell, self.choices))}" if self.choices else ""
        return (
            f"float column(s) {join_names(self.names)} in a table of discrete variables: discretise them with "
            f"{DISCRETIZE}{remedy}.{self.hints}"
        )


class StatesChoiceError(ChoiceError):
    """A value `choice` of the option `missing` that is for discrete columns, if columns are continuous."""

    def __init__(self, names, choice):
        self.names = names
        self.choice = choice
        super().__init__(names, choice, choices=("drop",))

    def __str__(self):
        ways = [f"{self.spell(choice)} {self.purposes[choice]}" for choice in self.choices]
        names = join_names(self.names)
        return (
            f"{self.spell(self.choice)} is for discrete columns, and column(s) {names} are continuous. For missing "
            f"values pass {', or '.join(ways)}; or discretise the columns with {DISCRETIZE}, or declare discrete ones "
            "with discrete_columns=[...] (command line: --discrete)"
        )


class MissingValuesError(ChoiceError):
    """Columns with missing values that are not allowed.

    `choices` are the values of the option `missing` that allow them, `empty` are the columns without observed values.
    """

    def __init__(self, names, choices=None, option="missing={!r}", empty=()):
        self.names = names
        self.empty = tuple(empty)
        choices = [choice for choice in self.purposes if choice != "em"] if choices is None else choices
        super().__init__(names, choices, option, self.empty, choices=choices, option=option)

    def __str__(self):
        ways = [f"{self.spell(choice)} {self.purposes[choice]}" for choice in self.choices]
        hint = f". Column(s) {join_names(self.empty)} have no observed value: leave them out" if self.empty else ""
        names = join_names(self.names)
        return f"missing values (NaN) in column(s) {names}: pass {', '.join(ways)}, or fill them first{hint}"


class UnknownColumnsError(ValueError):
    """Columns that an option names and the data do not have; `names` lists them."""

    # then readers do not add their own remedy
    has_remedy = True

    def __init__(self, message, names=()):
        self.names = tuple(names)
        super().__init__(message)


def refuse_infinite(names):
    """Refuse columns that hold infinite values."""
    if names:
        raise ValueError(f"infinite values (inf) in column(s) {join_names(names)}: replace them or drop their rows")


def refuse_unobserved(names, missing=None):
    """Refuse columns in which all values are missing; with missing="em" say that they are not latent variables."""
    if names:
        latent = ". Latent variables are not learned by EM: each column needs observed values"
        raise ValueError(
            f"columns {join_names(names)} have no observed value: drop them{latent if missing == 'em' else ''}"
        )


def check_rows_left(n_left, n_rows, missing_columns):
    """Warn of rows that are left out; refuse a table with fewer than two complete rows.

    `missing_columns()` returns the columns with missing values.
    """
    if n_left < 2:
        raise ValueError(
            f"{n_left} of {n_rows} rows have no missing value (NaN), at least 2 are needed: leave out columns that are "
            f"mostly missing, or fill them (columns with missing values: {join_names(missing_columns())})"
        )
    warn_of_rows_left(n_left, n_rows)


def warn_of_rows_left(n_left, n_rows):
    """Warn the caller of pgmx of rows that missing="drop" leaves out."""
    if n_left < n_rows:
        warnings.warn(
            f"missing='drop' leaves out {n_rows - n_left:,} of {n_rows:,} rows, which have missing values (NaN): "
            f"{n_left:,} rows ({n_left / n_rows:.0%}) remain",
            IncompleteRowsWarning,
            stacklevel=caller_level(),
        )


def refuse_marked(table, remedy):
    """Refuse a coded table that marks missing values, if they cannot be left out; `remedy` says what to do."""
    marked = [name for name, code in zip(table.columns, table.missing_codes, strict=True) if code >= 0]
    if marked:
        raise ValueError(f"missing values are marked (missing='pairwise') in column(s) {join_names(marked)}: {remedy}")


def refuse_undeclared(name, undeclared, states):
    """Refuse a column that holds the states `undeclared` in addition to the declared `states`."""
    raise ValueError(
        f"column {name!r} holds the state(s) {join_names(undeclared)}, which state_names[{name!r}] does not declare: "
        f"it declares {join_names(states)}"
    )


def refuse_continuous(columns, missing):
    """Refuse floating-point columns, pairs of name and float64 values, with hints that depend on the values."""
    names, whole, incomplete, infinite = [], [], [], []
    for name, cells in columns:
        names.append(name)
        known = cells[~np.isnan(cells)]
        if known.size < cells.size:
            incomplete.append(name)
        if not np.isfinite(known).all():
            infinite.append(name)
        # whole floats are often codes of states, made floats by missing values
        elif known.size and (known == np.floor(known)).all():
            whole.append(name)
    notes = (
        (f"hold whole numbers only: if they are discrete, declare them with {spell_discrete(whole)}", whole),
        ("have missing values (NaN)", incomplete),
        ("have infinite values (inf)", infinite),
    )
    hints = "".join(f" Column(s) {join_names(culprits)} {note}." for note, culprits in notes if culprits)
    choices = ("drop",) if incomplete or missing in ("category", "pairwise") else ()
    raise ContinuousColumnsError(names, hints, choices=choices)


def check_codes(columns, states, codes, missing_codes, max_states):
    """Refuse codes that are no coded table; return the cardinalities, and checked codes of missing values."""
    if codes.ndim != 2 or codes.dtype.kind not in "iu":
        raise ValueError(
            f"codes must be a 2-D integer array (variables x rows), got {codes.ndim}-D {codes.dtype}: "
            "use pgmx.data.encode to code a table"
        )
    if not len(columns) == len(states) == len(codes):
        raise ValueError(
            f"one name, one tuple of states and one row of codes per variable are needed, got {len(columns)}, "
            f"{len(states)} and {len(codes)}"
        )
    if not codes.size:
        raise ValueError(f"codes must not be empty, got shape {codes.shape}")
    check_known_names(columns)
    for name, names in zip(columns, states, strict=True):
        if not 0 < len(names) <= max_states:
            raise ValueError(f"variable {name!r} has {len(names)} states, it must have 1 to {max_states}")
        if len(set(names)) < len(names):
            raise ValueError(f"the states of variable {name!r} are not distinct: {list(names)!r}")
    cardinalities = np.array([len(names) for names in states])
    wrong = np.flatnonzero((codes.min(axis=1) < 0) | (codes.max(axis=1) >= cardinalities))
    if wrong.size:
        v = wrong[0]
        raise ValueError(
            f"variable {columns[v]!r} has {cardinalities[v]} states, so its codes must lie between 0 and "
            f"{cardinalities[v] - 1}, got {codes[v].min()} to {codes[v].max()}"
        )
    if missing_codes is not None:
        missing_codes = _check_missing_codes(missing_codes, columns, cardinalities)
    return cardinalities, missing_codes


def _check_missing_codes(missing_codes, columns, cardinalities):
    """Return the codes of missing values as an array; each must be the last code of its variable, or -1."""
    codes = np.asarray(missing_codes)
    if codes.shape != cardinalities.shape or codes.dtype.kind not in "iu":
        raise ValueError(f"missing_codes must hold one integer per variable, got shape {codes.shape}, {codes.dtype}")
    wrong = np.flatnonzero((codes != -1) & (codes != cardinalities - 1))
    if wrong.size:
        v = wrong[0]
        raise ValueError(
            f"the code of missing values of variable {columns[v]!r} must be its last, {cardinalities[v] - 1}, or -1, "
            f"got {codes[v]}"
        )
    return codes
