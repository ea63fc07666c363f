"""Logarithms of tables, and of sums over them."""

from __future__ import annotations

import numpy as np


def take_logs(table: np.ndarray) -> np.ndarray:
    """Return natural logarithms, minus infinity for 0."""
    with np.errstate(divide="ignore"):
        return np.log(table)


def log_sum_exp(rows: np.ndarray) -> np.ndarray:
    """Return the logarithm of the sum of exponentials along the last axis; minus infinity means zero."""
    top = rows.max(axis=-1)
    top = np.where(top == -np.inf, 0.0, top)
    return top + take_logs(np.exp(rows - top[..., None]).sum(axis=-1))
