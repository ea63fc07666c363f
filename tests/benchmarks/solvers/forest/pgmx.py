"""pgmx: ChowLiuForest with mutual information, one thread."""

from pgmx._ext._counts import SIMD_LEVEL
from pgmx.data.inputs import encode
from pgmx.estimators import ChowLiuForest

KERNEL = SIMD_LEVEL  # the instruction set that was chosen when the kernels were loaded


def load(problem):
    """Return the coded table with its bit planes; it holds no counts, and every timed call gets a new one."""
    table = encode(problem.frame)
    _ = table.planes  # built on first access
    return table


def learn(data, **options):
    learner = ChowLiuForest(**options).fit(data)
    _ = learner.graph_  # the graph object belongs to the call, whether it is made in fit or on first access
    return learner


def end_to_end(problem):
    return learn(problem.frame)


def edges(learner):
    return list(learner.graph_.edges())


def own_score(problem, learner):
    return learner.score_
