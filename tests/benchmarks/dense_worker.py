"""One search on one table, in a process of its own: reads an .npz, writes the marks of the graph and the seconds.

    python dense_worker.py SOLVER TABLE.npz ANSWER.npz '{"penalty": 1.0}'

The interpreter of a peer needs numpy and the peer. ``marks[u, v]`` is 1 for u -> v; both are 2 for an undirected edge.
Imports and a search on four columns are outside the clock, which counts user-CPU seconds of one thread.
"""

import json
import os
import resource
import sys
import warnings
from math import log

THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "RAYON_NUM_THREADS")
os.environ.update(dict.fromkeys(THREADS, "1"))

import numpy as np  # noqa: E402  (after the numbers of threads)


def _make_pgmx(options):
    import pandas as pd

    from pgmx.estimators import GreedyEquivalenceSearch, HillClimbSearch

    options = dict(options)
    strategy, trace = options.pop("strategy"), options.pop("trace", False)
    if strategy == "ges":
        learner = GreedyEquivalenceSearch(show_progress=False, **options)
    else:
        learner = HillClimbSearch(show_progress=False, return_type="dag", strategy=strategy, **options)

    def search(rows):
        frame = pd.DataFrame(rows, columns=[f"v{i}" for i in range(rows.shape[1])])
        points, start = [], read_clock()
        if trace:
            learner.callback = lambda progress: points.append((read_clock() - start, progress.score))
        learner.fit(frame)
        marks = np.zeros((rows.shape[1],) * 2, dtype=np.int8)
        marks[tuple(learner.edges_.T)] = 1
        facts = {"expected": learner.expected_chance_edges_, "trace": thin(points)}
        return marks, facts

    return search


def thin(points):
    """Return the points of a run at which the best score so far rises, at most one per per cent of time."""
    kept, best = [], -np.inf
    for seconds, score in points:
        if score > best:
            best = score
            if kept and seconds < 1.01 * kept[-1][0]:
                kept.pop()
            kept.append((round(seconds, 4), round(score, 3)))
    return kept


def _make_flop(options):
    import flopsearch

    return lambda rows: (np.array(flopsearch.flop(rows, options["penalty"], restarts=options["restarts"])), {})


def _make_pybnesian(options):
    import pandas as pd
    import pybnesian

    def search(rows):
        names = [f"v{i}" for i in range(rows.shape[1])]
        model = pybnesian.hc(pd.DataFrame(rows, columns=names), bn_type=pybnesian.GaussianNetworkType(), score="bic")
        marks = np.zeros((len(names),) * 2, dtype=np.int8)
        for tail, head in model.arcs():
            marks[names.index(tail), names.index(head)] = 1
        return marks, {}

    return search


def _make_causal_learn(options):
    from causallearn.search.PermutationBased.BOSS import boss
    from causallearn.search.PermutationBased.GRaSP import grasp

    search_orders = {"boss": boss, "grasp": grasp}[options["search"]]

    def search(rows):
        # their penalty of a parameter is lambda ln N
        graph = search_orders(rows, parameters={"lambda_value": options["penalty"] / 2}, verbose=False).graph
        return np.where(graph == -1, np.where(graph.T == -1, 2, 1), 0).astype(np.int8), {}

    return search


def _make_ges(options):
    import ges
    from ges.scores.gauss_obs_l0_pen import GaussObsL0Pen

    def search(rows):
        graph = ges.fit(GaussObsL0Pen(rows, lmbda=options["penalty"] * log(len(rows)) / 2))[0]
        return np.where(graph * graph.T == 1, 2, graph).astype(np.int8), {}

    return search


SOLVERS = {
    "pgmx": _make_pgmx,
    "flop": _make_flop,
    "pybnesian": _make_pybnesian,
    "causal-learn": _make_causal_learn,
    "ges": _make_ges,
}


def read_clock():
    """Return the user-CPU seconds of this process."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_utime


def main():
    """Run the search that the arguments name."""
    solver, table, answer, options = sys.argv[1:5]
    options = json.loads(options)
    limit = options.pop("limit")
    resource.setrlimit(resource.RLIMIT_CPU, (int(limit) + 20, int(limit) + 21))
    warnings.simplefilter("ignore")
    rows = np.load(table)["rows"]
    search = SOLVERS[solver](options)
    small = np.random.default_rng(0).normal(size=(50, 4))
    search(small)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    start = read_clock()
    marks, facts = search(rows)
    seconds = read_clock() - start
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    facts |= {"seconds": seconds, "megabytes": peak / 1024, "more_megabytes": (peak - before) / 1024}
    np.savez(answer, marks=marks.astype(np.int8), facts=json.dumps(facts))


if __name__ == "__main__":
    main()
