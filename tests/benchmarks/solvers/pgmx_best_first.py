"""pgmx: best-first search with its defaults."""

from functools import partial

from pgmx.estimators import BestFirstSearch
from solvers import pgmx
from solvers.pgmx import KERNEL, edges, learn, own_score

__all__ = ["KERNEL", "edges", "end_to_end", "learn", "load", "own_score"]

load = partial(pgmx.load, search=BestFirstSearch)
end_to_end = partial(pgmx.end_to_end, search=BestFirstSearch)
