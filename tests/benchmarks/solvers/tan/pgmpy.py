"""pgmpy: TreeSearch with a class variable, one process."""

from solvers.forest.pgmpy import edges, load, own_score
from solvers.forest.pgmpy import learn as learn_forest

__all__ = ["edges", "end_to_end", "learn", "load", "own_score"]


def learn(frame):
    return learn_forest(frame, estimator_type="tan", class_node=frame.columns[0])


def end_to_end(problem):
    return learn(load(problem))
