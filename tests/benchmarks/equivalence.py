"""GreedyEquivalenceSearch compared with causal-learn's GES and the package ges: the same Gaussian rows, the same BIC.

    python tests/benchmarks/equivalence.py                          # some minutes, nearly all of it the peers
    python tests/benchmarks/equivalence.py --variables 10 20 --seeds 2 --limit 60

Random graphs of a mean degree, weights of .5 to 1.5 of either sign, unit noise; 1,000 rows, standardised. A peer that
is not installed is left out. Each call is a process of its own; its user-CPU seconds are those of the call alone. All
graphs are scored by the residual variances that numpy finds (`score_graph`), and compared with the class of the true
graph. R's pcalg is not among the peers: it needs R.
"""

import argparse
import importlib
import importlib.util
import json
import os
import resource
import signal
from statistics import median

import networkx as nx
import numpy as np
from worker import user_seconds

DEGREES = (2, 4)
ROWS = 1_000


def draw_problem(n, degree, seed):
    """Return the arcs of a random graph, its order of variables permuted, and rows of it."""
    rng = np.random.default_rng([n, degree, seed])
    weights = np.zeros((n, n))  # by tail and head
    order = rng.permutation(n)
    for i in range(n):
        for j in range(i + 1, n):
            if rng.random() < degree / (n - 1):
                weights[order[i], order[j]] = rng.choice([-1, 1]) * rng.uniform(0.5, 1.5)
    noise = rng.normal(size=(ROWS, n))
    rows = np.linalg.solve((np.eye(n) - weights).T, noise.T).T
    return [tuple(arc) for arc in np.argwhere(weights).tolist()], (rows - rows.mean(axis=0)) / rows.std(axis=0)


def score_graph(rows, arcs):
    """Return the BIC: the log-likelihood less ln N / 2 for each coefficient, mean and variance."""
    n_rows, n = rows.shape
    total = 0.0
    for v in range(n):
        parents = [tail for tail, head in arcs if head == v]
        design = np.column_stack([np.ones(n_rows), rows[:, parents]])
        rest = rows[:, v] - design @ np.linalg.lstsq(design, rows[:, v], rcond=None)[0]
        total -= n_rows / 2 * (np.log(2 * np.pi * np.mean(rest**2)) + 1) + np.log(n_rows) / 2 * (len(parents) + 2)
    return total


def _direct(n, matrix):
    """Return the arcs of a DAG of a class; ``matrix[i, j]`` says whether i -> j or i - j is in it."""
    from pgmx.graphs.consensus import make_marks
    from pgmx.graphs.extension import extend_to_dag

    pairs = [tuple(pair) for pair in np.argwhere(matrix).tolist()]
    directed = [(i, j) for i, j in pairs if not matrix[j, i]]
    undirected = [(i, j) for i, j in pairs if matrix[j, i] and i < j]
    return [tuple(arc) for arc in extend_to_dag(n, make_marks(directed, undirected)).tolist()]


def search_pgmx(rows):
    from pgmx.estimators import GreedyEquivalenceSearch

    learner = GreedyEquivalenceSearch(scoring_method="bic-g", show_progress=False)
    return lambda: learner.fit(rows), lambda _: [tuple(arc) for arc in learner.edges_.tolist()]


def search_pgmx_best(rows):
    from pgmx.estimators import HillClimbSearch

    learner = HillClimbSearch(scoring_method="bic-g", strategy="best", show_progress=False)
    return lambda: learner.fit(rows), lambda _: [tuple(arc) for arc in learner.edges_.tolist()]


def search_causal_learn(rows):
    from causallearn.search.ScoreBased.GES import ges

    def direct(result):  # graph[j, i] is 1 and graph[i, j] is -1 where i -> j; both are -1 where i - j
        graph = result["G"].graph
        return _direct(len(graph), (graph == -1) & np.isin(graph.T, [1, -1]))

    return lambda: ges(rows, "local_score_BIC"), direct


def search_ges(rows):
    import ges

    return lambda: ges.fit_bic(rows, iterate=True), lambda result: _direct(rows.shape[1], result[0] != 0)


SEARCHES = {
    "pgmx": (search_pgmx, "pgmx"),
    "pgmx best": (search_pgmx_best, "pgmx"),
    "causal-learn": (search_causal_learn, "causallearn"),
    "ges": (search_ges, "ges"),
}


def run(name, rows, limit):
    """Return the arcs and the seconds of one search; None where it uses more CPU seconds than the limit."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        used = resource.getrusage(resource.RUSAGE_SELF)
        soft = int(used.ru_utime + used.ru_stime + limit)
        resource.setrlimit(resource.RLIMIT_CPU, (soft, soft))
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        search, read = SEARCHES[name][0](rows)
        began = user_seconds()
        result = search()
        seconds = user_seconds() - began
        with os.fdopen(writer, "w") as out:
            json.dump([read(result), seconds], out)
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader) as lines:
        text = lines.read()
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    if code in (-signal.SIGXCPU, -signal.SIGKILL):
        return None
    if code != 0:
        raise SystemExit(f"{name} ended with {code}")
    arcs, seconds = json.loads(text)
    return [tuple(arc) for arc in arcs], seconds


def make_graph(n, arcs):
    graph = nx.DiGraph()
    graph.add_nodes_from(range(n))
    graph.add_edges_from(arcs)
    if not nx.is_directed_acyclic_graph(graph):
        raise SystemExit("a graph has a cycle")
    return graph


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--variables", type=int, nargs="+", default=[10, 20, 40])
    parser.add_argument("--seeds", type=int, default=5, help="graphs of each kind")
    parser.add_argument("--limit", type=float, default=120.0, help="CPU seconds that one search may use")
    args = parser.parse_args()
    importlib.import_module("pgmx.estimators")  # once, in the parent of all processes
    from pgmx.metrics import cpdag_shd

    names = [name for name, (_, module) in SEARCHES.items() if importlib.util.find_spec(module)]
    columns = [f"{name}: {what}" for name in names for what in ("nats", "classes", "s")]
    print("| variables | degree | graphs |", " | ".join(columns), "|\n|" + "---:|" * (3 + len(columns)))
    for n in args.variables:
        for degree in DEGREES:
            cells = []
            problems = [draw_problem(n, degree, seed) for seed in range(args.seeds)]
            truths = [score_graph(rows, arcs) for arcs, rows in problems]
            for name in names:
                runs = []
                for (true_arcs, rows), truth in zip(problems, truths, strict=True):
                    done = run(name, rows, args.limit)
                    if done is None:
                        runs = []
                        break
                    far = cpdag_shd(make_graph(n, true_arcs), make_graph(n, done[0]))
                    runs.append((score_graph(rows, done[0]) - truth, far, done[1]))
                middle = [median(values) for values in zip(*runs, strict=True)]
                cells += (
                    [f"{middle[0]:+.1f}", f"{middle[1]:g}", f"{middle[2]:.3g}"]
                    if runs
                    else ["-", "-", f"> {args.limit:g}"]
                )
            print(f"| {n} | {degree} | {args.seeds} |", " | ".join(cells), "|", flush=True)


if __name__ == "__main__":
    main()
