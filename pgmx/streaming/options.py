"""Options of learners as plain JSON values, to compare and to save them."""

from typing import Any

import numpy as np


def encode_option(value: Any) -> Any:
    """Return the plain value of an option; TypeError for an object that cannot be saved."""
    if isinstance(value, np.generic):
        value = value.item()
    if hasattr(value, "to_numpy"):  # a series or index of a frame
        value = value.to_numpy()
    if isinstance(value, list | tuple | range):
        return [encode_option(item) for item in value]
    if isinstance(value, np.ndarray) and value.dtype.kind in "biufU":
        return {"array": [encode_option(item) for item in value.ravel().tolist()], "shape": list(value.shape)}
    if isinstance(value, float) and not np.isfinite(value):
        return {"float": repr(value)}
    if value is None or isinstance(value, bool | int | float | str):
        return value
    raise TypeError(f"{type(value).__name__} cannot be saved: give numbers, texts, or lists or arrays of them")


def decode_option(value: Any) -> Any:
    """Return the option of a plain value: lists and tuples become tuples."""
    if isinstance(value, list):
        return tuple(decode_option(item) for item in value)
    if not isinstance(value, dict):
        return value
    if value.keys() == {"float"}:
        return float(value["float"])
    if value.keys() == {"array", "shape"}:
        return np.array([decode_option(item) for item in value["array"]]).reshape(value["shape"])
    raise ValueError(f"{value!r:.60} is not an option")


def compare_options(first: Any, second: Any) -> bool:
    """Return whether two options have the same plain value, or are the same object if they have no plain value."""
    try:
        return encode_option(first) == encode_option(second)
    except TypeError:
        return first is second
