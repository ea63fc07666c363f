"""bnlearn: its tabu search, which looks on for ten moves."""

from solvers.bnlearn import edges, learn, own_score
from solvers.bnlearn import load_tabu as load

__all__ = ["edges", "learn", "load", "own_score"]
