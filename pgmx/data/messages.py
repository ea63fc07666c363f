"""Words shared by the error messages about data."""


class FloatColumnsError(ValueError):
    """Columns of floats in a table of discrete variables.

    Parameters
    ----------
    names : list of hashable
        The columns.
    hints : str, default=""
        What else to say.
    scores : bool, default=True
        Whether the caller can choose a score for numbers instead.
    """

    def __init__(self, names, hints="", scores=True):
        self.names = names
        self.hints = hints
        self.scores = scores
        super().__init__(names, hints, scores)

    def __str__(self):
        choice = ", or use a Gaussian score ('bic-g', or 'bic-cg' beside discrete columns)" if self.scores else ""
        return (
            f"float column(s) {listed(self.names)} in a table of discrete variables: discretise them, for example with "
            f"pandas.qcut{choice}.{self.hints}"
        )


def listed(names, limit=10):
    """Quote and join names, with the tail of a long list as a count.

    Parameters
    ----------
    names : iterable
        What to list.
    limit : int, default=10
        How many to show.

    Returns
    -------
    str
        For example ``'a', 'b' and 3 more``.
    """
    names = list(names)
    shown = ", ".join(repr(name) for name in names[:limit])
    return shown if len(names) <= limit else f"{shown} and {len(names) - limit} more"
