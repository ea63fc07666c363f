"""A climb on a table whose partitions are generated at the workers of a dask cluster, compared with a file.

python tests/benchmarks/distributed_table.py --rows 2000000 --json /tmp/distributed.json
python tests/benchmarks/distributed_table.py --rows 2000000 --delay 10          # each message waits for 10 ms
python tests/benchmarks/distributed_table.py --rows 2000000 --source plane-file --json /tmp/distributed.json

Scheduler and workers are processes of their own. Writes one JSON object per run, under its name: CPU and wall
seconds of each stage, CPU seconds of the driver, the scheduler and the workers and, of the latter, those inside the
counting function; rounds of messages; bytes that the driver sent and received; memory of the workers minus their share
of codes and planes. With both sources, graphs and scores are compared.
"""

import argparse
import json
import sys
import tempfile
import time
from hashlib import sha256
from pathlib import Path

import numpy as np
import pandas as pd

from pgmx.data import distribute, write_table
from pgmx.data.distributed.remote_partitions import RemotePartitions
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


# ---- what is measured in the processes of the cluster ----


def begin_counting() -> None:
    """Have this worker add up the CPU seconds that it spends inside requests: one thread per worker."""
    from pgmx.data.distributed import remote_partitions

    answer = remote_partitions.answer_request
    remote_partitions.seconds = 0.0

    def answer_and_measure(*args, **options):
        began = time.thread_time()
        try:
            return answer(*args, **options)
        finally:
            remote_partitions.seconds += time.thread_time() - began

    remote_partitions.answer_request = answer_and_measure


def read_worker() -> dict:
    """Return the CPU seconds of this worker, those inside requests, and its resident bytes now and at most."""
    from pgmx.data.distributed import remote_partitions

    status = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
    sizes = {name: 1024 * int(status[field].split()[0]) for name, field in (("rss", "VmRSS"), ("peak", "VmHWM"))}
    return {"cpu": time.process_time(), "counting": remote_partitions.seconds, **sizes}


def delay_messages(seconds: float) -> None:
    """Have every message that this process sends from now on wait before it goes: a slow network."""
    import asyncio

    from distributed.comm.tcp import TCP

    write = TCP.write

    async def write_late(self, *args, **options):
        await asyncio.sleep(seconds)
        return await write(self, *args, **options)

    TCP.write = write_late


class Meter:
    """Seconds, rounds, bytes and memory since the last reading."""

    def __init__(self, client):
        from distributed.comm import tcp

        self.client = client
        self.sent = self.received = self.n_rounds = 0
        write, read, reduce = tcp.TCP.write, tcp.read_bytes_rw, RemotePartitions.reduce

        async def count_written(comm, *args, **options):
            n_bytes = await write(comm, *args, **options)
            self.sent += n_bytes
            return n_bytes

        async def count_read(stream, n_bytes):
            self.received += n_bytes
            return await read(stream, n_bytes)

        def count_rounds(parts, *args, **options):
            self.n_rounds += 1
            return reduce(parts, *args, **options)

        tcp.TCP.write, tcp.read_bytes_rw, RemotePartitions.reduce = count_written, count_read, count_rounds
        client.run(begin_counting)
        self.begin()

    def begin(self) -> None:
        """Start again."""
        self._workers = self.client.run(read_worker).values()
        self._scheduler = self.client.run_on_scheduler(time.process_time)
        self.sent = self.received = self.n_rounds = 0
        self._wall, self._driver = time.perf_counter(), time.process_time()

    def read(self) -> dict:
        """Return what was measured since the last time."""
        wall, driver = time.perf_counter() - self._wall, time.process_time() - self._driver
        sent, received, n_rounds = self.sent, self.received, self.n_rounds
        workers, then = self.client.run(read_worker).values(), self._workers
        cpu, counting = (sum(w[name] for w in workers) - sum(w[name] for w in then) for name in ("cpu", "counting"))
        reading = {
            "wall": round(wall, 2),
            "cpu of workers": round(cpu, 2),
            "cpu of workers in requests": round(counting, 2),
            "cpu of the driver": round(driver, 2),
            "cpu of the scheduler": round(self.client.run_on_scheduler(time.process_time) - self._scheduler, 2),
            "rounds": n_rounds,
            "bytes sent": sent,
            "bytes received": received,
            "rss of workers, MB": [round(w["rss"] / 1e6) for w in workers],
            "peak of workers, MB": [round(w["peak"] / 1e6) for w in workers],
        }
        self.begin()
        return reading


# ---- runs ----


