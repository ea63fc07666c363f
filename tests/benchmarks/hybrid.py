"""MMHC and other hybrids compared with the free search and pybnesian's MMHC: distances to the network, and seconds.

    python tests/benchmarks/hybrid.py                       # half a minute
    python tests/benchmarks/hybrid.py --networks alarm --orders 1

10,000 rows of a bundled network, in several orders of the columns; chi-square at level .05, BIC. Distance: mean
structural Hamming distance of the equivalence classes. Seconds: median user CPU of a call from the frame, the second of
two calls. pybnesian is left out if it is not installed.
"""

import argparse
import importlib.util

import numpy as np
from worker import user_seconds

from pgmx.datasets import load_network
from pgmx.estimators import MMHC, HillClimbSearch, HybridSearch
from pgmx.metrics import cpdag_shd
from pgmx.models import to_dag

QUIET = {"show_progress": False}
LEARNERS = {
    "thorough": HillClimbSearch(strategy="thorough", **QUIET),
    "MMHC": MMHC(**QUIET),
    'restrict="mmpc"': HybridSearch(HillClimbSearch(strategy="thorough", **QUIET), restrict="mmpc"),
    'restrict="iamb", .01': HybridSearch(
        HillClimbSearch(strategy="thorough", **QUIET), restrict="iamb", significance_level=0.01
    ),
}


def learn_by_pybnesian(frame):
    """Return the arcs that pybnesian's MMHC finds."""
    import pybnesian

    network = pybnesian.MMHC().estimate(
        hypot_test=pybnesian.ChiSquare(frame),
        operators=pybnesian.ArcOperatorSet(),
        score=pybnesian.BIC(frame),
        nodes=list(frame.columns),
        bn_type=pybnesian.DiscreteBNType(),
        alpha=0.05,
    )
    return network.arcs()


def main():
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--networks", nargs="+", default=["alarm", "insurance", "child", "hailfinder"])
    parser.add_argument("--orders", type=int, default=3)
    parser.add_argument("--rows", type=int, default=10_000)
    options = parser.parse_args()
    searches = {name: lambda frame, one=one: one.fit(frame).dag_ for name, one in LEARNERS.items()}
    if importlib.util.find_spec("pybnesian"):
        searches["pybnesian MMHC"] = lambda frame: to_dag(list(frame), _number(learn_by_pybnesian(frame), frame))
    total = dict.fromkeys(searches, np.zeros(2))
    print("| network | " + " | ".join(searches) + " |\n| --- |" + " ---: |" * len(searches))
    for name in options.networks:
        network = load_network(name)
        rows = network.simulate(options.rows, seed=1, show_progress=False).astype(str).astype("category")
        cells = []
        for label, search in searches.items():
            figures = []
            for seed in range(options.orders):
                frame = rows[list(np.random.default_rng(seed).permutation(rows.columns))]
                search(frame)
                began = user_seconds()
                dag = search(frame)
                figures.append((cpdag_shd(network, dag), user_seconds() - began))
            distance, seconds = np.mean(figures, axis=0)[0], np.median(figures, axis=0)[1]
            total[label] = total[label] + (distance, seconds)
            cells.append(f"{distance:.1f} ({seconds:.3f} s)")
        print(f"| {name} | " + " | ".join(cells) + " |", flush=True)
    print("| sum | " + " | ".join(f"{distance:.1f} ({seconds:.3f} s)" for distance, seconds in total.values()) + " |")


def _number(arcs, frame):
    places = {name: i for i, name in enumerate(frame)}
    return [(places[tail], places[head]) for tail, head in arcs]


if __name__ == "__main__":
    main()
