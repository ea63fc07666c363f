"""Compare hill climbing in pgmx with its peers: same rows, same column order, same states, same score, one thread.

Run it from the checkout, with pgmx and the extra [bench] installed:

    python tests/benchmarks/hill_climb.py --out results.json

Every (solver, problem) is measured in a process of its own, ended when one call has used --timeout CPU seconds. All
graphs are scored by objective.py. The tables go to standard output as Markdown, the records to --out after every run.
"""

import argparse
import json
import os
import platform
import shlex
import signal
import subprocess
import sys
import tempfile
import zlib
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import data
import objective
import report

HERE = Path(__file__).resolve().parent
SOLVERS = ("pgmx", "pybnesian", "pyagrum", "pgmpy")
PGMPY_PROBLEMS = (("alarm", 1_000), ("alarm", 10_000))  # each of its steps is n(n-1) path searches in Python
FLAGS = ("popcnt", "avx2", "avx512f", "avx512bw", "avx512_vpopcntdq", "asimd", "sve")
ONE_THREAD = {f"{name}_NUM_THREADS": "1" for name in ("OMP", "OPENBLAS", "MKL", "NUMEXPR", "ARROW", "RAYON")}


def machine():
    """Return what the figures depend on: processor, instruction sets, system, load when the run began."""
    info = {}
    if Path("/proc/cpuinfo").exists():
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            key, _, value = line.partition(":")
            info.setdefault(key.strip(), value.strip())
    flags = info.get("flags", info.get("Features", "")).split()
    return {
        "processor": info.get("model name", platform.processor() or platform.machine()),
        "instruction_sets": [flag for flag in FLAGS if flag in flags],
        "cores": os.cpu_count(),
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        "load_at_start": round(os.getloadavg()[0], 2),
    }


def installed_version(package):
    try:
        return version(package)
    except PackageNotFoundError:  # imported from the checkout
        return "not installed"


