"""pgmx: greedy equivalence search, forward, backward and turning, again until none gains."""

from solvers import pgmx
from solvers.pgmx import KERNEL, edges, learn, own_score

__all__ = ["KERNEL", "edges", "end_to_end", "learn", "load", "own_score"]


def load(problem):
    from pgmx.data.inputs import encode
    from pgmx.estimators import GreedyEquivalenceSearch

    table = encode(problem.frame)
    _ = table.planes
    return pgmx.search_for(problem, GreedyEquivalenceSearch), table


def end_to_end(problem):
    return learn(load(problem))
