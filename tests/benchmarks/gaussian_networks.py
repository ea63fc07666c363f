"""Gaussian networks: how long do searches take, and what are their scores, compared with pybnesian and causal-learn?

    python tests/benchmarks/gaussian_networks.py climb [--rows N]    # 50 columns in five orders, and pybnesian
    python tests/benchmarks/gaussian_networks.py classes             # equivalence search, and causal-learn's GES
    python tests/benchmarks/gaussian_networks.py wide [--columns P]  # 1,000 columns x 10,000 rows

User-CPU seconds of the learning call; set OPENBLAS_NUM_THREADS=1. ``pip install pybnesian causal-learn``.
"""

import argparse
import gc
import resource
import sys
import warnings
from pathlib import Path

import numpy as np
import pandas as pd

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from oracles.other_scores import gaussian_score  # what all programs are scored by
from pgmx.estimators import GreedyEquivalenceSearch, HillClimbSearch


def cpu():
    return resource.getrusage(resource.RUSAGE_SELF).ru_utime


def gaussian_table(n, p=50, seed=21):
    """Return a table of a random linear Gaussian network of at most three parents, and its arcs."""
    rng = np.random.default_rng(seed)
    rows, arcs = np.empty((n, p)), []
    for j in range(p):
        k = min(j, int(rng.integers(0, 4)))
        parents = np.sort(rng.choice(j, k, replace=False)) if k else []
        rows[:, j] = rng.normal(size=n)
        for i in parents:
            rows[:, j] += rng.choice([-1, 1]) * rng.uniform(0.3, 0.8) * rows[:, i]
            arcs.append((int(i), j))
        rows[:, j] /= rows[:, j].std()
    order = rng.permutation(p)
    names = {int(j): f"v{c}" for c, j in enumerate(order)}
    return pd.DataFrame(rows[:, order], columns=[f"v{c}" for c in range(p)]), [(names[i], names[j]) for i, j in arcs]


def score_arcs(frame, arcs):
    """Return the BIC of a graph by regressions, at the maximum of the likelihood."""
    ids = {name: i for i, name in enumerate(frame)}
    rows, cost = frame.to_numpy(), 0.5 * np.log(len(frame))
    parents = {name: [ids[tail] for tail, head in arcs if head == name] for name in frame}
    return sum(gaussian_score(rows, ids[name], parents[name], cost) for name in frame)


def climb_pybnesian(frame, name):
    import pybnesian

    score = {"bic-g": pybnesian.BIC, "bge": pybnesian.BGe}[name](frame)
    start = pybnesian.GaussianNetwork(list(frame.columns))
    return pybnesian.GreedyHillClimbing().estimate(pybnesian.ArcOperatorSet(), score, start).arcs()


def climb_ours(frame, name, strategy):
    learner = HillClimbSearch(scoring_method=name, strategy=strategy, show_progress=False, return_type="dag").fit(frame)
    return list(learner.graph_.edges())


def measure(learn, repeats):
    """Return the arcs that `learn` returns and the median of its user-CPU seconds."""
    seconds = []
    for _ in range(repeats):
        gc.collect()
        began = cpu()
        arcs = learn()
        seconds.append(cpu() - began)
    return arcs, float(np.median(seconds))


def measure_climbs(rows, orders, repeats):
    frame, truth = gaussian_table(rows)
    print(f"true graph: {score_arcs(frame, truth):.3f}, {len(truth)} arcs")
    for name in ("bic-g", "bge"):
        programs = {"pybnesian": lambda part, name=name: climb_pybnesian(part, name)}
        for strategy in ("greedy", "thorough"):
            programs[f"pgmx {strategy}"] = lambda part, name=name, strategy=strategy: climb_ours(part, name, strategy)
        print(f"\n{name}\n| program | CPU s, median | BIC by order | median |\n|---|---|---|---|")
        for program, learn in programs.items():
            found = []
            for order in range(orders):
                part = frame.iloc[:, np.random.default_rng(100 + order).permutation(frame.shape[1])]
                arcs, seconds = measure(lambda part=part, learn=learn: learn(part), repeats)
                found.append((seconds, score_arcs(frame, arcs), len(arcs)))
            scores = " ".join(f"{score:.1f} ({n_arcs})" for _, score, n_arcs in found)
            seconds, best = np.median([f[0] for f in found]), np.median([f[1] for f in found])
            print(f"| {program} | {seconds:.4f} | {scores} | {best:.3f} |")


def measure_classes(columns, repeats):
    from causallearn.search.ScoreBased.GES import ges

    frame, truth = gaussian_table(10_000, columns)
    print(f"true graph: {score_arcs(frame, truth):.3f}, {len(truth)} arcs")
    learner = GreedyEquivalenceSearch(show_progress=False, return_type="dag")
    arcs, seconds = measure(lambda: list(learner.fit(frame).graph_.edges()), repeats)
    print(f"pgmx: {seconds:.3f} CPU s, BIC {score_arcs(frame, arcs):.3f}, {len(arcs)} arcs")
    for strategy in ("greedy", "thorough"):
        arcs, seconds = measure(lambda strategy=strategy: climb_ours(frame, "bic-g", strategy), repeats)
        print(f"pgmx {strategy}: {seconds:.4f} CPU s, BIC {score_arcs(frame, arcs):.3f}, {len(arcs)} arcs")
    began = cpu()
    graph = ges(frame.to_numpy(), score_func="local_score_BIC_from_cov", node_names=list(frame.columns))["G"]
    seconds = cpu() - began
    arcs = list(extend(graph).edges())
    print(f"causal-learn: {seconds:.3f} CPU s, BIC {score_arcs(frame, arcs):.3f}, {len(arcs)} arcs")


def extend(graph):
    """Return a DAG of the equivalence class that causal-learn found."""
    from pgmpy.base import PDAG

    matrix, names = graph.graph, [node.get_name() for node in graph.nodes]
    pairs = [(i, j) for i in range(len(names)) for j in range(len(names)) if i != j and matrix[i, j] == -1]
    directed = [(names[i], names[j]) for i, j in pairs if matrix[j, i] == 1]
    undirected = [(names[i], names[j]) for i, j in pairs if matrix[j, i] == -1 and i < j]
    return PDAG(directed_ebunch=directed, undirected_ebunch=undirected).to_dag()


def measure_wide(columns, rows, repeats):
    frame, truth = gaussian_table(rows, columns)
    print(f"true graph: {score_arcs(frame, truth):.1f}, {len(truth)} arcs")
    for name in ("bic-g", "bge"):
        for strategy in ("greedy", "thorough"):
            arcs, seconds = measure(
                lambda name=name, strategy=strategy: climb_ours(frame, name, strategy),
                repeats if strategy == "greedy" else 1,
            )
            print(f"{name} {strategy}: {seconds:.2f} CPU s, BIC {score_arcs(frame, arcs):.1f}, {len(arcs)} arcs")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("part", choices=["climb", "classes", "wide"])
    parser.add_argument("--rows", type=int, default=10_000)
    parser.add_argument("--columns", type=int)
    parser.add_argument("--orders", type=int, default=5)
    parser.add_argument("--repeats", type=int, default=3)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    if options.part == "climb":
        measure_climbs(options.rows, options.orders, options.repeats)
    elif options.part == "classes":
        measure_classes(options.columns or 50, options.repeats)
    else:
        measure_wide(options.columns or 1_000, options.rows, options.repeats)


if __name__ == "__main__":
    main()
