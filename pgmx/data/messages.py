"""Words shared by the error messages about data."""


class FloatColumnsError(ValueError):
    """Columns of floats in a table of discrete variables.

    Parameters
    ----------
    names : list of hashable
        The columns.
    hints : str, default=""
        What else to say.
    """

    def __init__(self, names, hints=""):
        self.names = names
        self.hints = hints
        super().__init__(names, hints)

    def __str__(self):
        return (
            f"float column(s) {listed(self.names)} in a table of discrete variables: discretise them, for example with "
            f"pandas.qcut, or use a Gaussian score ('bic-g', or 'bic-cg' beside discrete columns).{self.hints}"
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
