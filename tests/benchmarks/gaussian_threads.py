"""Measure what a second thread gains: CLIME's path, the neighbourhood lasso's path, Kendall's tau.

Run it from the checkout, with pgmx installed, on an idle machine:

    python tests/benchmarks/gaussian_threads.py --out gaussian_threads.json

Wall seconds of one and two threads in turns, in one process whose BLAS has one thread; the medians are compared. The
load is read before each measurement: where others use the cores the gain is less than the program's. The answers of
one and two threads must be equal to the last bit.
"""

import argparse
import json
import os
import shlex
import sys
from pathlib import Path
from statistics import median
from time import perf_counter, process_time

import gaussian_data
import numpy as np
from hill_climb import HERE, ONE_THREAD, installed_version, machine
from markov_report import table

THREADS = (1, 2)


def tasks(problem):
    """Return {name: call with a number of threads}; calls return arrays."""
    from pgmx.estimators import CLIME, GraphicalLasso, NeighborhoodLasso
    from pgmx.statistics import kendall_tau_matrix

    known = {"covariance": "precomputed", "show_progress": False}
    S, unit = problem.covariance, problem.unit

    def path(learner, first, last):
        lams = np.array(gaussian_data.descending(first, last)) * unit
        return lambda n_jobs: ends(learner.set_params(n_jobs=n_jobs).path(S, lams=lams))

    few = np.ascontiguousarray(problem.rows[:1000, :1000])
    return {
        f"CLIME, path of 10, {problem.name}": path(CLIME(ridge=problem.ridge, **known), 4.0, 1.0),
        f"CLIME, path of 10 to 0.7, {problem.name}": path(CLIME(ridge=problem.ridge, **known), 4.0, 0.7),
        f"neighbourhood lasso, path of 10, {problem.name}": path(NeighborhoodLasso(**known), 2.5, 0.75),
        f"control: graphical lasso of one component, which has no second thread, {problem.name}": path(
            GraphicalLasso(**known), 2.5, 0.75
        ),
        f"Kendall's tau, {few.shape[0]:,} rows, {few.shape[1]:,} columns, {problem.name}": lambda n_jobs: (
            kendall_tau_matrix(few, n_jobs=n_jobs)
        ),
    }


def ends(path):
    """Return the last estimate of a path."""
    found = path.estimates[-1]
    return (found.precision if found.raw is None else found.raw).toarray()


def measure(call, repeat):
    """Return the figures of one task."""
    answers = {n: call(n) for n in THREADS}  # warm
    if not np.array_equal(answers[1], answers[2]):
        raise AssertionError("one and two threads do not agree")
    wall, cpu, loads = {n: [] for n in THREADS}, {n: [] for n in THREADS}, []
    for _ in range(repeat):
        loads.append(round(os.getloadavg()[0], 2))
        for n in THREADS:
            begin, used = perf_counter(), process_time()
            call(n)
            wall[n].append(perf_counter() - begin)
            cpu[n].append(process_time() - used)
    return {
        "wall": {str(n): median(wall[n]) for n in THREADS},
        "cpu": {str(n): median(cpu[n]) for n in THREADS},
        "gain": median(wall[1]) / median(wall[2]),
        "gains": [one / two for one, two in zip(wall[1], wall[2], strict=True)],
        "loads": loads,
    }


def markdown(results):
    """Return the table."""
    header = [
        "task",
        "1 thread, wall s",
        "2 threads, wall s",
        "gain",
        "best and worst pair",
        "CPU s of 1",
        "of 2",
        "load",
    ]
    rows = []
    for r in results["records"]:
        row = [r["task"], f"{r['wall']['1']:.3g}", f"{r['wall']['2']:.3g}", f"{r['gain']:.2f}x"]
        row += [f"{max(r['gains']):.2f}x, {min(r['gains']):.2f}x", f"{r['cpu']['1']:.3g}", f"{r['cpu']['2']:.3g}"]
        rows.append([*row, f"{min(r['loads']):.1f} to {max(r['loads']):.1f}"])
    where = results["machine"]
    lines = [
        f"Processor: {where['processor']}, {where['cores']} cores; medians of {results['repeat']} pairs.",
        f"Made by `{results['command']}`.",
    ]
    return table(header, rows) + "\n\n" + "\n".join(f"- {line}" for line in lines)


def parse(argv):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--problems", nargs="+", default=["er-1000-2000", "er-2000-4000"], metavar="GRAPH-P-N")
    parser.add_argument("--repeat", type=int, default=7)
    parser.add_argument("--out", type=Path, default=Path("gaussian_threads.json"))
    parser.add_argument("--report", type=Path, help="only print the table of this file")
    parser.add_argument("--data", type=Path, default=HERE.parents[1] / "build" / "benchmarks", help="sampled rows")
    return parser.parse_args(argv)


def main(argv=None):
    argv = sys.argv[1:] if argv is None else argv
    args = parse(argv)
    if args.report:
        print(markdown(json.loads(args.report.read_text())))
        return
    if any(os.environ.get(name) != count for name, count in ONE_THREAD.items()):
        os.execve(
            sys.executable, [sys.executable, __file__, *argv], {**os.environ, **ONE_THREAD}
        )  # before numpy's BLAS
    told = [Path(word).name if word == str(args.out) else word for word in argv]
    results = {
        "command": shlex.join(["python", "tests/benchmarks/gaussian_threads.py", *told]),
        "machine": machine(),
        "versions": {name: installed_version(name) for name in ("pgmx", "numpy", "scipy", "joblib")},
        "repeat": args.repeat,
        "records": [],
    }
    for chosen in args.problems:
        graph, p, n = chosen.split("-")
        problem = gaussian_data.load(gaussian_data.make(args.data, graph, int(p), int(n)))
        for name, call in tasks(problem).items():
            results["records"].append({"task": name, **measure(call, args.repeat)})
            args.out.write_text(json.dumps(results, indent=1))
    print(markdown(results))


if __name__ == "__main__":
    main()
