"""Learners in archives of arrays (npz), without pickle; everything in a file is checked before use."""

import os
from collections.abc import Iterator
from math import inf
from pathlib import Path
from typing import Any

import numpy as np

from pgmx.archives import list_members, open_members
from pgmx.atomic import replace_file
from pgmx.checks import check_path, join_names
from pgmx.models.files.archives import read_archived_document, write_archive
from pgmx.models.files.formats import MARKS, check_target, explain_unreadable

#: Members that do not belong to the state; the document is `names`.
_LABELS = {"feature_names": "feature_names_in_", "classes": "classes_"}

_HEADER = 256  # maximum bytes of the header of a small array


def write_learner(learner: Any, path: str | os.PathLike) -> Path:
    """Write a learner with checked options; return the path."""
    path, _ = check_target(path, None, ("npz",))
    options = {}
    for name, value in learner.get_params(deep=False).items():
        try:
            options[name] = _encode_option(value)
        except TypeError as error:
            raise TypeError(f"{type(learner).__name__}: {name}={value!r:.60} of the type {error}") from None
    arrays = dict(learner._pack_state())
    objects = []
    for member, attribute in _LABELS.items():
        labels = getattr(learner, attribute, None)
        if labels is not None:
            if labels.dtype == object:
                objects.append(member)
            arrays[member] = _pack_labels(labels, attribute)
    document = {
        **MARKS,
        "type": type(learner).__name__,
        "options": options,
        "n_features": int(learner.n_features_in_),
        "n_seen": int(learner.n_seen_),
        "objects": objects,
    }
    archive = write_archive(document, arrays)
    with replace_file(path) as part:
        part.write_bytes(archive)
    return path


def _pack_labels(labels: np.ndarray, attribute: str) -> np.ndarray:
    """Return labels as an array that does not need pickle."""
    if labels.dtype != object:
        return labels
    # numpy drops zeros at the end of a text
    wrong = [label for label in labels if not isinstance(label, str) or label.endswith("\0")]
    if wrong:
        raise TypeError(f"{attribute} holds {wrong[0]!r:.60}, which cannot be saved: give numbers or texts")
    return labels.astype(str)


def read_learner(cls: Any, path: str | os.PathLike) -> Any:
    """Return the learner of a file, an instance of `cls` or of a derived class."""
    path = check_path(path)
    raw = path.read_bytes()
    with explain_unreadable(path, "a saved learner of streams"):
        document = read_archived_document(raw)
        learner = _build_learner(cls, document)
        arrays = _read_state(raw, document, learner)
        learner._unpack_state(arrays)
    return learner


def _build_learner(cls: Any, document: dict) -> Any:
    """Return an unfitted learner with the options of a document."""
    name, options = document["type"], document["options"]
    classes = {known.__name__: known for known in _list_classes(cls)}
    if name not in classes:
        raise ValueError(
            f"it holds a {name!r:.60}, not a {cls.__name__}: StreamLearner.load reads every learner of pgmx.streaming"
        )
    known = classes[name]
    allowed = set(known._get_param_names())
    # files of earlier versions may lack options that do not affect the state
    if not isinstance(options, dict) or not allowed - set(known._free_options) <= set(options) <= allowed:
        raise ValueError(f"its options are not the options of {name}")
    learner = known(**{option: _decode_option(value) for option, value in options.items()})
    learner._validate_params()
    n_features, n_seen = document["n_features"], document["n_seen"]
    for what, number in (("n_features", n_features), ("n_seen", n_seen)):
        if type(number) is not int or not (what == "n_features") <= number < 1 << 62:
            raise ValueError(f"its {what} is {number!r:.60}")
    learner.n_features_in_ = n_features
    return learner


def _list_classes(cls: Any) -> Iterator[Any]:
    for derived in cls.__subclasses__():
        yield from _list_classes(derived)
    yield cls


