"""Rows of Markov networks with missing values: CPU seconds of predictions.

    python tests/benchmarks/markov_rows.py

2,000 rows of each network (100 of the largest), a fifth of the values missing at random, or every second column absent;
CPU seconds of the first and of the second call of one process; the second finds the plans.
"""

import warnings
from functools import partial
from time import process_time

import numpy as np

from pgmx.datasets import grid_network, tree_network

NETWORKS = {
    "tree of 50 variables": (tree_network(50, random_state=0), 2000),
    "grid 6 x 6": (grid_network(6, 6), 2000),
    "grid 12 x 12": (grid_network(12, 12), 2000),
    "grid 30 x 30": (grid_network(30, 30), 100),
}


def seconds(function):
    """Return the CPU seconds of a call."""
    start = process_time()
    function()
    return process_time() - start


def main():
    warnings.simplefilter("ignore")  # samples of the largest grid are approximate
    for name, (network, n_rows) in NETWORKS.items():
        rows = network.simulate(n_rows, method="gibbs", burn_in=20, seed=0)
        gone = rows.astype(object).mask(np.random.default_rng(0).random(rows.shape) < 0.2)
        for what, some in (("a fifth missing", gone), ("half of the columns", rows.iloc[:, ::2])):
            for method in ("map", "marginal"):
                first, second = (seconds(partial(network.predict, some, method=method)) for _ in range(2))
                print(f"{name:22} {what:20} {method:9} {first:7.3f} {second:7.3f}", flush=True)


if __name__ == "__main__":
    main()
