"""Compare the learners of Gaussian graphical models with their peers: same matrices, same penalties, one thread.

Run it from the checkout, with pgmx and the extra [bench] installed:

    python tests/benchmarks/gaussian.py --out gaussian.json

Every (method, problem) has a process of its own, ended when one call has used --limit CPU seconds. All answers are
judged by gaussian_objective.py. The file is written after every run, and a new call continues after the last record;
--again METHOD measures a method again. The tables go to standard output as Markdown.
"""

import argparse
import json
import os
import shlex
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import gaussian_data
import gaussian_report
from hill_climb import HERE, ONE_THREAD, installed_version, machine

#: method: the file of solvers/gaussian that has it
FILES = {
    **dict.fromkeys(["pgmx", "pgmx from rows", "pgmx auto", "pgmx homotopy", "pgmx admm"], "pgmx"),
    "pgmx auto, columns alone": "pgmx",
    "scikit-learn": "sklearn",
    "scikit-learn tight": "sklearn",
    "scikit-learn tuned": "sklearn",
    "gglasso": "gglasso",
    "skglm": "skglm",
    "HiGHS": "highs",
    **dict.fromkeys(["glassoFast -O2", "glassoFast native", "glassoFast native tight", "QUIC"], "native"),
}
#: Compiled from sources that the user points to: the method's first word, and the variable that names their folder.
SOURCES = {"glassoFast": "GLASSOFAST", "QUIC": "QUIC"}
NATIVE = [method for method, file in FILES.items() if file == "native"]
PGMX = ["pgmx", "pgmx from rows"]
PEERS = ["scikit-learn", "scikit-learn tuned", "gglasso", "skglm"]
ONE, PATH = [1.0], gaussian_data.descending(2.5, 0.75)
CLIME_ONE, CLIME_PATH = [1.5], gaussian_data.descending(4.0, 1.0)
DENSE = [1.5, 1.0, 0.7, 0.5, 0.35, 0.25]
DENSE_COLUMNS = 32
DENSE_GLASSO = [0.6]  # an edge for every tenth pair
LARGE = [2.4]  # six neighbours a variable
LONG, LONG_OF_THE_REST = 10.0, 3.0  # CPU seconds of a call above which it is made once
PRODUCTS = ["pgmx auto", "pgmx homotopy", "pgmx auto, columns alone"]  # timed, compared with matrix products


def cell(suite, task, problem, multiples, methods, columns=None):
    """Return one problem with the methods that are to solve it."""
    return {
        "suite": suite,
        "task": task,
        "problem": problem,
        "multiples": multiples,
        "methods": methods,
        "columns": columns,
    }


def grid(sizes, graphs=gaussian_data.GRAPHS):
    """Yield the problems of some sizes, with 200 rows and with twice as many rows as columns."""
    for p in sizes:
        for graph in graphs:
            for n in sorted({200, 2 * p}, reverse=True):
                yield graph, p, n


def goals():
    """Yield what the goals are about, which comes first."""
    middle, large = ("er", 500, 1000), ("er", 1000, 2000)
    yield cell("glasso", "glasso", middle, ONE, [*PGMX, *PEERS, *NATIVE])
    yield cell("glasso", "glasso", large, ONE, [*PGMX, *PEERS, *NATIVE])
    for problem in (middle, large):
        yield cell("glasso dense", "glasso", problem, DENSE_GLASSO, ["pgmx", *NATIVE])
    yield cell(
        "glasso large", "glasso", ("sequence", 5000, 5000), LARGE, ["pgmx", "glassoFast -O2", "glassoFast native"]
    )
    every = ["pgmx auto", "pgmx auto, columns alone", "pgmx homotopy"]
    yield cell("clime path", "clime", large, CLIME_PATH, every)
    yield cell("clime", "clime", ("er", 100, 200), CLIME_ONE, [*every, "pgmx admm", "HiGHS"])
    yield cell("clime path", "clime", ("er", 100, 200), CLIME_PATH, [*every, "pgmx admm", "HiGHS"])
    for multiple in DENSE:
        methods = ["pgmx homotopy", "pgmx admm", "pgmx auto"]
        yield cell("dense", "clime", middle, [multiple], methods, DENSE_COLUMNS)


