"""Arrays that many tasks read, and how they are sent to workers."""

from pathlib import Path
from typing import Any

import numpy as np

from pgmx.atomic import name_temporary

#: Tables and arrays up to this size are sent directly; larger ones as the path of a file.
SENT_AS_ARRAYS = 2**20  # bytes


class SharedArrays:
    """Arrays by name that all tasks of `spread` read; they become read-only attributes, None included.

    A read-only array mapped from a whole .npy file is pickled as the path of that file. Workers on other machines must
    be able to read it: `spread` writes its files to the folder of the environment variable JOBLIB_TEMP_FOLDER, if it
    is set.
    """

    def __init__(self, **arrays: np.ndarray | None) -> None:
        self._arrays = {name: _make_read_only(array) for name, array in arrays.items()}

    def __getattr__(self, name: str) -> Any:
        arrays = self.__dict__.get("_arrays", {})  # pickle reads attributes before they are set
        if name not in arrays:
            raise AttributeError(f"no array {name!r}: the arrays are {', '.join(arrays)}")
        return arrays[name]

    def __getstate__(self) -> dict[str, Any]:
        return {name: npy_path(array) or array for name, array in self._arrays.items()}

    def __setstate__(self, state: dict[str, Any]) -> None:
        mapped = {name: np.load(value, mmap_mode="r") for name, value in state.items() if isinstance(value, Path)}
        self._arrays = {name: mapped.get(name, _make_read_only(value)) for name, value in state.items()}

    def large_names(self) -> list[str]:
        """Return the names of the arrays above `SENT_AS_ARRAYS` bytes that are not mapped from a .npy file."""
        sizes = ((name, array) for name, array in self._arrays.items() if array is not None)
        return [name for name, array in sizes if array.nbytes > SENT_AS_ARRAYS and npy_path(array) is None]

    def write_large(self, folder: Path) -> "SharedArrays":
        """Return the same arrays, the large ones mapped from files that are written to a folder."""
        arrays = dict(self._arrays)
        for name in self.large_names():
            path = folder / f"{name}.npy"
            with name_temporary(path):
                np.save(path, getattr(self, name), allow_pickle=False)
            arrays[name] = np.load(path, mmap_mode="r")
        return SharedArrays(**arrays)


def npy_path(array: Any) -> Path | None:
    """Return the path of the .npy file of which an array is the whole content, mapped read-only; else None."""
    if not isinstance(array, np.memmap) or array.mode != "r" or array.filename is None:
        return None
    path = Path(array.filename)
    try:
        whole = np.load(path, mmap_mode="r", allow_pickle=False)
    except (OSError, ValueError):  # deleted, or not a .npy file
        return None
    # Slices of a mapped array keep its file name and offset: a slice of the same layout is the whole.
    layouts = [(one.shape, one.dtype, one.strides, one.offset) for one in (array, whole)]
    return path.absolute() if layouts[0] == layouts[1] else None


def _make_read_only(array: np.ndarray | None) -> np.ndarray | None:
    """Return a read-only view, aligned for its dtype: arrays from a network may begin at any address."""
    if array is None or (isinstance(array, np.memmap) and array.mode == "r"):
        return array
    array = np.require(array, requirements="A")[...]
    array.flags.writeable = False
    return array
