"""What a round of messages costs that counts nothing: workers times threads, all of them in this process.

python tests/benchmarks/distributed_requests.py --workers 2 8 32 128 --threads 1 --bytes 0

Prints a line for each number of workers: milliseconds of CPU and of the clock per round, medians. As everything runs in
one process, the CPU time is that of the driver, the scheduler and the workers together.
"""

import argparse
import time
from statistics import median

import numpy as np

from pgmx.data import distribute


def answer(part, n_bytes: int) -> np.ndarray:
    """Return this number of bytes."""
    return np.zeros(n_bytes, dtype=np.uint8)


def add(parts: list[np.ndarray]) -> np.ndarray:
    """Add two answers."""
    return parts[0] + parts[1]


def main() -> None:
    """Run the benchmark."""
    from distributed import Client, LocalCluster

    parser = argparse.ArgumentParser()
    parser.add_argument("--workers", type=int, nargs="+", default=[2, 8, 32])
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--bytes", type=int, default=0, help="of each answer")
    parser.add_argument("--rounds", type=int, default=20)
    options = parser.parse_args()
    for n_workers in options.workers:
        cluster_options = {"n_workers": n_workers, "threads_per_worker": options.threads, "processes": False}
        with LocalCluster(**cluster_options, dashboard_address=None) as cluster, Client(cluster) as client:
            rows = np.zeros((64 * n_workers * options.threads, 2), dtype=np.uint8)
            table = distribute(rows, client)
            readings = []
            for _ in range(options.rounds + 3):
                cpu, wall = time.process_time(), time.perf_counter()
                table.reduce(answer, options.bytes, add=add)
                readings.append((time.process_time() - cpu, time.perf_counter() - wall))
            cpu, wall = (1e3 * median(reading[k] for reading in readings[3:]) for k in (0, 1))
            print(f"{n_workers} workers of {options.threads}: {cpu:.1f} ms of CPU, {wall:.1f} ms", flush=True)


if __name__ == "__main__":
    main()
