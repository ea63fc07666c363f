"""pgmx: ChowLiuForest with a class variable, one thread."""

from solvers.forest.pgmx import KERNEL, edges, load, own_score
from solvers.forest.pgmx import learn as learn_forest

__all__ = ["KERNEL", "edges", "end_to_end", "learn", "load", "own_score"]


def learn(data):
    return learn_forest(data, class_node=data.columns[0])


def end_to_end(problem):
    return learn(problem.frame)
