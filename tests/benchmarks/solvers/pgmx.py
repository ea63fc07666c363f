"""pgmx: greedy hill climbing with its defaults, returning a DAG as the others do."""

from pgmx._ext._counts import SIMD_LEVEL
from pgmx.data.inputs import encode
from pgmx.estimators import HillClimbSearch

KERNEL = SIMD_LEVEL  # the instruction set that was chosen when the kernels were loaded


def search_for(problem, search=HillClimbSearch, **options):
    """Return the estimator; the default sample size of its BDeu is 10."""
    return search(scoring_method=problem.score, return_type="dag", show_progress=False, **options)


def load(problem, **options):
    """Return estimator and coded table with its bit planes; it holds no counts, and every timed call gets a new one."""
    table = encode(problem.frame)
    _ = table.planes  # built on first access
    return search_for(problem, **options), table


def learn(loaded):
    search, table = loaded
    search.fit(table)
    _ = search.graph_  # the graph object belongs to the call, whether it is made in fit or on first access
    return search


def end_to_end(problem, **options):
    return learn((search_for(problem, **options), problem.frame))


def edges(search):
    return list(search.graph_.edges())


def own_score(problem, search):
    return search.score_
