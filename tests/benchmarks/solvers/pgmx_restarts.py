"""pgmx: hill climbing with twenty restarts."""

from functools import partial

from solvers import pgmx
from solvers.pgmx import KERNEL, edges, learn, own_score

__all__ = ["KERNEL", "edges", "end_to_end", "learn", "load", "own_score"]

load = partial(pgmx.load, n_restarts=20)
end_to_end = partial(pgmx.end_to_end, n_restarts=20)
