"""Checks of arguments, and phrases of their messages; every package may import them."""

import errno
import os
import sys
import warnings
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from math import isfinite
from numbers import Complex, Integral, Real
from pathlib import Path
from typing import Any, TypeGuard, cast

import numpy as np
from numpy.typing import ArrayLike

#: How tables with discrete columns handle missing values.
MISSING_OPTIONS = ("error", "drop", "category", "pairwise")


def check_natural(value, name: str, least: int) -> int:
    """Return an option as a plain integer; raise if it is not an integer or is too small."""
    if not isinstance(value, Integral) or isinstance(value, bool | np.bool_):
        raise TypeError(f"{name} must be an integer, got {value!r}")
    if value < least:
        raise ValueError(f"{name} must be at least {least}, got {value}")
    return int(value)


def check_seed(seed, name: str = "seed") -> int | None:
    """Return a seed of random streams; raise, with the name of the option, if numpy does not accept it."""
    if seed is None:
        return None
    if not isinstance(seed, Integral) or isinstance(seed, bool | np.bool_):
        raise TypeError(f"{name} must be an integer, or None for fresh entropy, got {seed!r}")
    if seed < 0:
        raise ValueError(f"{name} must not be negative, got {seed}: give None for fresh entropy")
    return int(seed)


class _DefaultSeed(int):
    """A default seed, which differs from the same number given by a user."""


#: The largest sum of row weights. It is a number of rows, and rows are counted in 64-bit integers.
LARGEST_SUM_OF_WEIGHTS = 2.0**62

#: The default of `random_state`, if pgmpy's spelling `seed` is accepted too.
DEFAULT_SEED: int = _DefaultSeed(0)


def choose_seed(random_state: int | None, seed: int | None) -> int | None:
    """Return the seed under either spelling; raise if both are given."""
    if seed is not DEFAULT_SEED and random_state is not DEFAULT_SEED:
        raise ValueError(
            f"random_state={random_state!r} and seed={seed!r} are two spellings of one option: give one of them"
        )
    if seed is not DEFAULT_SEED:
        return check_seed(seed)
    return check_seed(random_state, "random_state")


def check_same_names(ours: Iterable, theirs: Iterable, our_label: str, their_label: str, what="variables", remedy=""):
    """Raise ValueError unless both hold the same names, listing names that only one of them has."""
    first, second = dict.fromkeys(ours), dict.fromkeys(theirs)
    if first.keys() == second.keys():
        return
    differences = [
        f"only in {label}: {join_names(name for name in names if name not in others)}"
        for label, names, others in ((our_label, first, second), (their_label, second, first))
        if names.keys() - others.keys()
    ]
    text = f"{our_label} and {their_label} have different {what}; {'; '.join(differences)}"
    raise ValueError(f"{text}. {remedy}" if remedy else text)


def check_known_names(names: Iterable) -> None:
    """Raise ValueError if a name is None, NaN or another missing value, since no result could refer to it."""
    wrong = {position: name for position, name in enumerate(names) if _is_missing(name)}
    if wrong:
        positions = ", ".join(map(str, wrong))
        raise ValueError(
            f"missing column name(s) {join_names(wrong.values())} (at {positions}, from 0): give every column a name"
        )


def _is_missing(name) -> bool:
    try:
        return name is None or bool(name != name)
    except TypeError:  # comparisons with pandas' NA are neither True nor False
        return True


def as_reals(values: ArrayLike, what: str) -> np.ndarray:
    """Return numeric values as an array; raise ValueError about `what` if some are complex or not numeric."""
    array = np.asarray(values)
    if array.dtype.kind == "c" or (
        array.dtype == object and any(isinstance(v, Complex) and not isinstance(v, Real) for v in array.flat)
    ):
        raise ValueError(f"{what} must be real numbers, got complex ones: give the real part alone if that is meant")
    if array.dtype.kind in "biuf":
        return array
    try:
        return array.astype(np.float64, casting="unsafe" if array.dtype.kind in "OUS" else "safe")
    except (TypeError, ValueError) as error:
        raise ValueError(f"{what} must be numbers: {error}") from None


