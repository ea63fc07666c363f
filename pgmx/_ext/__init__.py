"""Compiled kernels, built from ``cython_ext/``."""

import importlib


def __getattr__(name: str):
    """Import the kernel ``name``, or say how to build it."""
    try:
        return importlib.import_module(f"{__name__}.{name}")
    except ModuleNotFoundError as error:
        if error.name != f"{__name__}.{name}" or not name.startswith("_") or name.startswith("__"):
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}") from error
        raise ImportError(
            f"the compiled kernel {name!r} is missing: build it with `python -m pip install .`, or with "
            "`python -m pip install -e .` to work on the source (a C compiler is needed)"
        ) from error
