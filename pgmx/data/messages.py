"""Words shared by the error messages about data."""


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