def run_worker(solver, path, seed, args):
    """Measure one solver on one problem; return the record of what its process wrote before it ended."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "lines.jsonl"
        command = [sys.executable, HERE / "worker.py", solver, path, str(seed), out]
        command += ["--repeat", str(args.repeat), "--timeout", str(args.timeout)]
        # A fixed hash seed, for pgmpy's ties follow the order of its sets; TMPDIR, for pyAgrum leaves its CSV files.
        environment = {**os.environ, **ONE_THREAD, "PYTHONHASHSEED": "0", "TMPDIR": folder}
        if args.simd:
            environment["PGMX_SIMD"] = args.simd
        try:
            done = subprocess.run(
                command, env=environment, capture_output=True, text=True, timeout=12 * args.timeout + 600, check=False
            )
            code, errors = done.returncode, done.stderr
        except subprocess.TimeoutExpired:
            code, errors = -signal.SIGXCPU, ""
        record = {}
        for line in out.read_text().splitlines() if out.exists() else ():
            record.update(json.loads(line))
    if code == -signal.SIGXCPU:
        return {**record, "status": "timeout"}
    if code != 0:
        return {**record, "status": "failed", "error": errors[-2000:]}
    return {**record, "status": "done"}


def score_graph(record, problem):
    """Add the outside score, and what is wrong with the graph if it has a cycle."""
    edges = record.get("edges")
    if edges is None:
        return
    if not objective.is_dag(len(problem.names), edges):
        record.update(status="failed", error="the graph has a cycle")
    else:
        record["score"] = objective.bic(problem.codes, problem.cards, edges)
        record["n_edges"] = len(edges)


def problem_name(network, n_rows, seed):
    return f"{network}-{n_rows}-{seed}"


def problem_facts(problem):
    n, n_rows = problem.codes.shape
    words = -(-n_rows // 512) * 8
    return {
        "n_variables": n,
        "true_score": objective.bic(problem.codes, problem.cards, problem.true_edges),
        "codes_and_planes_mib": (n * n_rows + 8 * words * int(problem.cards.sum())) / 2**20,
        "permutation": problem.permutation,
        "crc32": zlib.crc32(problem.codes),
    }


def reason_to_skip(solver, network, n_rows, records):
    """A tool that has run into the limit gets nothing harder of the same network; pgmpy gets its two problems."""
    if solver == "pgmpy" and (network, n_rows) not in PGMPY_PROBLEMS:
        return {"status": "skipped", "error": "pgmpy is run on small problems only"}
    for old in records:
        if (old["solver"], old["network"], old["status"]) == (solver, network, "timeout") and old["rows"] <= n_rows:
            return {"status": "timeout", "error": f"not run: over the limit at {old['rows']} rows, seed {old['seed']}"}
    return None


def reusable(path, here):
    """Return {(solver, problem, its checksum): record} of the peers in an older file; same processor and limit."""
    if path is None:
        return {}
    old = json.loads(Path(path).read_text())
    same = ("processor", "instruction_sets")
    if any(old["machine"][key] != here["machine"][key] for key in same) or old["timeout"] != here["timeout"]:
        raise SystemExit(f"{path} was made on another processor or with another --timeout; measure the peers again")
    return {
        (r["solver"], name, old["problems"][name]["crc32"]): r
        for r in old["records"]
        for name in [problem_name(r["network"], r["rows"], r["seed"])]
        if r["solver"] != "pgmx" and r["status"] != "failed" and r.get("version") == here["versions"].get(r["solver"])
    }


def parse(argv):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--networks", nargs="+", default=data.NETWORKS, metavar="NAME", help=", ".join(data.NETWORKS))
    parser.add_argument("--rows", nargs="+", type=int, help="default: 1000 10000 100000, for alarm also 1000000")
    parser.add_argument("--seeds", nargs="+", type=int, default=[0, 1, 2], help="of the column order; default 0 1 2")
    parser.add_argument("--solvers", nargs="+", default=SOLVERS, choices=SOLVERS)
    parser.add_argument("--timeout", type=float, default=300, help="CPU seconds one call may use; default 300")
    parser.add_argument("--simd", choices=["avx512", "avx2", "popcnt", "plain"], help="PGMX_SIMD; default: the best")
    parser.add_argument("--repeat", type=int, default=3, help="measurements of which the median counts; default 3")
    parser.add_argument("--out", type=Path, default=Path("results.json"))
    parser.add_argument("--reuse", type=Path, help="take the peers' records from this file where it has them")
    parser.add_argument("--report", type=Path, nargs="+", help="only print the tables of these files")
    parser.add_argument("--data", type=Path, default=HERE.parents[1] / "build" / "benchmarks", help="sampled tables")
    return parser.parse_args(argv)


def main(argv=None):
    args = parse(argv)
    if args.report:
        for path in args.report:
            print(report.markdown(json.loads(path.read_text())))
        return
    results = {
        "command": shlex.join(["python", "tests/benchmarks/hill_climb.py", *(sys.argv[1:] if argv is None else argv)]),
        "machine": machine(),
        "simd": args.simd or "best",
        "timeout": args.timeout,
        "repeat": args.repeat,
        "versions": {solver: installed_version(solver) for solver in args.solvers},
        "problems": {},
        "records": [],
    }
    reuse = reusable(args.reuse, results)
    for network in args.networks:
        for n_rows in args.rows or (data.ALARM_ROWS if network == "alarm" else data.ROWS):
            path = data.make(args.data, network, n_rows)
            for seed in args.seeds:
                problem = data.load(path, seed)
                name = problem_name(network, n_rows, seed)
                facts = results["problems"][name] = problem_facts(problem)
                for solver in args.solvers:
                    key = {"solver": solver, "network": network, "rows": n_rows, "seed": seed}
                    record = reuse.get((solver, name, facts["crc32"]))
                    if record is None:
                        record = reason_to_skip(solver, network, n_rows, results["records"])
                    if record is None:
                        record = run_worker(solver, path, seed, args)
                        score_graph(record, problem)
                    results["records"].append({**key, "version": results["versions"].get(solver), **record})
                    print(report.progress(results["records"][-1]), file=sys.stderr, flush=True)
                    args.out.write_text(json.dumps(results, indent=1))
    print(report.markdown(results))


if __name__ == "__main__":
    main()
