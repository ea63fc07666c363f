"""Small helpers for arrays that are shared and never change, and for tables of log-values."""

from __future__ import annotations

import numpy as np

from pgmx.checks import read_only

__all__ = ["frozen", "log_sum_exp", "offsets"]


def offsets(sizes: np.ndarray) -> np.ndarray:
    """Return where blocks of the given sizes begin when they are laid end to end, and where the last one ends.

    Parameters
    ----------
    sizes : ndarray of int, shape (k,)
        Number of cells of each block.

    Returns
    -------
    ndarray of int64, shape (k + 1,)
        Read-only.
    """
    return read_only(np.concatenate([[0], np.cumsum(sizes, dtype=np.int64)]))


def frozen(array, dtype: type, name: str) -> np.ndarray:
    """Return a C-contiguous read-only array that nobody else can write to.

    Parameters
    ----------
    array : array_like
        Copied, unless it is such an array already.
    dtype : type
        ``np.int64`` or ``np.float64``.
    name : str
        What the array is called in the message.

    Returns
    -------
    ndarray
        Of type `dtype`.

    Raises
    ------
    ValueError
        If integers are asked for and others given.
    """
    given = np.asarray(array)
    if dtype is np.int64 and given.size and given.dtype.kind not in "iu":
        raise ValueError(f"{name} must be integers, got {given.dtype}")
    if isinstance(array, np.ndarray) and array.dtype == dtype and array.flags.c_contiguous and not _writable(array):
        return array
    return read_only(np.array(given, dtype=dtype, order="C"))


def log_sum_exp(rows: np.ndarray) -> np.ndarray:
    """Return the logarithm of the sum of exponentials of each row.

    Parameters
    ----------
    rows : ndarray of float64, shape (..., k)
        Logarithms; minus infinity stands for zero.

    Returns
    -------
    ndarray of float64, shape (...)
        Minus infinity for a row of nothing else.
    """
    top = rows.max(axis=-1)
    top = np.where(top == -np.inf, 0.0, top)
    with np.errstate(divide="ignore"):
        return top + np.log(np.exp(rows - top[..., None]).sum(axis=-1))


def _writable(array: np.ndarray) -> bool:
    """Return whether the array, or any array that it is a view of, can be written to."""
    owner: object = array
    while isinstance(owner, np.ndarray):
        if owner.flags.writeable:
            return True
        owner = owner.base
    return owner is not None  # memory that is not numpy's
