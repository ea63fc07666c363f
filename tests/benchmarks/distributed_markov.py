"""Markov networks from a table whose partitions are generated at the workers of a dask cluster, compared with a file.

python tests/benchmarks/distributed_markov.py --rows 1000000 --columns 40 --workers 2

Scheduler and workers are processes of their own. Prints one JSON object: for each learner what `Meter` of
distributed_table.py reads, and the seconds of the same fit from a plane file in one thread. Graphs and objectives are
compared.
"""

import argparse
import json
import os
import tempfile
import time
from pathlib import Path

import numpy as np
from distributed_table import Meter, make_part, part_sizes

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
    from distributed import Client
    from distributed.deploy.subprocess import SubprocessCluster

    # the workers import what is measured from this folder
    os.environ["PYTHONPATH"] = os.pathsep.join([str(Path(__file__).parent), os.environ.get("PYTHONPATH", "")])
    sizes = part_sizes(options.rows)
    result = {"rows": options.rows, "columns": options.columns, "workers": options.workers}
    found = {}
    workers = {"nthreads": 1, "memory_limit": 0}
    with (
        SubprocessCluster(n_workers=options.workers, dashboard_address=None, worker_kwargs=workers) as cluster,
        Client(cluster) as client,
    ):
        client.wait_for_workers(options.workers)
        frames = [dask.delayed(make_part)(k, n, options.columns) for k, n in enumerate(sizes)]
        meta = make_part(0, 2, options.columns).iloc[:0]
        table = distribute(from_delayed(frames, meta=meta, verify_meta=False), client).persist()
        meter = Meter(client)
        for name in options.learners:
            learner = LEARNERS[name].fit(table)
            found[name] = learner.edges_, learner.objective_
            result[name] = meter.read() | {"edges": len(learner.edges_), "rounds of the learner": learner.n_iter_}
        table.release()
    with tempfile.TemporaryDirectory() as folder:
        frames = (make_part(k, n, options.columns) for k, n in enumerate(sizes))
        whole = write_table(frames, Path(folder) / "whole.pgmx")
        for name in options.learners:
            wall, cpu = time.perf_counter(), time.process_time()
            learner = LEARNERS[name].fit(whole)
            edges, objective = found[name]
            result[name] |= {
                "wall, plane file": round(time.perf_counter() - wall, 2),
                "cpu, plane file": round(time.process_time() - cpu, 2),
                "same edges": bool(np.array_equal(edges, learner.edges_)),
                "objective, relative difference": abs(objective / learner.objective_ - 1),
            }
    print(json.dumps(result, indent=1))


if __name__ == "__main__":
    main()
