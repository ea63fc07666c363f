"""Jinja2, which fills in the templates (the extra ``report``)."""

from importlib.util import find_spec
from typing import Any


def has_engine() -> bool:
    """Return whether Jinja2 is installed."""
    return find_spec("jinja2") is not None


def check_engine() -> None:
    """Raise ImportError if Jinja2 is missing."""
    if not has_engine():
        raise ImportError("a report needs Jinja2, which is not installed: pip install 'pgmx[report]'")


def make_environment(**options: Any) -> Any:
    """Return an environment that escapes its input."""
    check_engine()
    from jinja2 import Environment

    return Environment(autoescape=True, trim_blocks=True, **options)
