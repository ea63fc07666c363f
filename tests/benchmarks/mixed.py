"""Mixed data: time of scores and searches, compared with pgmpy and pybnesian.

    python tests/benchmarks/mixed.py breast              # scikit-learn's breast cancer table with its target
    python tests/benchmarks/mixed.py families            # 200 families of 50 columns x 100 000 rows, and pgmpy
    python tests/benchmarks/mixed.py search [--rows N]   # whole searches, and pybnesian, in five orders of columns

User-CPU seconds of one process (of families CPU seconds, too short for that clock); set OPENBLAS_NUM_THREADS=1.
pybnesian: ``pip install pybnesian``.
"""

import argparse
import gc
import resource
import sys
import warnings
from pathlib import Path
from time import process_time

import numpy as np
import pandas as pd

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from oracles.conditional_gaussian import clg_score  # scores both programs


def cpu():
    return resource.getrusage(resource.RUSAGE_SELF).ru_utime


def mixed_table(n, n_states=25, n_floats=25, seed=22):
    """Return a mixed table of a random network of at most two parents of each kind, and its arcs."""
    rng = np.random.default_rng(seed)
    codes, cards = np.empty((n, n_states), int), rng.integers(2, 4, n_states)
    numbers, arcs = np.empty((n, n_floats)), []
    for j in range(n_states):
        k = min(j, int(rng.integers(0, 3)))
        parents = np.sort(rng.choice(j, k, replace=False)) if k else np.array([], int)
        cell, q = np.zeros(n, int), 1
        for i in parents:
            cell, q = cell * cards[i] + codes[:, i], q * int(cards[i])
            arcs.append((f"d{int(i)}", f"d{j}"))
        table = rng.dirichlet(np.ones(cards[j]), size=q).cumsum(1)
        codes[:, j] = np.minimum((rng.random(n)[:, None] > table[cell]).sum(1), cards[j] - 1)
    for j in range(n_floats):
        k = min(j, int(rng.integers(0, 3)))
        parents = np.sort(rng.choice(j, k, replace=False)) if k else []
        cell, q = np.zeros(n, int), 1
        if rng.random() < 0.6:
            i = int(rng.integers(n_states))
            cell, q = codes[:, i], int(cards[i])
            arcs.append((f"d{i}", f"x{j}"))
        numbers[:, j] = rng.normal(0, 1, q)[cell] + rng.uniform(0.5, 1.5, q)[cell] * rng.normal(size=n)
        for i in parents:
            numbers[:, j] += rng.uniform(-0.8, 0.8, q)[cell] * numbers[:, i]
            arcs.append((f"x{int(i)}", f"x{j}"))
        numbers[:, j] = (numbers[:, j] - numbers[:, j].mean()) / numbers[:, j].std()
    columns = {}
    for j in range(n_states):
        states = [str(s) for s in range(cards[j])]
        columns[f"d{j}"] = pd.Categorical(codes[:, j].astype(str), categories=states)
    columns.update({f"x{j}": numbers[:, j] for j in range(n_floats)})
    names = list(columns)
    return pd.DataFrame({names[i]: columns[names[i]] for i in rng.permutation(len(names))}), arcs


def score_arcs(frame, arcs):
    """Return the score of a graph by the oracle, residual variances with denominator n - k."""
    parents = {name: [tail for tail, head in arcs if head == name] for name in frame}
    return sum(clg_score(frame, child, parents[child], variance="unbiased") for child in frame)


def measure_breast():
    from sklearn.datasets import load_breast_cancer

    from pgmx.estimators import HillClimbSearch

    frame = load_breast_cancer(as_frame=True).frame
    frame["target"] = frame["target"].astype("category")
    for name in ("bic-clg", "bic-cg"):
        times = []
        for _ in range(5):
            began = cpu()
            learner = HillClimbSearch(scoring_method=name, show_progress=False).fit(frame)
            times.append(cpu() - began)
        print(f"{name}: {np.median(times):.3f} CPU s, {len(learner.edges_)} arcs, score {learner.score_:.3f}")


def measure_families(rows):
    from pgmpy import structure_score as pgmpy

    from pgmx.scores import BICCondGauss

    frame, _ = mixed_table(rows)
    rng = np.random.default_rng(5)
    families = []
    while len(families) < 200:
        k = int(rng.integers(0, 3))
        child, *parents = rng.choice(50, 1 + k, replace=False).tolist()
        family = (frame.columns[child], tuple(frame.columns[p] for p in parents))
        if family not in families:
            families.append(family)
    began = process_time()
    ours = BICCondGauss(frame)
    ours.local_score(frame.columns[0], ())
    made = process_time() - began
    theirs = pgmpy.BICCondGauss(frame)
    seconds, scores = {}, {}
    for name, score in (("pgmx", ours), ("pgmpy", theirs)):
        gc.collect()  # what was built before is not collected at the cost of the families
        began = process_time()
        scores[name] = [score.local_score(child, parents) for child, parents in families]
        seconds[name] = process_time() - began
        print(f"{name}: {1e3 * seconds[name] / 200:.4f} ms a family in the mean")
    gap = np.abs(np.array(scores["pgmx"]) / np.array(scores["pgmpy"]) - 1).max()
    print(f"pgmx: the score is made in {made:.3f} s; largest relative difference {gap:.1e}")
    print(
        f"pgmpy / pgmx: {seconds['pgmpy'] / seconds['pgmx']:.0f}, with the making of the score "
        f"{seconds['pgmpy'] / (seconds['pgmx'] + made):.0f}"
    )


def measure_search(rows, orders):
    import pybnesian

    from pgmx.estimators import HillClimbSearch
    from pgmx.scores import BICCondLinearGauss

    whole, truth = mixed_table(rows)
    print(f"true graph: {score_arcs(whole, truth):.3f}")
    results = {}
    for order in range(orders):
        columns = np.random.default_rng(100 + order).permutation(50)
        frame = whole.iloc[:, columns]
        began = cpu()
        start = pybnesian.CLGNetwork(list(frame.columns))
        graph = pybnesian.GreedyHillClimbing().estimate(pybnesian.ArcOperatorSet(), pybnesian.BIC(frame), start)
        results.setdefault("pybnesian", []).append((cpu() - began, score_arcs(whole, graph.arcs()), len(graph.arcs())))
        for strategy in ("greedy", "thorough"):
            began = cpu()
            score = BICCondLinearGauss(frame, variance="unbiased")
            learner = HillClimbSearch(
                scoring_method=score, strategy=strategy, show_progress=False, return_type="dag"
            ).fit(frame)
            seconds, arcs = cpu() - began, list(learner.graph_.edges())
            results.setdefault(f"pgmx {strategy}", []).append((seconds, score_arcs(whole, arcs), len(arcs)))
    print("| program | CPU s by order | median | score by order | median |\n|---|---|---|---|---|")
    for name, found in results.items():
        seconds, scores = [f[0] for f in found], [f[1] for f in found]
        print(
            f"| {name} | {' '.join(f'{s:.2f}' for s in seconds)} | {np.median(seconds):.2f} | "
            f"{' '.join(f'{s:.1f} ({f[2]})' for s, f in zip(scores, found, strict=True))} | {np.median(scores):.3f} |"
        )


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("part", choices=["breast", "families", "search"])
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--orders", type=int, default=5)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    if options.part == "breast":
        measure_breast()
    elif options.part == "families":
        measure_families(options.rows)
    else:
        measure_search(options.rows, options.orders)


if __name__ == "__main__":
    main()