def the_rest():
    """Yield all other problems."""
    for problem in grid([100, 500]):
        yield cell("glasso", "glasso", problem, ONE, [*PGMX, *PEERS])
    for problem in grid([1000, 2000]):
        yield cell("glasso", "glasso", problem, ONE, PGMX)
    yield cell("glasso", "glasso", ("er", 1000, 200), ONE, ["gglasso", "skglm"])
    yield cell("glasso", "glasso", ("er", 2000, 4000), ONE, ["gglasso", "skglm"])
    for problem in [("er", 100, 200), ("er", 500, 1000)]:
        yield cell("glasso path", "glasso", problem, PATH, ["pgmx", *PEERS])
    yield cell("glasso path", "glasso", ("er", 1000, 2000), PATH, ["pgmx", "gglasso"])
    for problem in grid([500, 1000, 2000]):
        yield cell("glasso path", "glasso", problem, PATH, ["pgmx"])
    for problem in grid([100]):
        yield cell(
            "clime", "clime", problem, CLIME_ONE, ["pgmx auto", "pgmx auto, columns alone", "pgmx admm", "HiGHS"]
        )
    for problem in grid([500], ["er"]):
        yield cell("clime", "clime", problem, CLIME_ONE, ["pgmx auto", "pgmx homotopy", "pgmx admm"])
        yield cell("clime, 10 columns", "clime", problem, CLIME_ONE, ["pgmx auto", "HiGHS"], 10)
    for problem in grid([500, 1000, 2000]):
        yield cell("clime", "clime", problem, CLIME_ONE, ["pgmx auto"])
        yield cell("clime path", "clime", problem, CLIME_PATH, ["pgmx auto"])
    yield cell("clime path", "clime", ("er", 500, 1000), CLIME_PATH, ["pgmx homotopy", "pgmx admm"])
    methods = ["pgmx", "scikit-learn", "scikit-learn tight"]
    for problem in [("er", 100, 200), *grid([500]), ("er", 1000, 2000)]:
        yield cell("neighborhood", "neighborhood", problem, ONE, methods)
    for problem in [("er", 100, 200), ("er", 500, 1000)]:
        yield cell("neighborhood path", "neighborhood", problem, PATH, methods)
    yield cell("neighborhood path", "neighborhood", ("er", 1000, 2000), PATH, ["pgmx"])
    yield cell("neighborhood", "neighborhood", ("er", 2000, 4000), ONE, ["pgmx"])


