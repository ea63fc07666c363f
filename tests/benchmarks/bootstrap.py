"""Time of a resample compared with a learning call, and the speed-up of a second thread.

    python tests/benchmarks/bootstrap.py --out tests/benchmarks/results/bootstrap.json

Both calls start from the same coded table (BIC, greedy, PDAG); their costs are CPU seconds of the calling thread, the
medians of alternating calls. The speed-up of two threads is listed twice, each the best of --repeat: from wall-clock
seconds of whole fits, which mean something on an idle machine alone, and from what the system accounts to the threads
(Linux): time on a processor and time blocked, as for Python's lock, without the time in the queue for a processor that
others use. On a busy machine the second is a lower bound, for a thread may hold the lock while it is in the queue.
"""

import argparse
import json
import os
import threading
import time
from pathlib import Path
from statistics import median

from hill_climb import machine
from joblib import parallel_config

import data
from pgmx.data import encode
from pgmx.estimators import BootstrapStructure, HillClimbSearch
from pgmx.estimators.resampler import Resampler

CALLS = {"alarm": 100, "andes": 20, "link": 5}
RESAMPLES = {"alarm": 500, "andes": 60, "link": 10}
LEARNER = HillClimbSearch(scoring_method="bic", show_progress=False)


def cpu_seconds(call, *arguments):
    start = time.thread_time()
    call(*arguments)
    return time.thread_time() - start


def costs(table, n_calls):
    """Return the CPU seconds of a learning call and of a resample."""
    resampler = Resampler.from_learner(LEARNER, table.n_rows, None, 0)
    LEARNER.fit(table)
    pairs = [(cpu_seconds(LEARNER.fit, table), cpu_seconds(resampler, table, b)) for b in range(n_calls)]
    return [median(column) for column in zip(*pairs, strict=True)]


def wall_seconds(table, n_resamples, n_jobs, backend):
    """Return wall-clock seconds of a fit."""
    boot = BootstrapStructure(LEARNER, n_resamples=n_resamples, n_jobs=n_jobs, show_progress=False)
    start = time.perf_counter()
    with parallel_config(backend):
        boot.fit(table)
    return time.perf_counter() - start


def unqueued_seconds(table, n_resamples, n_threads):
    """Return the longest time that one of the threads was on a processor or blocked."""
    resampler, barrier, found = Resampler.from_learner(LEARNER, table.n_rows, None, 0), threading.Barrier(n_threads), []

    def queued():
        return int(Path(f"/proc/self/task/{threading.get_native_id()}/schedstat").read_text().split()[1]) / 1e9

    def work(first):
        barrier.wait()
        start, waited = time.perf_counter(), queued()
        for b in range(first, n_resamples, n_threads):
            resampler(table, b)
        found.append(time.perf_counter() - start - (queued() - waited))

    threads = [threading.Thread(target=work, args=(first,)) for first in range(n_threads)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return max(found)


def gains(table, n_resamples, repeat):
    """Return wall-clock and accounted seconds of one worker and of two, and what two gain."""
    kinds = {"one": (1, "threading"), "two threads": (2, "threading"), "two processes": (2, "loky")}
    wall_seconds(table, 4, 2, "loky")  # starts the processes
    walls, unqueued = [], []
    for _ in range(repeat):
        walls.append({kind: wall_seconds(table, n_resamples, *how) for kind, how in kinds.items()})
        unqueued.append([unqueued_seconds(table, n_resamples, n_threads) for n_threads in (1, 2)])
    wall = {kind: min(found[kind] for found in walls) for kind in kinds}
    one, two = (min(column) for column in zip(*unqueued, strict=True))
    return {
        "wall_seconds": wall,
        "wall_gain": {kind: wall["one"] / seconds for kind, seconds in wall.items()},
        "unqueued_seconds": {"one": one, "two threads": two},
        "unqueued_gain": one / two,
        "load": os.getloadavg()[0],
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--networks", nargs="+", default=list(CALLS), choices=list(CALLS))
    parser.add_argument("--rows", type=int, default=10_000)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--data", type=Path, default=Path(__file__).resolve().parents[2] / "build" / "benchmarks")
    parser.add_argument("--out", type=Path)
    args = parser.parse_args()
    results = {"machine": machine(), "rows": args.rows, "problems": {}}
    for network in args.networks:
        table = encode(data.load(data.make(args.data, network, args.rows), 0).frame())
        learn, resample = costs(table, CALLS[network])
        found = {"learn": learn, "resample": resample, "ratio": resample / learn, "n_resamples": RESAMPLES[network]}
        found |= gains(table, RESAMPLES[network], args.repeat)
        results["problems"][network] = found
        if args.out:
            args.out.write_text(json.dumps(results, indent=1) + "\n")
    print(json.dumps(results, indent=1))


if __name__ == "__main__":
    main()
