"""Averaged total effects and path probabilities against those of the best DAG, on random Gaussian networks.

    python tests/benchmarks/posterior_effects.py 20:200 20:1000 50:500 --networks 12

For each problem VARIABLES:ROWS it prints the mean squared error of total effects and the Brier score of directed paths,
of the posterior and of its best DAG, and their ratios.
"""

import argparse
import json
import warnings

import numpy as np
import pandas as pd

from pgmx.estimators import StructurePosterior


def draw(n, n_rows, rng, degree=3, most=5):
    """Return weights ``[tail, head]`` of a random DAG and a frame of its rows."""
    order, weights = rng.permutation(n), np.zeros((n, n))
    for i in range(n):
        for j in range(i):
            tail, head = order[j], order[i]
            if rng.random() < degree / (n - 1) and np.count_nonzero(weights[:, head]) < most:
                weights[tail, head] = rng.uniform(0.3, 1.0) * rng.choice([-1, 1])
    rows = rng.normal(size=(n_rows, n))
    for v in order:
        rows[:, v] += rows @ weights[:, v]
    return weights, pd.DataFrame(rows, columns=[f"x{v}" for v in range(n)])


def measure_best(dag, frame):
    """Return the effects and the paths of one DAG, by regressions on a variable and its parents."""
    n, names = frame.shape[1], list(frame.columns)
    arcs = np.zeros((n, n))
    for tail, head in dag.edges():
        arcs[names.index(tail), names.index(head)] = 1
    paths = (np.linalg.inv(np.eye(n) - arcs) - np.eye(n)) > 0.5  # numbers of paths
    centred = frame.to_numpy() - frame.to_numpy().mean(axis=0)
    effects = np.zeros((n, n))
    for x in range(n):
        design = centred[:, [x, *np.flatnonzero(arcs[:, x])]]
        effects[x] = np.where(paths[x], np.linalg.lstsq(design, centred, rcond=None)[0][0], 0.0)
    return effects, paths.astype(float)


def compare(problem, n_networks):
    """Return the figures of one problem."""
    n, n_rows = map(int, problem.split(":"))
    rng, sums = np.random.default_rng([n, n_rows]), np.zeros(4)
    away = ~np.eye(n, dtype=bool)
    for _ in range(n_networks):
        weights, frame = draw(n, n_rows, rng)
        truth = np.linalg.inv(np.eye(n) - weights)
        is_path = (np.linalg.inv(np.eye(n) - (weights != 0)) > 0.5).astype(float)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            posterior = StructurePosterior(scoring_method="bge", show_progress=False).fit(frame)
        found = posterior.causal_effects()
        best, path = measure_best(posterior.best_dag_, frame)
        pairs = [(found.mean.to_numpy(), truth), (best, truth), (found.nonzero.to_numpy(), is_path), (path, is_path)]
        sums += [np.mean((said - seen)[away] ** 2) for said, seen in pairs]
    effect, effect_of_best, paths, paths_of_best = (sums / n_networks).tolist()
    return {
        "problem": problem,
        "effects": [round(effect, 5), round(effect_of_best, 5), round(effect / effect_of_best, 2)],
        "paths": [round(paths, 4), round(paths_of_best, 4), round(paths / paths_of_best, 2)],
    }


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("problems", nargs="+")
    parser.add_argument("--networks", type=int, default=12)
    options = parser.parse_args()
    for problem in options.problems:
        print(json.dumps(compare(problem, options.networks)), flush=True)
