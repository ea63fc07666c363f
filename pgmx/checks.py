"""Checks of what a caller gives, and the words of the messages about it; every package may ask here."""

import sys
from numbers import Integral

import numpy as np


def check_natural(value, name: str, least: int) -> int:
    """Return an option as a plain integer, refusing what is none or too small."""
    if not isinstance(value, Integral) or isinstance(value, bool | np.bool_):
        raise TypeError(f"{name} must be an integer, got {value!r}")
    if value < least:
        raise ValueError(f"{name} must be at least {least}, got {value}")
    return int(value)


def check_seed(seed) -> int | None:
    """Return a seed of random streams, refusing what numpy would refuse without its name."""
    if seed is None:
        return None
    if not isinstance(seed, Integral) or isinstance(seed, bool | np.bool_):
        raise TypeError(f"seed must be an integer, or None for fresh entropy, got {seed!r}")
    if seed < 0:
        raise ValueError(f"seed must not be negative, got {seed}: give None for fresh entropy")
    return int(seed)


def join_names(names, limit=10):
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


def read_only(array: np.ndarray) -> np.ndarray:
    """Return the array itself, no longer writable.

    Parameters
    ----------
    array : ndarray
        An array that nobody else holds.

    Returns
    -------
    ndarray
        The same object.
    """
    array.setflags(write=False)
    return array


def caller_level():
    """Number of frames between the caller of this function and the code outside pgmx."""
    level, frame = 1, sys._getframe(1)
    while frame.f_back is not None and frame.f_globals.get("__name__", "").split(".")[0] == "pgmx":
        level, frame = level + 1, frame.f_back
    return level
