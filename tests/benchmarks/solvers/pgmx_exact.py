"""pgmx: the exact strategy of hill climbing."""

from functools import partial

from solvers import pgmx
from solvers.pgmx import KERNEL, edges, learn, own_score

__all__ = ["KERNEL", "edges", "end_to_end", "learn", "load", "own_score"]

load = partial(pgmx.load, strategy="exact")
end_to_end = partial(pgmx.end_to_end, strategy="exact")
