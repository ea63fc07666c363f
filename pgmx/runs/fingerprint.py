"""A text that stands for the data and the options of a run: a checkpoint of another run is refused by it."""

import os
from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from hashlib import blake2b
from inspect import signature
from numbers import Integral, Real
from typing import Any

import numpy as np

#: Options of how a learner runs, with the same meaning in all learners; they may change when a run is resumed.
RUN_OPTIONS = ("max_time", "checkpoint", "checkpoint_every", "show_progress", "callback", "n_jobs")

#: Further options that may change when a run is resumed, and why.
FREE_OPTIONS = {
    "max_iter": "a limit: a search that it ended goes on under a higher one",
    "return_type": "the form of the graph, which is made after the search",
    "true_graph": "the recall in the history, which decides nothing",
    "held_out": "the held-out loss in the history, which decides nothing",
    "start": "the first parameters, in whose place a snapshot holds the present ones",
}


def fingerprint(learner: Any, *data: Any, **resolved: Any) -> str:
    """Return a digest of a learner's class, its data, and every option outside `RUN_OPTIONS` and `FREE_OPTIONS`.

    An option enters as `describe` puts it, or in the form that `resolved` gives it (edges as ids, a drawn seed), which
    may be the same for options that are spelled differently.
    """
    options = {**learner.get_params(deep=False), **resolved}
    decisive = {name: value for name, value in options.items() if name not in {*RUN_OPTIONS, *FREE_OPTIONS}}
    text = f"{type(learner).__name__} {describe(decisive)} {describe(data)}"
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()


def describe(value: Any) -> str:
    """Return a text of a value that is equal for equal values in every process, whatever addresses and hash seeds are.

    Objects are described by their class and the attributes named like the parameters of its constructor, but `data`.
    """
    match value:
        case None | bool() | str() | bytes():
            return repr(value)
        case np.ndarray() if value.dtype != object:
            digest = blake2b(np.ascontiguousarray(value).data, digest_size=16).hexdigest() if value.size else ""
            return f"{value.dtype.str}{value.shape}{digest}"
        case np.ndarray() | np.generic():
            return describe(value.tolist())
        case Integral():
            return str(int(value))
        case Real():
            number = float(value)
            return str(int(number)) if number.is_integer() else repr(number)
        case os.PathLike():
            return repr(os.fspath(value))
        case Mapping():
            return "{" + ", ".join(sorted(f"{describe(key)}: {describe(value[key])}" for key in value)) + "}"
        case AbstractSet():
            return "{" + ", ".join(sorted(map(describe, value))) + "}"
        case tuple() | list():
            return "[" + ", ".join(map(describe, value)) + "]"
        case np.random.Generator():
            return describe(value.bit_generator.state)
        case np.random.RandomState():
            return describe(value.get_state())
    return _describe_object(value)


def _describe_object(value: Any) -> str:
    kind = f"{type(value).__module__}.{type(value).__qualname__}"
    if hasattr(value, "nodes") and hasattr(value, "edges"):  # a graph; a Bayesian network has tables too
        tables = [(list(cpd.variables), cpd.get_values()) for cpd in getattr(value, "cpds", ())]
        edges = [[*edge] if value.is_directed() else {*edge} for edge in value.edges()]
        return f"{kind}{describe([sorted(map(describe, part)) for part in (value.nodes(), edges, tables)])}"
    if hasattr(value, "to_numpy"):  # a frame or a series
        labels = [list(getattr(value, axis, ())) for axis in ("columns", "index")]
        return f"{kind}{describe([*labels, value.to_numpy()])}"
    if callable(value) and hasattr(value, "__qualname__"):
        return f"{value.__module__}.{value.__qualname__}"
    try:
        names = set(signature(type(value).__init__).parameters) - {"self", "data"}
    except (TypeError, ValueError):  # a class without a signature
        names = set()
    attributes = {name: getattr(value, name) for name in names if hasattr(value, name)}
    if not attributes and type(value).__repr__ is not object.__repr__:  # a date, a fraction
        return f"{kind}{value!r}"
    return f"{kind}{describe(attributes)}"
