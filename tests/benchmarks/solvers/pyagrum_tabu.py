"""pyAgrum: BNLearner's local search with a tabu list, of the length it has by default; the rest as in pyagrum.py."""

from solvers import pyagrum
from solvers.pyagrum import edges, learn, own_score

__all__ = ["edges", "end_to_end", "learn", "load", "own_score"]


def load(problem):
    learner = pyagrum.load(problem)
    learner.useLocalSearchWithTabuList()
    return learner


def end_to_end(problem):
    return learn(load(problem))