def _read_state(raw: bytes, document: dict, learner: Any) -> dict[str, np.ndarray]:
    """Set the labels and names of the learner and return the arrays of its state, all checked."""
    sizes = list_members(raw)
    # labels come first: the sizes of the state depend on the number of classes
    labels = open_members(raw, dict.fromkeys(sizes, inf), [name for name in _LABELS if name in sizes])
    for member, array in labels.items():
        if array.ndim != 1 or array.dtype.kind not in ("U" if member == "feature_names" else "biufU"):
            raise ValueError(f"its array {member!r} is of the type {array.dtype} and the shape {array.shape}")
        as_objects = member in document["objects"]
        setattr(learner, _LABELS[member], array.astype(object) if as_objects else array)
    if "feature_names" in labels and len(labels["feature_names"]) != learner.n_features_in_:
        raise ValueError(f"it names {len(labels['feature_names'])} columns of {learner.n_features_in_}")
    learner._check_labels()
    state = [name for name in sizes if name not in _LABELS and name != "names"]
    # checked before `_start` allocates: a small file must not ask for all memory
    learner._unpack_first(_open_first(raw, sizes, learner._first_names))
    _check_size(learner, sum(sizes[name] for name in state))
    try:
        learner._start(learner.n_features_in_)
    except MemoryError:
        raise ValueError("its options need more memory than is available") from None
    learner.n_seen_ = document["n_seen"]
    learner._freeze_options()
    # members are read only up to the size that the options allow
    most = learner._list_sizes()
    if set(state) != set(most):
        raise ValueError(f"its arrays are {join_names(state)}, but the state has {join_names(most)}")
    allowed = {"names": inf, **dict.fromkeys(_LABELS, inf), **{name: size + _HEADER for name, size in most.items()}}
    arrays = open_members(raw, allowed, state)
    learner._check_state(arrays)
    return arrays


def _open_first(raw: bytes, sizes: dict[str, int], names: tuple[str, ...]) -> dict[str, np.ndarray]:
    absent = [name for name in names if name not in sizes]
    if absent:
        raise ValueError(f"it lacks the array(s) {join_names(absent)}")
    return open_members(raw, dict.fromkeys(sizes, inf), names)


def _check_size(learner: Any, n_bytes: int) -> None:
    """Raise ValueError if the arrays of a file are too small for the options and columns."""
    least = 8 * learner._count_values(learner.n_features_in_)
    if least > n_bytes:
        raise ValueError(
            f"its arrays declare {n_bytes:,} bytes, but its options and {learner.n_features_in_:,} columns need at "
            f"least {least:,}"
        )


# ---- options as plain JSON values ----


def _encode_option(value: Any) -> Any:
    """Return the plain value of an option; TypeError for an object that cannot be saved."""
    if isinstance(value, np.generic):
        value = value.item()
    if hasattr(value, "to_numpy"):  # a series or index of a frame
        value = value.to_numpy()
    if isinstance(value, list | tuple | range):
        return [_encode_option(item) for item in value]
    if isinstance(value, np.ndarray) and value.dtype.kind in "biufU":
        return {"array": [_encode_option(item) for item in value.ravel().tolist()], "shape": list(value.shape)}
    if isinstance(value, float) and not np.isfinite(value):
        return {"float": repr(value)}
    if value is None or isinstance(value, bool | int | float | str):
        return value
    raise TypeError(f"{type(value).__name__} cannot be saved: give numbers, texts, or lists or arrays of them")


def _decode_option(value: Any) -> Any:
    """Return the option of a plain value: lists and tuples become tuples."""
    if isinstance(value, list):
        return tuple(_decode_option(item) for item in value)
    if not isinstance(value, dict):
        return value
    if value.keys() == {"float"}:
        return float(value["float"])
    if value.keys() == {"array", "shape"}:
        return np.array([_decode_option(item) for item in value["array"]]).reshape(value["shape"])
    raise ValueError(f"{value!r:.60} is not an option")


def compare_options(first: Any, second: Any) -> bool:
    """Return whether two options have the same plain value, or are the same object if they have no plain value."""
    try:
        return _encode_option(first) == _encode_option(second)
    except TypeError:
        return first is second
