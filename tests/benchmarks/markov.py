"""Measure the learners of discrete Markov networks: to the optimum, under a limit of edges, at scale, on real tables.

Run it from the checkout, with pgmx installed:

    python tests/benchmarks/markov.py --out markov.json --real FOLDER

The file is written after every run, and a new call continues after the last record; --again METHOD measures a method
again. The learners of one problem run in turn in one process. Objectives and fits to held-out rows are worked out by
markov_objective.py from the parameters alone.
"""

import argparse
import json
import os
import shlex
import subprocess
import sys
from pathlib import Path

import markov_data
import markov_objective
import markov_report
import markov_solvers
from hill_climb import HERE, ONE_THREAD, installed_version, machine

TO_OPTIMUM = {"loss": "pseudolikelihood", "lam": 0.01, "l2": 0.005, "tol": 1e-4, "runs": 3}
LIMITED = {"edges_per_variable": 3, "tol": 1e-4, "runs": 3, "lam": 0.002}

#: name: (problems, setting, methods)
SUITES = {
    "optimum": ("sizes", {**TO_OPTIMUM, "certified": True}, markov_solvers.EDGE_WISE),
    "features": ([200], {**TO_OPTIMUM, "runs": 1, "single": True}, markov_solvers.FEATURE_WISE),
    "limit-bethe": ("sizes", {**LIMITED, "loss": "bethe", "l2": 1.0}, markov_solvers.LIMITED),
    "limit-bethe-mild": ("sizes", {**LIMITED, "loss": "bethe", "l2": 0.1}, markov_solvers.LIMITED),
    "limit-pseudolikelihood": ("sizes", {**LIMITED, "loss": "pseudolikelihood", "l2": 0.1}, markov_solvers.LIMITED),
    "scale": (
        "scale",
        {"edges_per_variable": 3, "tol": 1e-4, "runs": 1, "loss": "pseudolikelihood", "lam": 0.01, "l2": 0.005},
        ("best-choice-0",),
    ),
    "real": (
        "real",
        {"loss": "pseudolikelihood", "l2": 1e-4, "tol": 1e-4, "runs": 3},
        (*markov_solvers.BASELINES, *markov_solvers.EDGE_WISE),
    ),
}

#: Penalties on the real tables; held-out rows would choose these or smaller ones out of 0.004, 0.002, 0.001, 0.0005.
REAL_LAM = {"jester": 0.002, "yummly": 0.0005, "plants": 0.0005}


def problems_of(suite, args):
    """Yield (path, additions to the setting) for the problems of a suite."""
    which = SUITES[suite][0]
    if which == "scale":
        n, states, rows = markov_data.SCALE
        n = args.scale or n
        path = markov_data.make_synthetic(
            args.data, n, states, rows + 500, 500, burn_in=500, thinning=10, n_chains=25, n_jobs=2
        )
        yield path, {}
    elif which == "real":
        for name in args.tables if args.real else ():
            yield markov_data.make_real(args.data, name, args.real), {"lam": REAL_LAM[name]}
    else:
        for n in args.sizes:
            if which == "sizes" or n in which:
                yield markov_data.make_synthetic(args.data, n), {}


def problem_facts(problem):
    """Return what is known of a problem without learning."""
    facts = dict(problem.facts)
    alone = markov_solvers.independent(problem, 0.0)
    facts["independent_npll"] = markov_objective.negative_pseudolikelihood(
        alone.fields(problem.held_out), problem.held_out
    )
    if problem.truth is not None:
        facts["true_edges"] = len(problem.true_edges)
        facts["true_npll"] = markov_objective.negative_pseudolikelihood(
            problem.truth.fields(problem.held_out), problem.held_out
        )
    return facts


def measure(path, setting, methods, args):
    """Yield the records of a worker as they come."""
    environment = {**os.environ, **ONE_THREAD}
    if args.simd:
        environment["PGMX_SIMD"] = args.simd
    command = [sys.executable, str(HERE / "markov_worker.py"), str(path), json.dumps(setting), *methods]
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) as worker:
        for line in worker.stdout:
            yield json.loads(line)
    if worker.returncode:
        raise RuntimeError(f"the worker ended with code {worker.returncode}: {command}")