def refuse_booleans(owner: str, options: Mapping[str, object], constraints: Mapping[str, Any]) -> None:
    """Raise for an option that is True or False although its constraints do not list "boolean"."""
    for name, allowed in constraints.items():
        value = options.get(name)
        if name == "na_values":
            continue  # any value may be a marker
        # True is an Integral for Python
        if isinstance(value, bool | np.bool_) and "boolean" not in allowed and allowed != "no_validation":
            raise ValueError(f"{name}={value!r} of {owner} must be a number, not a boolean")


def is_number(value: object) -> TypeGuard[float]:
    """Return whether a value is a finite real number and not a boolean."""
    return isinstance(value, Real) and not isinstance(value, bool | np.bool_) and isfinite(value)


def check_weights(weights: ArrayLike, name: str, n_rows: int | None = None) -> np.ndarray:
    """Return a float64 copy of row weights, or raise ValueError.

    Weights are finite, not negative and not all zero, and their sum is at most `LARGEST_SUM_OF_WEIGHTS`.
    """
    array = np.asarray(weights)
    if array.dtype.kind in "SUT" or (array.dtype == object and any(isinstance(v, str | bytes) for v in array.flat)):
        raise ValueError(f"{name} must be numbers, got text: convert them with astype(float)")
    values = as_reals(array, name).astype(np.float64)
    if values.ndim != 1 or (n_rows is not None and len(values) != n_rows):
        expected = "" if n_rows is None else f" {(n_rows,)}"
        raise ValueError(f"{name} must have the shape{expected}, one weight per row, got {values.shape}")
    wrong = np.flatnonzero(~np.isfinite(values) | (values < 0))
    if wrong.size:
        raise ValueError(
            f"{name}[{wrong[0]}] is {values[wrong[0]]}: weights must be finite and not negative; a row of weight 0 is "
            "left out"
        )
    if not (values > 0).any():
        raise ValueError(f"all {name} are zero: no row is left to learn from")
    with np.errstate(over="ignore"):
        total = values.sum()
    if total > LARGEST_SUM_OF_WEIGHTS:
        raise ValueError(
            f"the sum of {name} is {total:g}, more than 2**62. A weight is the number of rows that a row represents: "
            "divide all weights by the same number"
        )
    return values


def check_missing_option(missing, options=MISSING_OPTIONS, where=""):
    """Refuse an unknown value of the option `missing`."""
    if missing not in options:
        raise ValueError(f"missing must be one of {join_names(options)}{where}, got {missing!r}")


def check_rows(n_rows, n_columns, path=None, least=2):
    """Refuse a table of fewer than `least` rows; the message names the file if there is one."""
    if n_rows < least:
        holder = "" if path is None else f"{path} holds no table: "
        raise ValueError(
            f"{holder}{n_rows} sample(s) (shape=({n_rows}, {n_columns})) while a minimum of {least} is required: give "
            f"a table with at least {'two rows' if least == 2 else 'one row'}"
        )


def join_names(names: Iterable, limit: int = 10) -> str:
    """Quote and join names, with the rest of a long list as a count: ``'a', 'b' and 3 more``."""
    names = list(names)
    shown = ", ".join(repr(name) for name in names[:limit])
    return shown if len(names) <= limit else f"{shown} and {len(names) - limit} more"


def check_path(path: str | os.PathLike) -> Path:
    """Return a path, refusing one that no file can have."""
    path = Path(path)
    if "\0" in str(path):
        raise ValueError(f"the path {str(path)!r} holds a NUL character: give another name")
    return path


