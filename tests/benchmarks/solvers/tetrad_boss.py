"""Tetrad: best order score search with a backward equivalence step, with its defaults otherwise."""

from functools import partial

from solvers import tetrad
from solvers.tetrad import edges, learn, own_score

__all__ = ["edges", "learn", "load", "own_score"]

load = partial(tetrad.load, search="boss")