def run_worker(path, setting, method, simd=None):
    """Measure one method on one problem; return the record of what its process wrote before it ended."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "lines.jsonl"
        words = [path, json.dumps(setting), FILES[method], method, out]
        environment = {**os.environ, **ONE_THREAD, **({"PGMX_SIMD": simd} if simd else {})}
        try:
            done = subprocess.run(
                [sys.executable, HERE / "gaussian_worker.py", *words],
                env=environment,
                stdout=subprocess.DEVNULL,  # some tools talk
                stderr=subprocess.PIPE,
                text=True,
                timeout=12 * setting["limit"] + 600,
                check=False,
            )
            code, errors = done.returncode, done.stderr
        except subprocess.TimeoutExpired:
            code, errors = -signal.SIGXCPU, ""
        record = {}
        for line in out.read_text().splitlines() if out.exists() else ():
            record.update(json.loads(line))
    if code == -signal.SIGXCPU and "seconds" not in record:
        return {**record, "status": "limit"}
    if code:
        return {**record, "status": "failed", "error": errors[-2000:]}
    return {**record, "status": "done"}


def parse(argv):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--suites", nargs="+", help="only these")
    parser.add_argument("--methods", nargs="+", choices=list(FILES), help="only these")
    parser.add_argument("--problems", nargs="+", metavar="GRAPH-P-N", help="only these, as er-500-1000")
    parser.add_argument("--goals", action="store_true", help="only what the goals are about")
    parser.add_argument("--again", nargs="+", default=[], metavar="METHOD", help="measure these anew")
    parser.add_argument("--repeat", type=int, default=3, help="measurements of which the median counts; default 3")
    parser.add_argument("--limit", type=float, default=100, help="CPU seconds of a call; default 100")
    parser.add_argument("--simd", choices=["avx512", "avx2", "popcnt", "plain"], help="PGMX_SIMD; default: the best")
    parser.add_argument("--out", type=Path, default=Path("gaussian.json"))
    parser.add_argument("--glassofast", type=Path, metavar="DIR", help="folder of glassofast.f90; gfortran is needed")
    parser.add_argument("--quic", type=Path, metavar="DIR", help="folder of QUIC.C and QUIC.h")
    parser.add_argument("--report", type=Path, help="only print the tables of this file")
    parser.add_argument("--data", type=Path, default=HERE.parents[1] / "build" / "benchmarks", help="sampled rows")
    return parser.parse_args(argv)


def opened(args, argv):
    """Return the results so far, without the records that are to be made again."""
    results = {"records": [], "commands": []}
    if args.out.exists():
        results = json.loads(args.out.read_text())
    results["records"] = [
        r
        for r in results["records"]
        if not (r["method"] in args.again and (not args.suites or r["suite"] in args.suites))
    ]
    private = {str(args.out), str(args.glassofast), str(args.quic)}
    told = [Path(word).name if word in private else word for word in argv]
    results["commands"].append(shlex.join(["python", "tests/benchmarks/gaussian.py", *told]))
    results["machine"] = machine()
    packages = ("pgmx", "numpy", "scipy", "scikit-learn", "gglasso", "skglm", "numba")
    results["versions"] = {name: installed_version(name) for name in packages}
    if results["versions"]["pgmx"] == "not installed":
        results["versions"]["pgmx"] = "from the checkout"
    return results


def save(results, path):
    """Write the results, a record a line."""
    head = json.dumps({key: value for key, value in results.items() if key != "records"}, indent=1)
    lines = ",\n".join(json.dumps(record) for record in results["records"])
    path.write_text(f'{head[:-2]},\n "records": [\n{lines}\n]}}\n')


def wanted(args):
    """Yield what is asked for, one (cell, name of the problem, method) after the other."""
    first = [{**one, "long": LONG} for one in goals()]
    rest = [] if args.goals else [{**one, "long": LONG_OF_THE_REST} for one in the_rest()]
    for one in [*first, *rest]:
        name = "-".join(map(str, one["problem"]))
        if (args.suites and one["suite"] not in args.suites) or (args.problems and name not in args.problems):
            continue
        for method in one["methods"]:
            source = SOURCES.get(method.split()[0])
            if source in SOURCES.values() and source not in os.environ:
                continue  # nobody has pointed to its sources
            if not args.methods or method in args.methods:
                yield one, name, method


def identity(record):
    """Return what makes two records measurements of the same thing."""
    return record["suite"], record["problem"], tuple(record["multiples"]), record["columns"], record["method"]


def main(argv=None):
    argv = sys.argv[1:] if argv is None else argv
    args = parse(argv)
    if args.report:
        print(gaussian_report.markdown(json.loads(args.report.read_text())))
        return
    for folder, name in ((args.glassofast, "GLASSOFAST"), (args.quic, "QUIC")):
        if folder:
            os.environ[name] = str(folder.resolve())
    results = opened(args, argv)
    here = {identity(record) for record in results["records"]}
    for one, name, method in wanted(args):
        setting = {key: one[key] for key in ("task", "multiples", "columns")}
        record = {"suite": one["suite"], "problem": name, "method": method, **setting}
        if identity(record) in here:
            continue
        path = gaussian_data.make(args.data, *one["problem"])
        setting |= {"repeat": args.repeat, "limit": args.limit, "long": one["long"], "products": method in PRODUCTS}
        record |= {**run_worker(path, setting, method, args.simd), "limit": args.limit}
        results["records"].append(record)
        here.add(identity(record))
        save(results, args.out)
        sys.stderr.write(gaussian_report.progress(record) + "\n")
    save(results, args.out)
    print(gaussian_report.markdown(results))


if __name__ == "__main__":
    main()
