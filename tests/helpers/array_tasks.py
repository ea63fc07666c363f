"""Tasks over arrays for workers of other processes, in a module that they can import."""

import os

import numpy as np


def describe(data, number):
    """Return where a task ran, which arrays were mapped from which file, whether any can be written, and their sum."""
    arrays = (data.large_one, data.small_one)
    files = tuple(str(a.filename) if isinstance(a, np.memmap) else None for a in arrays)
    writeable = any(a.flags.writeable for a in arrays)
    aligned = all(a.flags.aligned for a in arrays)
    return os.getpid(), files, writeable, aligned, float(data.large_one.sum() + number * data.small_one.sum())


def fail(data, number):
    """Raise in a worker."""
    raise ValueError(f"task {number} of {data.small_one.shape}")