@contextmanager
def explain_unreadable(path: Path, verdict: str, remedy: str) -> Iterator[None]:
    """Convert any error about a damaged file to a ValueError of the path, a verdict, the reason and a remedy.

    Errors that do not concern the content pass: errors of the system, such as a missing file or too many open files,
    an interrupt, a lack of memory, a warning that is an error, and an error with an attribute `has_remedy`.
    """
    try:
        yield
    except (MemoryError, Warning):
        raise
    except Exception as error:
        if isinstance(error, OSError):
            raise_of_open_files(error, path)
            # EINVAL: an offset in a damaged archive that no file can have
            if error.errno not in (None, errno.EINVAL) or isinstance(error, FileNotFoundError):
                raise
        if getattr(error, "has_remedy", False):
            raise
        reason = str(error).strip() or type(error).__name__
        if isinstance(error, KeyError):
            reason = f"it lacks {error}"
        elif isinstance(error, RecursionError):
            reason = "its elements are nested too deeply"
        elif isinstance(error, UnicodeDecodeError):
            remedy = "its encoding is not UTF-8: convert it first, for example by iconv -f latin1 -t utf-8"
        elif isinstance(error, AttributeError | IndexError | TypeError):
            reason = f"an element has another form than expected ({reason})"
        raise ValueError(f"{path} {verdict}: {reason}; {remedy}") from error


def raise_of_open_files(error: OSError, path: Path) -> None:
    """Raise an error with its remedy if a file could not be opened because too many are open."""
    if error.errno in (errno.EMFILE, errno.ENFILE):
        text = f"{os.strerror(error.errno)}: close some, or raise the limit of open files (ulimit -n)"
        raise OSError(error.errno, text, str(path)) from error


def read_only(array: np.ndarray) -> np.ndarray:
    """Return the array itself, no longer writable."""
    array.setflags(write=False)
    return array


def freeze(array: object, dtype: type, name: str) -> np.ndarray:
    """Return a C-contiguous read-only array of int64 or float64 without writable views; a copy if necessary.

    Raises a ValueError about `name` if integers are needed and the array holds something else.
    """
    values = np.asarray(array)
    if dtype is np.int64 and values.size and values.dtype.kind not in "iu":
        raise ValueError(f"{name} must be integers, got {values.dtype}")
    if isinstance(array, np.ndarray) and array.dtype == dtype and array.flags.c_contiguous and not _is_writable(array):
        return array
    try:
        return read_only(np.array(values, dtype=dtype, order="C"))
    except (TypeError, ValueError) as error:
        raise ValueError(f"{name} must be numbers: {error}") from None


def _is_writable(array: np.ndarray) -> bool:
    """Return whether the array, or any array that it is a view of, can be written to."""
    owner: object = array
    while isinstance(owner, np.ndarray):
        if owner.flags.writeable:
            return True
        owner = owner.base
    return owner is not None  # the memory does not belong to numpy


def caller_level() -> int:
    """Return the number of frames between the caller of this function and the code outside pgmx."""
    level, frame = 1, sys._getframe(1)
    while frame.f_back is not None and frame.f_globals.get("__name__", "").split(".")[0] == "pgmx":
        level, frame = level + 1, frame.f_back
    return level


_is_silent = ContextVar("_is_silent", default=False)


@contextmanager
def without_warnings() -> Iterator[None]:
    """Suppress the warnings that `is_silent` is asked for, in resamples of a table that was already warned of."""
    token = _is_silent.set(True)
    try:
        yield
    finally:
        _is_silent.reset(token)


def is_silent() -> bool:
    """Return whether warnings about a whole table are suppressed."""
    return _is_silent.get()


def count_workers(n_jobs: int | None) -> int:
    """Return the number of workers that `n_jobs` means to joblib; None is 1 unless a context sets another number."""
    from joblib import effective_n_jobs

    return effective_n_jobs(cast(int, n_jobs))


def warn_of_target(learner: object, X: object, y: object) -> None:
    """Warn that `y` is ignored if it is a named Series and `X` a frame without that column: a classifier may be meant.

    scikit-learn's own calls, which pass arrays or a column of `X`, cause no warning.
    """
    columns = getattr(X, "column_names", getattr(X, "columns", None))
    name = getattr(y, "name", None)
    if columns is None or name in (None, "") or not hasattr(y, "to_numpy") or name in list(columns):
        return
    warnings.warn(
        f"{type(learner).__name__} ignores y, the Series {name!r}: it learns from the columns of X alone. Add y to X "
        "as a column; BayesianNetworkClassifier().fit(X, y) is a classifier",
        stacklevel=caller_level(),
    )
