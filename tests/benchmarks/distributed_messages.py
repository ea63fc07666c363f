"""Messages that a search sends to workers, a request each: alarm with 5,000 rows and andes with 2,000.

    python tests/benchmarks/distributed_messages.py --networks alarm andes --searches greedy thorough
    python tests/benchmarks/distributed_messages.py --weights

The worker is in this process, with one partition: the number of messages does not depend on workers and partitions.
Requests are counted and then answered without a message, which saves 5 ms each. A line for each search: requests,
families in them, and whether graph and score are those of the whole table, to the bit; with real weights the score to
1e-9.
"""

import argparse
from collections import Counter
from time import process_time
from unittest.mock import patch

import numpy as np
from distributed import Client

from pgmx.data import DistributedTable, distribute, encode
from pgmx.datasets import load_network, sample
from pgmx.estimators import BestFirstSearch, GreedyEquivalenceSearch, HillClimbSearch, SimulatedAnnealing

ROWS = {"asia": 5000, "alarm": 5000, "andes": 2000}

QUIET = {"show_progress": False}
SEARCHES = {
    "greedy": HillClimbSearch(max_indegree=3, **QUIET),
    "greedy, any indegree": HillClimbSearch(**QUIET),
    "thorough": HillClimbSearch(strategy="thorough", max_indegree=3, **QUIET),
    "best": HillClimbSearch(strategy="best", max_indegree=3, max_time=None, **QUIET),
    "exact, 20 variables": HillClimbSearch(strategy="exact", max_indegree=3, **QUIET),
    "best first": BestFirstSearch(max_indegree=3, **QUIET),
    "annealing": SimulatedAnnealing(max_indegree=3, random_state=0, **QUIET),
    "equivalence classes": GreedyEquivalenceSearch(max_indegree=3, **QUIET),
}


def return_part(part):
    """Return a partition, which becomes the object that the worker keeps."""
    return part


def count_messages(client, name, search, is_weighted):
    """Return how many messages, families and CPU seconds a search takes, and whether its graph is the local one."""
    data = sample(load_network(name), ROWS[name], random_state=0)
    if search.get_params().get("strategy") == "exact":
        data = data.iloc[:, :20]
    weights = np.random.default_rng(1).exponential(size=len(data)) if is_weighted else None
    table, counts, parts = distribute(data, client, n_parts=1), Counter(), {}
    reduce = DistributedTable.reduce

    def answer(self, function, *arguments, add):
        if id(self) not in parts:
            parts[id(self)] = reduce(self, return_part, add=add)
        counts["messages"] += 1
        if function.__name__ in ("count_families", "weigh_families"):
            counts["families"] += len(arguments[0])
        return function(parts[id(self)], *arguments)

    with patch.object(DistributedTable, "reduce", answer):
        began = process_time()
        search.fit(table, sample_weight=weights)
        counts["CPU s"] = round(process_time() - began, 2)
    far, edges = search.score_, search.edges_
    began = process_time()
    search.fit(encode(data), sample_weight=weights)
    counts["CPU s of the whole"] = round(process_time() - began, 2)
    tolerance = 1e-9 * abs(search.score_) if is_weighted else 0.0
    return counts, np.array_equal(edges, search.edges_) and abs(far - search.score_) <= tolerance


def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--networks", nargs="+", default=["alarm", "andes"], choices=list(ROWS))
    parser.add_argument("--searches", nargs="+", default=list(SEARCHES), choices=list(SEARCHES))
    parser.add_argument("--weights", action="store_true", help="real weights of the rows")
    options = parser.parse_args()
    with Client(processes=False, n_workers=1, threads_per_worker=1, dashboard_address=":0") as client:
        for name in options.networks:
            for search in options.searches:
                counts, is_same = count_messages(client, name, SEARCHES[search], options.weights)
                print(name, search, dict(counts), "the same" if is_same else "DIFFERENT", sep="; ", flush=True)


if __name__ == "__main__":
    main()
