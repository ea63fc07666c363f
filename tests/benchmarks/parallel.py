"""What a second job gives, and more of them on machines that have the cores.

    python tests/benchmarks/parallel.py --out parallel.json     # everything, 1 and 2 jobs (4, 8, 16 with cores)
    python tests/benchmarks/parallel.py --problems restarts-link --repeat 3
    python tests/benchmarks/parallel.py --report parallel.json         # only the table

Fits with one job and with more alternate over data that are coded already; the table has medians. On a busy machine
wall seconds say little. The CPU seconds of all threads then say what threads cost, those of the calling thread what it
does itself: the work that is not shared, and as much of the rest as any other. Its wall seconds without those in the
queue for a processor (Linux) hold its waits for the other threads, which queue too.

"Ceiling" is what the machine gives at all: two processes with one job each, at the same time, over one of them. Caches
and memory that cores share keep it below 2.
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import time
from contextlib import nullcontext
from pathlib import Path
from statistics import median

from forest import make_binary
from gaussian_data import sample
from hill_climb import machine

import data
from pgmx.data import encode
from pgmx.estimators import CLIME, BootstrapStructure, ChowLiuForest, GraphicalLasso, HillClimbSearch

FOLDER = Path(__file__).resolve().parents[2] / "build" / "benchmarks"
JOBS = (1, 2, 4, 8, 16)


def network_table(folder, network, n_rows):
    return encode(data.load(data.make(folder, network, n_rows), 0).frame())


def binary_table(folder, n):
    return encode(data.load(make_binary(folder, n, 10_000), 0).frame())


def search(**options):
    return HillClimbSearch(scoring_method="bic", show_progress=False, **options)


def bootstrap(n_resamples, n_jobs):
    return BootstrapStructure(search(), n_resamples=n_resamples, n_jobs=n_jobs, show_progress=False)


def gaussian(p, n):
    return sample("er", p, n).rows


#: For each problem the function that makes its data in a folder, and the one that fits them with n jobs.
PROBLEMS = {
    "restarts-andes": (lambda f: network_table(f, "andes", 10_000), lambda j: search(n_restarts=100, n_jobs=j)),
    "restarts-link": (lambda f: network_table(f, "link", 10_000), lambda j: search(n_restarts=400, n_jobs=j)),
    "restarts-link-8": (lambda f: network_table(f, "link", 10_000), lambda j: search(n_restarts=8, n_jobs=j)),
    "bootstrap-andes": (lambda f: network_table(f, "andes", 10_000), lambda j: bootstrap(200, j)),
    "bootstrap-alarm": (lambda f: network_table(f, "alarm", 100_000), lambda j: bootstrap(40, j)),
    "forest-4000": (lambda f: binary_table(f, 4000), lambda j: ChowLiuForest(show_progress=False, n_jobs=j)),
    "forest-8000": (lambda f: binary_table(f, 8000), lambda j: ChowLiuForest(show_progress=False, n_jobs=j)),
    "clime-1000": (lambda f: gaussian(1000, 2000), lambda j: CLIME(lam=0.03, show_progress=False, n_jobs=j)),
    "glasso-path": (lambda f: gaussian(500, 1000), lambda j: GraphicalLasso(show_progress=False, n_jobs=j)),
    "thorough-link": (
        lambda f: network_table(f, "link", 10_000),
        lambda j: search(strategy="thorough", n_jobs=j),
    ),
    **{
        f"best-{name}": (
            lambda f, name=name: network_table(f, name, 10_000),
            lambda j: search(strategy="best", n_jobs=j),
        )
        for name in ("alarm", "hailfinder", "hepar2", "win95pts", "munin1")
    },
    "climb-link": (lambda f: network_table(f, "link", 10_000), lambda j: search(n_jobs=j)),
    "climb-link-100k": (lambda f: network_table(f, "link", 100_000), lambda j: search(n_jobs=j)),
    "climb-andes-100k": (lambda f: network_table(f, "andes", 100_000), lambda j: search(n_jobs=j)),
    "climb-alarm-1m": (lambda f: network_table(f, "alarm", 1_000_000), lambda j: search(n_jobs=j)),
}


def queued_seconds():
    """Return how long this thread has waited for a processor; 0 where the system does not say."""
    try:
        return int(Path("/proc/thread-self/schedstat").read_text().split()[1]) / 1e9
    except OSError:
        return 0.0


def cpu_seconds():
    usage = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in usage)


def fit(name, make, rows, n_jobs):
    """Return wall seconds, CPU seconds, those of the calling thread, and wall seconds outside of the queue of a fit."""
    learner = make(n_jobs)
    wall, cpu, own, queued = time.perf_counter(), cpu_seconds(), time.thread_time(), queued_seconds()
    if name == "glasso-path":
        learner.path(rows)
    else:
        learner.fit(rows)
    wall = time.perf_counter() - wall
    return wall, cpu_seconds() - cpu, time.thread_time() - own, wall - (queued_seconds() - queued)


def measure(name, folder, jobs, repeat, has_ceiling):
    """Return the medians of the figures of `fit` by number of jobs, and the ceiling if it is wanted."""
    load, make = PROBLEMS[name]
    rows = load(folder)
    fit(name, make, rows, 1)
    runs, ceilings = [], []
    with Neighbour(name, folder) if has_ceiling else nullcontext() as neighbour:
        for _ in range(repeat):
            runs.append({j: fit(name, make, rows, j) for j in jobs})
            if neighbour is not None:
                began = time.perf_counter()
                neighbour.begin()
                fit(name, make, rows, 1)
                neighbour.wait()
                ceilings.append(2 * runs[-1][1][0] / (time.perf_counter() - began))
    medians = {j: [median(run[j][k] for run in runs) for k in range(4)] for j in jobs}
    return medians | ({"ceiling": median(ceilings)} if has_ceiling else {})


class Neighbour:
    """Another process, which fits the same problem with one job on request."""

    def __init__(self, name, folder):
        command = [sys.executable, __file__, "--problems", name, "--data", str(folder), "--neighbour"]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def __enter__(self):
        self.wait()
        return self

    def __exit__(self, *exception):
        self._process.communicate()

    def begin(self):
        self._process.stdin.write("fit\n")
        self._process.stdin.flush()

    def wait(self):
        if not self._process.stdout.readline():
            raise RuntimeError("the second process has ended")


def serve(name, folder):
    """Be the neighbour: a line for each fit, the first one included."""
    load, make = PROBLEMS[name]
    rows = load(folder)
    fit(name, make, rows, 1)
    print("ready", flush=True)
    for _ in sys.stdin:
        fit(name, make, rows, 1)
        print("done", flush=True)


def report(results):
    lines = [
        "| problem | jobs | wall s | gain | ceiling | CPU s | of the caller | unqueued s |",
        "|---|--:|--:|--:|--:|--:|--:|--:|",
    ]
    for name, found in results["problems"].items():
        one = found["1"]
        for jobs, figures in found.items():
            if jobs == "ceiling":
                continue
            wall, cpu, own, unqueued = figures
            ceiling = f"{found['ceiling']:.2f}" if jobs == "2" and "ceiling" in found else ""
            figures = f"{wall:.2f} | {one[0] / wall:.2f} | {ceiling} | {cpu:.2f} | {own:.2f} | {unqueued:.2f}"
            lines.append(f"| {name} | {jobs} | {figures} |")
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--problems", nargs="+", default=list(PROBLEMS), choices=list(PROBLEMS))
    parser.add_argument("--repeat", type=int, default=9)
    parser.add_argument("--jobs", nargs="+", type=int)
    parser.add_argument("--ceiling", action=argparse.BooleanOptionalAction, default=True)
    parser.add_argument("--data", type=Path, default=FOLDER)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--report", type=Path)
    parser.add_argument("--neighbour", action="store_true", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.neighbour:
        serve(args.problems[0], args.data)
        return
    if args.report:
        print(report(json.loads(args.report.read_text())))
        return
    jobs = args.jobs or [j for j in JOBS if j <= max(2, len(os.sched_getaffinity(0)))]
    results = {"machine": machine(), "load": os.getloadavg()[0], "problems": {}}
    for name in args.problems:
        found = measure(name, args.data, [1, *(j for j in jobs if j > 1)], args.repeat, args.ceiling)
        results["problems"][name] = {str(j): figures for j, figures in found.items()}
        if args.out:
            args.out.write_text(json.dumps(results, indent=1) + "\n")
        print(report({"problems": {name: results["problems"][name]}}), flush=True)


if __name__ == "__main__":
    main()