def parse(argv):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--suites", nargs="+", default=list(SUITES), choices=list(SUITES))
    parser.add_argument("--sizes", nargs="+", type=int, default=[200, 400, 600], help="variables of the sampled tables")
    parser.add_argument("--scale", type=int, help="variables of the suite scale; default 20000")
    parser.add_argument("--real", type=Path, help="folder of the real tables; without it they are left out")
    parser.add_argument("--tables", nargs="+", default=list(markov_data.REAL), choices=list(markov_data.REAL))
    parser.add_argument("--methods", nargs="+", help="only these")
    parser.add_argument("--again", nargs="+", default=[], metavar="METHOD", help="measure these anew; all: everything")
    parser.add_argument("--runs", type=int, help="runs of each learner, other draws each; default 3, long ones once")
    parser.add_argument("--max-time", type=float, default=300, help="wall seconds of a run; default 300")
    parser.add_argument("--simd", choices=["avx512", "avx2", "popcnt", "plain"], help="PGMX_SIMD; default: the best")
    parser.add_argument("--out", type=Path, default=Path("markov.json"))
    parser.add_argument("--report", type=Path, help="only print the tables of this file")
    parser.add_argument("--data", type=Path, default=HERE.parents[1] / "build" / "benchmarks", help="sampled tables")
    return parser.parse_args(argv)


def opened(args, argv):
    """Return the results so far, without the records that are to be made again."""
    results = {"problems": {}, "records": [], "commands": []}
    if args.out.exists():
        results = json.loads(args.out.read_text())
    stale = set(args.again)
    results["records"] = [
        r
        for r in results["records"]
        if r["suite"] not in args.suites or not (stale & {"all", r["method"], r["method"].removesuffix("-and")})
    ]
    told = ["FOLDER" if args.real and word == str(args.real) else word for word in argv]
    told = [Path(word).name if word == str(args.out) else word for word in told]
    results["commands"].append(shlex.join(["python", "tests/benchmarks/markov.py", *told]))
    results["machine"] = machine()
    packages = ("pgmx", "numpy", "scikit-learn", "pgmpy")
    results["versions"] = {name: installed_version(name) for name in packages}
    if results["versions"]["pgmx"] == "not installed":
        results["versions"]["pgmx"] = "from the checkout"
    return results


def save(results, path):
    """Write the results, a record a line."""
    head = json.dumps({key: value for key, value in results.items() if key != "records"}, indent=1, default=float)
    lines = ",\n".join(json.dumps(record, default=float) for record in results["records"])
    path.write_text(f'{head[:-2]},\n "records": [\n{lines}\n]}}\n')


def main(argv=None):
    argv = sys.argv[1:] if argv is None else argv
    args = parse(argv)
    if args.report:
        print(markov_report.markdown(json.loads(args.report.read_text())))
        return
    results = opened(args, argv)
    for suite in args.suites:
        _, common, methods = SUITES[suite]
        for path, own in problems_of(suite, args):
            setting = {**common, **own, "max_time": args.max_time}
            setting |= {"runs": args.runs} if args.runs else {}
            problem = markov_data.load(path)
            here = {r["method"] for r in results["records"] if (r["suite"], r["problem"]) == (suite, problem.name)}
            if (problem.cards > 2).any():
                here.add("node-wise-lasso")
            wanted = [m for m in methods if m not in here and (not args.methods or m in args.methods)]
            if problem.name not in results["problems"]:
                results["problems"][problem.name] = problem_facts(problem)
            del problem
            if not wanted:
                continue
            for record in measure(path, setting, wanted, args):
                record = {"suite": suite, "problem": path.stem.removeprefix("markov-"), "setting": setting, **record}
                record["load"] = round(os.getloadavg()[0], 2)
                results["records"].append(record)
                save(results, args.out)
                sys.stderr.write(markov_report.progress(record) + "\n")
    save(results, args.out)
    print(markov_report.markdown(results))


if __name__ == "__main__":
    main()
