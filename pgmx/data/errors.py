"""Words shared by the error messages about data."""

from copy import copy
from shlex import quote

from pgmx.checks import join_names

COMPLEX_REMEDY = "take .real or .abs() of each, or both parts as columns; as floats they would lose the imaginary part"

#: What makes states of floats, and the scores that take them as they are.
DISCRETIZE = "pgmx.data.discretize (pgmx learn --discretize quantile:5)"
GAUSSIAN_SCORE = "a Gaussian score ('bic-g', or 'bic-clg' beside discrete columns)"


def spell_discrete(names):
    """Return what declares columns discrete, in Python and on the command line."""
    names = list(names)
    shown = names[:10]
    options = " ".join(f"--discrete {quote(str(name))}" for name in shown)
    return f"discrete_columns={shown!r} (command line: {options})"


class IncompleteRowsWarning(UserWarning):
    """Rows with missing cells are left out, or too few are complete in the columns that a score compares."""


class ChoiceError(ValueError):
    """Columns that the data or the option `missing` cannot have; `choices` are the values of the option that help.

    `option` is how the caller writes the option. A subclass says the rest in `__str__`.
    """

    #: The choices there are, and what each is for.
    purposes = {
        "drop": "to leave out the rows that have them",
        "category": "to make them a state",
        "pairwise": "to score families on their complete rows",
        "em": "to take their expected counts",
    }

    def __init__(self, *arguments, choices=(), option="missing={!r}"):
        self.choices = tuple(choices)
        self.option = option
        super().__init__(*arguments)

    def spell(self, choice):
        """Return the option with one of its values as the caller writes it."""
        return self.option.format(choice)

    def among(self, choices, marks=None):
        """Return the error for a caller who has only some of the choices; "em" where cells can be marked.

        By default these are cells of states, which "pairwise" marks too.
        """
        marks = "pairwise" in self.choices if marks is None else marks
        possible = (*self.choices, "em") if marks and "em" in self.purposes else self.choices
        return self._replace(choices=tuple(choice for choice in possible if choice in choices))

    def with_option(self, option):
        """Return the error for a caller who writes the option in another way."""
        return self._replace(option=option)

    def _replace(self, **values):
        error = copy(self)
        vars(error).update(values)
        return error


class FloatColumnsError(ChoiceError):
    """Columns of floats in a table of discrete variables; with `scores`, a score for numbers is suggested.

    `choices` are the values of `missing` that such a score takes, where that is worth a word.
    """

    def __init__(self, names, hints="", scores=True, choices=()):
        self.names = names
        self.hints = hints
        self.scores = scores
        super().__init__(names, hints, scores, choices=choices)

    def __str__(self):
        remedy = ""
        if self.scores:
            remedy = f", or use {GAUSSIAN_SCORE}"
            remedy += f" with {' or '.join(map(self.spell, self.choices))}" if self.choices else ""
        return (
            f"float column(s) {join_names(self.names)} in a table of discrete variables: discretise them with "
            f"{DISCRETIZE}{remedy}.{self.hints}"
        )


class StatesChoiceError(ChoiceError):
    """A value `choice` of the option `missing` that is for columns of states, where columns hold floats."""

    def __init__(self, names, choice, choices=("drop",)):
        self.names = names
        self.choice = choice
        super().__init__(names, choice, choices=choices)

    def __str__(self):
        ways = [f"{self.spell(choice)} {self.purposes[choice]}" for choice in self.choices]
        names = join_names(self.names)
        return (
            f"{self.spell(self.choice)} is for columns of states, and column(s) {names} hold floats. For missing cells "
            f"pass {', or '.join(ways)}; or discretise the floats with {DISCRETIZE}, or declare those that are states "
            "with discrete_columns=[...] (command line: --discrete)"
        )


class MissingCellsError(ChoiceError):
    """Columns with missing cells where none may be.

    `choices` are the values of the option `missing` by which the caller may let them in, `empty` are those of the
    columns in which no cell is known.
    """

    def __init__(self, names, choices=None, option="missing={!r}", empty=()):
        self.names = names
        self.empty = tuple(empty)
        choices = [choice for choice in self.purposes if choice != "em"] if choices is None else choices
        super().__init__(names, choices, option, self.empty, choices=choices, option=option)

    def __str__(self):
        ways = [f"{self.spell(choice)} {self.purposes[choice]}" for choice in self.choices]
        hint = f". No cell is known in column(s) {join_names(self.empty)}: leave them out" if self.empty else ""
        names = join_names(self.names)
        return f"missing cells (NaN) in column(s) {names}: pass {', '.join(ways)}, or fill them first{hint}"


class UnknownColumnsError(ValueError):
    """Columns that an option names and the data do not have; `names` lists them."""

    has_remedy = True

    def __init__(self, message, names=()):
        self.names = tuple(names)
        super().__init__(message)
