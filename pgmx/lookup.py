"""Names of a package that are imported when they are first asked for, so that importing it stays light."""

import sys
from collections.abc import Callable, Mapping
from importlib import import_module


def import_on_demand(package: str, homes: Mapping[str, str]) -> tuple[Callable[[str], object], Callable[[], list[str]]]:
    """Return the `__getattr__` and `__dir__` of a package whose names are in the modules of `homes`, by name.

    A module is named from the package on: ``{"CLIME": "gaussian.clime"}``. Type checkers read the same imports under
    ``if TYPE_CHECKING``.
    """

    def look_up(name: str) -> object:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        value = getattr(import_module(f"{package}.{homes[name]}"), name)
        setattr(sys.modules[package], name, value)
        return value

    def list_names() -> list[str]:
        return sorted({*vars(sys.modules[package]), *homes})

    return look_up, list_names
