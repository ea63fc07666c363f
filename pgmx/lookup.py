"""Look-up of names: names of packages, imported when they are first used, and names of options.

Unknown names are refused with a suggestion.
"""

import ast
import sys
from collections.abc import Callable, Iterable, Mapping
from difflib import get_close_matches
from functools import cache, wraps
from importlib import import_module
from importlib.machinery import PathFinder
from importlib.util import find_spec
from inspect import Parameter, signature
from typing import Any, TypeVar

Result = TypeVar("Result")

#: Packages of public names; their `__all__` lists them.
PACKAGES = (
    "ci_tests",
    "data",
    "datasets",
    "estimators",
    "inference",
    "metrics",
    "models",
    "plotting",
    "scores",
    "solvers",
    "statistics",
    "streaming",
)


def import_on_demand(package: str, homes: Mapping[str, str]) -> tuple[Callable[[str], object], Callable[[], list[str]]]:
    """Return the `__getattr__` and `__dir__` of a package that imports its names when they are first used.

    `homes` gives the module of each name, ``{"CLIME": "pgmx.estimators.gaussian.clime"}``, and `__all__` lists them. A
    package that imports all its names itself passes no homes; only its unknown names are explained.
    """
    # type checkers read the same imports under TYPE_CHECKING: `import CLIME as CLIME`, since without `as` it is private

    def look_up(name: str) -> object:
        if name not in homes:
            raise refuse_name(package, name)
        value = getattr(import_module(homes[name]), name)
        setattr(sys.modules[package], name, value)
        return value

    def list_names() -> list[str]:
        return sorted({*vars(sys.modules[package]), *homes})

    return look_up, list_names


def refuse_name(package: str, name: str) -> Exception:
    """Return the error for a name that a package lacks; only the `__getattr__` of the package calls this.

    It is an ImportError if ``from package import name`` asks: Python drops the text of an AttributeError there.
    """
    hint = "" if name.startswith("_") else _suggest_name(package, name)
    is_import = sys._getframe(2).f_globals.get("__name__") in ("importlib._bootstrap", "_frozen_importlib")
    if hint and is_import and PathFinder.find_spec(f"{package}.{name}", sys.modules[package].__path__) is None:
        return ImportError(f"cannot import name {name!r} from {package!r}{hint}", name=package)
    # without an object Python adds no suggestion of its own
    return AttributeError(f"module {package!r} has no attribute {name!r}{hint}", name=name, obj=None)


def _suggest_name(package: str, name: str) -> str:
    """Return the same name in another package, a similar one of the package, or a similar one of another."""
    root = package.partition(".")[0]
    others = {f"{root}.{home}": _read_public_names(f"{root}.{home}") for home in PACKAGES}
    own = (*_read_public_names(package), *(PACKAGES if package == root else ()))
    for home, names in others.items():
        if name in names:
            return f", did you mean {home}.{name}?"
    return suggest(name, own) or next(
        (f", did you mean {home}.{close}?" for home, names in others.items() if (close := _find_close(name, names))), ""
    )


@cache
def _read_public_names(package: str) -> tuple[str, ...]:
    """Return the public names of a package from its source: importing all packages to suggest one would load pgmpy.

    They are the literal `__all__`, and the names that are imported under ``if TYPE_CHECKING``.
    """
    spec = find_spec(package)
    source = getattr(spec and spec.loader, "get_source", lambda _: None)(package)
    names: list[str] = []
    for node in ast.parse(source or "").body:
        match node:
            case ast.Assign(targets=[ast.Name(id="__all__")], value=value):
                names += ast.literal_eval(value)
            case ast.If(test=ast.Name(id="TYPE_CHECKING")):
                imports = (alias for one in node.body if isinstance(one, ast.ImportFrom) for alias in one.names)
                names += [alias.asname or alias.name for alias in imports]
    return tuple(names)


def suggest(name: object, known: Iterable) -> str:
    """Return ``", did you mean 'x'?"`` for the known name most similar to an unknown one, or nothing."""
    close = _find_close(str(name), map(str, known))
    return f", did you mean {close!r}?" if close else ""


def _find_close(name: str, known: Iterable[str]) -> str | None:
    """Return the most similar name, ignoring case, None if none is similar."""
    folded = {other.casefold(): other for other in known}
    close = get_close_matches(name.casefold(), folded, n=1)
    return folded[close[0]] if close else None


def explain_options(learner: type) -> None:
    """Make the constructor of a class refuse unknown options with a suggestion, in place of Python's bare message."""
    construct = vars(learner).get("__init__")
    if construct is None:
        return
    options = list(signature(construct).parameters.values())[1:]
    known = [option.name for option in options]
    if any(option.kind is Parameter.VAR_KEYWORD for option in options):
        return

    @wraps(construct)
    def explain_and_construct(self, *args, **kwargs):
        for name in kwargs:
            if name not in known:
                hint = suggest(name, known) or f"; its options are: {', '.join(known)}"
                raise TypeError(f"{type(self).__name__} has no option {name!r}{hint}")
        construct(self, *args, **kwargs)

    learner.__init__ = explain_and_construct  # type: ignore[misc]


def refuse_options(method: Callable[[Any], Result]) -> Callable[[Any], Result]:
    """Make a method without options name the constructor for those that it gets; type checkers see no options."""

    @wraps(method)
    def explain_and_call(self: Any, *args: Any, **options: Any) -> Result:
        if args or options:
            learner = type(self).__name__
            given = ", ".join(f"{name}=..." for name in options) or "..."
            raise TypeError(
                f"{method.__name__}() of {learner} has no options, they belong in the constructor: "
                f"{learner}(data, {given}).{method.__name__}()"
            )
        return method(self)

    return explain_and_call
