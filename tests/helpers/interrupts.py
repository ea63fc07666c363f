"""Ctrl-C at a moment that a test chooses."""

import sys
from contextlib import contextmanager


class Calls:
    """How many functions of the named packages were called, and at which call Ctrl-C comes."""

    def __init__(self, at, packages):
        self.n, self.at, self.packages = 0, at, packages

    def __call__(self, frame, event, _):
        if event == "call" and frame.f_globals.get("__name__", "").startswith(self.packages):
            self.n += 1
            if self.n == self.at:
                raise KeyboardInterrupt


@contextmanager
def interrupt_at_call(at=None, packages=("pgmx.search", "pgmx.solvers", "pgmx.scores.gains")):
    """Raise KeyboardInterrupt at the start of so many functions; without a number only count them."""
    calls = Calls(at, packages)
    sys.setprofile(calls)
    try:
        yield calls
    finally:
        sys.setprofile(None)
