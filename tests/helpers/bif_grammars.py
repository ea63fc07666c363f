"""The grammars of pgmpy's BIF reader, built once: it builds them for each file again, which takes a second."""

import sys
from collections.abc import Callable


def share_grammars(set_attribute: Callable) -> None:
    """Replace the methods that build grammars, where the reader is imported."""
    module = sys.modules.get("pgmpy.readwrite.BIF")
    for name in ("get_variable_grammar", "get_probability_grammar") if module else ():
        set_attribute(module.BIFReader, name, _call_once(getattr(module.BIFReader, name)))


def _call_once(method: Callable) -> Callable:
    results: list = []

    def first_result(self):
        if not results:
            results.append(method(self))
        return results[0]

    return first_result
