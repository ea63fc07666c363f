"""Quality and time of posterior probabilities: chains, exact sums and the bootstrap on the same rows.

    python tests/benchmarks/posterior.py alarm:1000 alarm:10000 --seeds 2 --out posterior.json

For each problem NETWORK:ROWS or NETWORK:ROWS:COLUMNS (the first columns only) it prints CPU seconds of one thread, the
average precision and the Brier score of the skeleton against the true network (of all columns only), r-hat, the largest
difference of two chains, the effective sample size, and the largest error of an arc compared with the exact sums (up to
16 columns) and between seeds.
"""

import argparse
import json
import time
import warnings
from pathlib import Path

import numpy as np
from sklearn.metrics import average_precision_score

from pgmx.datasets import load_network, sample_network
from pgmx.estimators import BootstrapStructure, HillClimbSearch, StructurePosterior

MOST_EXACT = 16


def measure_skeleton(joined, truth):
    """Return average precision and Brier score of probabilities of pairs; nothing without a true graph."""
    if truth is None:
        return {}
    upper = np.triu_indices(len(joined), 1)
    said, seen = joined[upper], truth[upper]
    return {
        "ap": round(float(average_precision_score(seen, said)), 4),
        "brier": round(float(np.mean((said - seen) ** 2)), 5),
    }


def make_truth(network, columns):
    """Return the symmetric matrix of the edges of a network."""
    place = {name: number for number, name in enumerate(columns)}
    truth = np.zeros((len(columns), len(columns)))
    for tail, head in load_network(network).edges():
        truth[place[tail], place[head]] = truth[place[head], place[tail]] = 1
    return truth


def fit(learner, frame):
    """Return the fitted learner and the CPU seconds of the calling thread."""
    began = time.thread_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        learner.fit(frame)
    return learner, time.thread_time() - began


def compare(problem, n_seeds):
    """Yield a row per method for one problem."""
    network, n_rows, *first = problem.split(":")
    whole = sample_network(network, int(n_rows), random_state=1)
    frame = whole.iloc[:, : int(first[0])] if first else whole
    truth = None if first else make_truth(network, list(frame.columns))
    exact = None
    if frame.shape[1] <= MOST_EXACT:
        learner, seconds = fit(StructurePosterior(method="exact", show_progress=False), frame)
        exact = learner.arc_probability_.to_numpy()
        found = measure_skeleton(exact + exact.T, truth)
        yield {"problem": problem, "method": "exact", "cpu": round(seconds, 2), **found}
    arcs = []
    for seed in range(n_seeds):
        learner, seconds = fit(StructurePosterior(method="mcmc", random_state=seed, show_progress=False), frame)
        arcs.append(learner.arc_probability_.to_numpy())
        yield {
            "problem": problem,
            "method": f"chains, seed {seed}",
            "cpu": round(seconds, 2),
            **measure_skeleton(learner.edge_probability_.to_numpy(), truth),
            "r_hat": round(learner.r_hat_, 3),
            "difference": round(learner.max_difference_, 3),
            "size": round(learner.effective_sample_size_),
            "outside": round(learner.outside_mass_, 3),
            "converged": learner.converged_,
            "error": None if exact is None else round(float(np.abs(arcs[-1] - exact).max()), 4),
            "from first seed": round(float(np.abs(arcs[-1] - arcs[0]).max()), 4),
        }
    for score in ("bdeu", "bic"):
        search = HillClimbSearch(scoring_method=score, strategy="thorough", show_progress=False)
        learner, seconds = fit(BootstrapStructure(search, n_resamples=100, show_progress=False), frame)
        found = measure_skeleton(learner.edge_probability_.to_numpy(), truth)
        yield {"problem": problem, "method": f"bootstrap, {score}", "cpu": round(seconds, 2), **found}


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("problems", nargs="+")
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    rows = []
    for problem in options.problems:
        for row in compare(problem, options.seeds):
            print(json.dumps(row), flush=True)
            rows.append(row)
    if options.out:
        options.out.write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")
