"""Markov networks from a table whose parts are generated at the workers of a dask cluster, beside the same in a file.

python tests/benchmarks/distributed_markov.py --rows 1000000 --columns 40 --workers 2

Prints one JSON object: for each learner rounds of messages, bytes that the driver received, CPU seconds of the driver
and of all workers, and the CPU seconds of the same fit from a plane file in one thread. Graphs and objectives are
compared.
"""

import argparse
import json
import tempfile
import time
from pathlib import Path

import numpy as np
from distributed_table import PART_ROWS, Meter, make_part

from pgmx.data import distribute, write_table
from pgmx.estimators import EdgeGrafting, GroupLassoMarkovNetwork, OnlineEdgeGrafting

COMMON = {"lam_ratio": 0.2, "n_jobs": 1, "show_progress": False}
LEARNERS = {
    "group lasso": GroupLassoMarkovNetwork(**COMMON),
    "group lasso, double": GroupLassoMarkovNetwork(tol=1e-7, **COMMON),
    "edge grafting, batch": EdgeGrafting(batch=True, **COMMON),
    "edge grafting": EdgeGrafting(**COMMON),
    "online": OnlineEdgeGrafting(**COMMON),
    "group lasso, Bethe": GroupLassoMarkovNetwork(loss="bethe", **COMMON),
}


def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--columns", type=int, default=40)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--learners", nargs="+", default=list(LEARNERS), choices=list(LEARNERS))
    options = parser.parse_args()
    import dask
    from dask.dataframe import from_delayed
    from distributed import Client, LocalCluster

    n_parts = -(-options.rows // PART_ROWS)
    sizes = [min(PART_ROWS, options.rows - k * PART_ROWS) for k in range(n_parts)]
    result = {"rows": options.rows, "columns": options.columns, "workers": options.workers}
    found = {}
    cluster_options = {"n_workers": options.workers, "threads_per_worker": 1, "dashboard_address": ":0"}
    with LocalCluster(**cluster_options) as cluster, Client(cluster) as client:
        frames = [dask.delayed(make_part)(k, n, options.columns) for k, n in enumerate(sizes)]
        meta = make_part(0, 2, options.columns).iloc[:0]
        meter = Meter(client)
        table = distribute(from_delayed(frames, meta=meta, verify_meta=False), client).persist()
        meter.read()
        for name in options.learners:
            learner = LEARNERS[name].fit(table)
            found[name] = learner.edges_, learner.objective_
            result[name] = meter.read() | {"edges": len(learner.edges_), "n_iter": learner.n_iter_}
    with tempfile.TemporaryDirectory() as folder:
        frames = (make_part(k, n, options.columns) for k, n in enumerate(sizes))
        whole = write_table(frames, Path(folder) / "whole.pgmx")
        for name in options.learners:
            wall, cpu = time.perf_counter(), time.process_time()
            learner = LEARNERS[name].fit(whole)
            edges, objective = found[name]
            result[name] |= {
                "file_wall": round(time.perf_counter() - wall, 2),
                "file_cpu": round(time.process_time() - cpu, 2),
                "same edges": bool(np.array_equal(edges, learner.edges_)),
                "objective, relative difference": abs(objective / learner.objective_ - 1),
            }
    print(json.dumps(result, indent=1))


if __name__ == "__main__":
    main()
