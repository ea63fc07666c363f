"""A climb on a table whose parts are generated at the workers of a dask cluster, beside the same table in a file.

python tests/benchmarks/distributed_table.py --rows 2000000 --columns 100 --workers 2

Prints one JSON object: CPU seconds of the driver and of all workers for coding and for learning, bytes of the sums that
the driver received, memory of the workers, and the same of the run on a plane file. Graphs and scores are compared.
"""

import argparse
import json
import pickle
import tempfile
import time
from pathlib import Path

import numpy as np
import pandas as pd

from pgmx.data import distribute, write_table
from pgmx.estimators import ChowLiuForest, HillClimbSearch

N_STATES = 4
PART_ROWS = 250_000


def make_part(number: int, n_rows: int, n_columns: int) -> pd.DataFrame:
    """Return rows of a tree with shortcuts: each column follows one of the three before it, with noise."""
    rng = np.random.default_rng(number)
    columns = [rng.integers(0, N_STATES, n_rows, dtype=np.uint8)]
    for v in range(1, n_columns):
        parent = columns[max(0, v - 1 - v % 3)]
        other = columns[max(0, v - 4)]
        noise = rng.random(n_rows, dtype=np.float32)
        columns.append(
            np.where(
                noise < 0.5, parent, np.where(noise < 0.7, other, rng.integers(0, N_STATES, n_rows, dtype=np.uint8))
            )
        )
    return pd.DataFrame({f"x{v}": column for v, column in enumerate(columns)})


def cpu_and_memory() -> tuple[float, int]:
    """Return the CPU seconds of this process, and its resident bytes now."""
    status = Path("/proc/self/status").read_text()
    resident = next(line for line in status.splitlines() if line.startswith("VmRSS"))
    return time.process_time(), 1024 * int(resident.split()[1])


class Meter:
    """CPU seconds of the driver and of the workers since the last reading, and the bytes that the driver received."""

    def __init__(self, client):
        self.client = client
        self.received = 0
        self.n_messages = 0
        gather = client.gather

        def count(futures, **options):
            sums = gather(futures, **options)
            self.received += len(pickle.dumps(sums, protocol=5))
            self.n_messages += 1
            return sums

        client.gather = count
        self.read()

    def read(self) -> dict:
        """Return the readings, and begin anew."""
        now = self.client.run(cpu_and_memory)
        seconds = sum(cpu for cpu, _ in now.values())
        wall, driver = time.perf_counter(), time.process_time()
        reading = {}
        if hasattr(self, "_last"):
            reading = {
                "wall": round(wall - self._last[0], 2),
                "driver_cpu": round(driver - self._last[1], 2),
                "workers_cpu": round(seconds - self._last[2], 2),
                "bytes_received": self.received,
                "rounds": self.n_messages,
                "worker_memory_mb": [round(memory / 1e6) for _, memory in now.values()],
            }
        self._last = wall, driver, seconds
        self.received = self.n_messages = 0
        return reading


def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, default=2_000_000)
    parser.add_argument("--columns", type=int, default=100)
    parser.add_argument("--workers", type=int, default=2)
    options = parser.parse_args()
    import dask
    from dask.dataframe import from_delayed
    from distributed import Client, LocalCluster

    n_parts = -(-options.rows // PART_ROWS)
    sizes = [min(PART_ROWS, options.rows - k * PART_ROWS) for k in range(n_parts)]
    climb = HillClimbSearch(scoring_method="bic", max_indegree=3, show_progress=False)
    forest = ChowLiuForest(show_progress=False)
    result = {"rows": options.rows, "columns": options.columns, "parts": n_parts, "workers": options.workers}
    cluster_options = {"n_workers": options.workers, "threads_per_worker": 1, "dashboard_address": ":0"}
    with LocalCluster(**cluster_options) as cluster, Client(cluster) as client:
        frames = [dask.delayed(make_part)(k, n, options.columns) for k, n in enumerate(sizes)]
        meta = make_part(0, 2, options.columns).iloc[:0]
        meter = Meter(client)
        table = distribute(from_delayed(frames, meta=meta, verify_meta=False), client).persist()
        result["generate and code"] = meter.read()
        forest.fit(table)
        result["forest"] = meter.read()
        climb.fit(table)
        result["climb"] = meter.read() | {"moves": climb.n_iter_, "score": climb.score_}
        result["bytes by worker"] = table.bytes_by_worker()
        edges, score = climb.edges_, climb.score_
    with tempfile.TemporaryDirectory() as folder:
        frames = (make_part(k, n, options.columns) for k, n in enumerate(sizes))
        whole = write_table(frames, Path(folder) / "whole.pgmx")
        for name, learner in (("forest", forest), ("climb", climb)):
            wall, cpu = time.perf_counter(), time.process_time()
            learner.fit(whole)
            seconds = {"wall": round(time.perf_counter() - wall, 2), "cpu": round(time.process_time() - cpu, 2)}
            result[f"{name}, plane file"] = seconds
    result["same graph and score"] = bool(np.array_equal(climb.edges_, edges) and climb.score_ == score)
    coded = options.rows * options.columns
    result["bytes received / coded table"] = result["climb"]["bytes_received"] / coded
    print(json.dumps(result, indent=1))


if __name__ == "__main__":
    main()
