"""Arrays that are shared and never change, and tables of log-values."""

from __future__ import annotations

import numpy as np

from pgmx.checks import read_only

__all__ = ["freeze", "log_sum_exp", "offsets", "take_logs"]


def offsets(sizes: np.ndarray) -> np.ndarray:
    """Return where blocks of k sizes laid end to end begin, and where the last one ends: read-only int64 (k + 1,)."""
    return read_only(np.concatenate([[0], np.cumsum(sizes, dtype=np.int64)]))


def freeze(array: object, dtype: type, name: str) -> np.ndarray:
    """Return a C-contiguous read-only array of int64 or float64 without writable views; a copy if necessary.

    Raises a ValueError about `name` if integers are needed and the array holds something else.
    """
    values = np.asarray(array)
    if dtype is np.int64 and values.size and values.dtype.kind not in "iu":
        raise ValueError(f"{name} must be integers, got {values.dtype}")
    if isinstance(array, np.ndarray) and array.dtype == dtype and array.flags.c_contiguous and not _is_writable(array):
        return array
    return read_only(np.array(values, dtype=dtype, order="C"))


def take_logs(table: np.ndarray) -> np.ndarray:
    """Return natural logarithms, minus infinity for 0."""
    with np.errstate(divide="ignore"):
        return np.log(table)


def log_sum_exp(rows: np.ndarray) -> np.ndarray:
    """Return the logarithm of the sum of exponentials along the last axis; minus infinity stands for zero."""
    top = rows.max(axis=-1)
    top = np.where(top == -np.inf, 0.0, top)
    return top + take_logs(np.exp(rows - top[..., None]).sum(axis=-1))


def _is_writable(array: np.ndarray) -> bool:
    """Return whether the array, or any array that it is a view of, can be written to."""
    owner: object = array
    while isinstance(owner, np.ndarray):
        if owner.flags.writeable:
            return True
        owner = owner.base
    return owner is not None  # memory that is not numpy's
