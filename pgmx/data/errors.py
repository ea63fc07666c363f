"""Words shared by the error messages about data."""

from pgmx.checks import join_names

COMPLEX_REMEDY = "take .real or .abs() of each, or both parts as columns; as floats they would lose the imaginary part"


class IncompleteRowsWarning(UserWarning):
    """Rows with missing cells are left out, or too few are complete in the columns that a score compares."""


class FloatColumnsError(ValueError):
    """Columns of floats in a table of discrete variables; with `scores`, a score for numbers is suggested."""

    def __init__(self, names, hints="", scores=True):
        self.names = names
        self.hints = hints
        self.scores = scores
        super().__init__(names, hints, scores)

    def __str__(self):
        choice = ", or use a Gaussian score ('bic-g', or 'bic-clg' beside discrete columns)" if self.scores else ""
        return (
            f"float column(s) {join_names(self.names)} in a table of discrete variables: discretise them with "
            f"pgmx.data.discretize (pgmx learn --discretize quantile:5){choice}.{self.hints}"
        )


class MissingCellsError(ValueError):
    """Columns with missing cells where none may be.

    `choices` are the values of the option `missing` by which the caller may let them in, `option` is how the caller
    writes that option, `empty` are those of the columns in which no cell is known.
    """

    #: The choices there are, and what each is for.
    purposes = {
        "drop": "to leave out the rows that have them",
        "category": "to make them a state",
        "pairwise": "to score families on their complete rows",
        "em": "to take their expected counts",
    }

    def __init__(self, names, choices=None, option="missing={!r}", empty=()):
        self.names = names
        self.empty = tuple(empty)
        self.choices = (
            tuple(choice for choice in self.purposes if choice != "em") if choices is None else tuple(choices)
        )
        self.option = option
        super().__init__(names, self.choices, option, self.empty)

    def __str__(self):
        ways = [f"{self.option.format(choice)} {self.purposes[choice]}" for choice in self.choices]
        hint = f". No cell is known in column(s) {join_names(self.empty)}: leave them out" if self.empty else ""
        names = join_names(self.names)
        return f"missing cells (NaN) in column(s) {names}: pass {', '.join(ways)}, or fill them first{hint}"

    def among(self, choices, marks=None):
        """Return the error for a caller who has only some of the choices; "em" where cells can be marked.

        By default these are cells of states, which "pairwise" marks too.
        """
        marks = "pairwise" in self.choices if marks is None else marks
        possible = (*self.choices, "em") if marks and "em" in self.purposes else self.choices
        return type(self)(self.names, [choice for choice in possible if choice in choices], self.option, self.empty)

    def with_option(self, option):
        """Return the error for a caller who writes the option in another way."""
        return type(self)(self.names, self.choices, option, self.empty)


class UnknownColumnsError(ValueError):
    """States declared for columns that the data do not have; `names` lists these columns."""

    def __init__(self, message, names=()):
        self.names = tuple(names)
        super().__init__(message)