def learn_from_parts(options: argparse.Namespace) -> dict:
    """Learn from a table at the workers of a cluster."""
    import dask
    from dask.dataframe import from_delayed
    from distributed import Client
    from distributed.deploy.subprocess import SubprocessCluster

    sizes = part_sizes(options.rows)
    meta = make_part(0, 2, options.columns).iloc[:0]
    workers = {"nthreads": 1, "memory_limit": 0}
    with (
        SubprocessCluster(n_workers=options.workers, dashboard_address=None, worker_kwargs=workers) as cluster,
        Client(cluster) as client,
    ):
        client.wait_for_workers(options.workers)
        meter = Meter(client)
        bare = [round(worker["rss"] / 1e6) for worker in client.run(read_worker).values()]
        result = {"rss of workers at first, MB": bare}
        frames = [dask.delayed(make_part)(k, n, options.columns) for k, n in enumerate(sizes)]
        table = distribute(from_delayed(frames, meta=meta, verify_meta=False), client).persist()
        result["generate and code"] = meter.read()
        result["rows coded a second"] = round(options.rows / result["generate and code"]["wall"])
        if options.delay:
            for run in (client.run, client.run_on_scheduler):
                run(delay_messages, options.delay / 1e3)
            delay_messages(options.delay / 1e3)
        for name, learner in make_learners().items():
            learner.fit(table)
            result[name] = meter.read() | {"score": learner.score_, "edges": len(learner.edges_)}
            print(name, json.dumps(result[name]), file=sys.stderr, flush=True)
        result["climb"] |= {"moves": learner.n_iter_, "graph": name_graph(learner)}
        result["share of each worker, MB"] = [round(n / 1e6) for n in table.bytes_by_worker().values()]
        table.release()
    climb = result["climb"]
    n_bytes = climb["bytes sent"] + climb["bytes received"]
    others = sum(climb[f"cpu of {name}"] for name in ("workers", "the driver", "the scheduler"))
    result["bytes both ways / coded table"] = n_bytes / (options.rows * options.columns)
    result["cpu of all processes / cpu in requests - 1"] = others / climb["cpu of workers in requests"] - 1
    return result


def learn_from_file(options: argparse.Namespace) -> dict:
    """Learn from the same rows in a plane file, in this process."""
    result = {}
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        frames = (make_part(k, n, options.columns) for k, n in enumerate(part_sizes(options.rows)))
        whole = write_table(frames, Path(folder) / "whole.pgmx")
        for name, learner in make_learners().items():
            wall, cpu = time.perf_counter(), time.process_time()
            learner.fit(whole)
            seconds = {"wall": round(time.perf_counter() - wall, 2), "cpu": round(time.process_time() - cpu, 2)}
            result[name] = seconds | {"score": learner.score_, "graph": name_graph(learner)}
    return result


def make_learners() -> dict:
    """Return the learners by name."""
    return {
        "forest": ChowLiuForest(show_progress=False),
        "climb": HillClimbSearch(scoring_method="bic", max_indegree=3, show_progress=False),
    }


def name_graph(learner) -> str:
    """Return a digest of the edges."""
    return sha256(learner.edges_.astype(np.int64).tobytes()).hexdigest()[:16]


def part_sizes(n_rows: int) -> list[int]:
    """Return the rows of each partition."""
    return [min(PART_ROWS, n_rows - first) for first in range(0, n_rows, PART_ROWS)]


def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, default=2_000_000)
    parser.add_argument("--columns", type=int, default=100)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--source", choices=["parts", "plane-file", "both"], default="parts")
    parser.add_argument("--delay", type=float, default=0.0, help="milliseconds that each message of a climb waits")
    parser.add_argument("--folder", help="where the plane file goes, 1.5 bytes a cell; default: the system's")
    parser.add_argument("--json", type=Path, help="file to which the run is added")
    options = parser.parse_args()
    name = f"{options.rows} x {options.columns}, {options.workers} workers"
    runs = json.loads(options.json.read_text()) if options.json and options.json.exists() else {}
    result = runs.setdefault(name, {})
    if options.source != "plane-file":
        result[f"parts, {options.delay:g} ms of delay" if options.delay else "parts"] = learn_from_parts(options)
    if options.source != "parts":
        result["plane file"] = learn_from_file(options)
    if "parts" in result and "plane file" in result:
        pair = result["parts"]["climb"], result["plane file"]["climb"]
        result["same graph and score"] = all(pair[0][key] == pair[1][key] for key in ("score", "graph"))
    text = json.dumps(runs, indent=1)
    print(text)
    if options.json:
        options.json.write_text(text + "\n")


if __name__ == "__main__":
    main()
