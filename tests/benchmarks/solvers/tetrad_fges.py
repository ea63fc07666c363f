"""Tetrad: fast greedy equivalence search, with its defaults otherwise."""

from functools import partial

from solvers import tetrad
from solvers.tetrad import edges, learn, own_score

__all__ = ["edges", "learn", "load", "own_score"]

load = partial(tetrad.load, search="fges")
