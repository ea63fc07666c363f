"""Compare Chow-Liu trees and tree-augmented naive Bayes of pgmx with pgmpy's: same rows, same states, one thread.

Run it from the checkout, with pgmx and the extra [bench] installed:

    python tests/benchmarks/forest.py --out results.json

Every (solver, problem) is measured in a process of its own, as in hill_climb.py. pgmpy runs on the problems of up to
--peer-variables variables; on larger ones it is compared by the time of one pair of variables on 100 binary ones. The
weight of every tree is counted here, from the rows.
"""

import argparse
import json
import math
import shlex
import sys
from pathlib import Path

import numpy as np
from hill_climb import HERE, installed_version, machine, run_worker

import data

METHODS = ("forest", "tan")
PER_PAIR = "binary-100"  # where the peer's time of a pair is taken
BINARY = (100, 1_000, 10_000)


def make_binary(folder, n, n_rows):
    """Store a table of a random tree: each variable follows an earlier one in 60 of 100 rows."""
    path = Path(folder) / f"binary-{n}-{n_rows}.npz"
    if path.exists():
        return path
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 2, (n, n_rows), dtype=np.int8)
    edges = []
    for v in range(1, n):
        parent = int(rng.integers(max(0, v - 50), v))
        np.copyto(codes[v], codes[parent], where=rng.random(n_rows) < 0.6)
        edges.append((f"v{parent}", f"v{v}"))
    names = [f"v{v}" for v in range(n)]
    description = {"names": names, "states": [["0", "1"]] * n, "edges": edges}
    path.parent.mkdir(parents=True, exist_ok=True)
    np.savez(path, codes=codes, description=json.dumps(description))
    return path


def tree_weight(codes, cards, edges, given):
    """Return the sum of N I(i; j), or N I(i; j | given), over the edges; arcs from `given` are passed over."""
    n_rows = codes.shape[1]
    classes = np.zeros(n_rows, dtype=np.int64) if given is None else codes[given].astype(np.int64)
    n_classes = 1 if given is None else int(cards[given])

    def entropy(*variables):
        cell = classes.copy()
        for v in variables:
            cell = cell * int(cards[v]) + codes[v]
        counts = np.bincount(cell, minlength=n_classes)
        counts = counts[counts > 0].astype(float)
        return float(np.sum(counts * np.log(n_rows / counts)))

    rest = entropy()
    alone = {v: entropy(v) for v in {v for edge in edges for v in edge}}
    return math.fsum(alone[i] + alone[j] - entropy(i, j) - rest for i, j in edges if i != given)


def measure(method, solver, path, args):
    """Measure a solver; add the outside weight of its tree."""
    record = run_worker(f"{method}.{solver}", path, 0, args)
    edges = record.pop("edges", None)
    if edges is not None:
        problem = data.load(path, 0)
        given = 0 if method == "tan" else None
        record["weight"] = tree_weight(problem.codes, problem.cards, edges, given)
        record["n_edges"] = len(edges)
        record["n_variables"] = len(problem.names)
    return record


def markdown(results):
    """Return the table of all records, pgmx compared with pgmpy."""
    records = {(r["problem"], r["method"], r["solver"]): r for r in results["records"]}
    kernels = sorted({r["kernel"] for r in results["records"] if r.get("kernel")})
    lines = [
        f"pgmx kernels: {', '.join(kernels)}. User-CPU seconds of one thread, {results['rows']:,} rows.",
        "",
        "| problem | variables | method | pgmx: coded table | from a frame | ns a pair | pgmpy | ns a pair | "
        "pgmpy / pgmx a pair | weights differ by | memory, MiB |",
        "| --- | ---: | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |",
    ]
    for (problem, method, solver), ours in records.items():
        if solver != "pgmx":
            continue
        if "learn" not in ours:
            lines.append(f"| {problem} | - | {method} | {ours['status']} |" + " - |" * 7)
            continue
        n = ours["n_variables"]
        theirs = records.get((problem, method, "pgmpy"), {})
        other = theirs if "learn" in theirs else records.get((PER_PAIR, method, "pgmpy"), {})
        per_pair = pair_nanoseconds(ours)
        cells = [problem, f"{n:,}", method, f"{ours['learn']:.3g}", f"{ours['end_to_end']:.3g}", f"{per_pair:,.0f}"]
        cells.append(f"{theirs['learn']:.3g}" if "learn" in theirs else theirs.get("status", "-"))
        if "learn" in other:
            cells += [f"{pair_nanoseconds(other):,.0f}", f"{pair_nanoseconds(other) / per_pair:,.0f}x"]
        else:
            cells += ["-", "-"]
        gap = ours["weight"] - theirs["weight"] if "weight" in theirs else None
        cells.append("-" if gap is None else f"{gap / max(abs(ours['weight']), 1.0):+.0e}")
        cells.append(f"{ours['peak_mib'] - ours['frame_mib']:,.0f}")
        lines.append("| " + " | ".join(cells) + " |")
    where = results["machine"]
    lines += [
        "",
        f"- Processor: {where['processor']} ({', '.join(where['instruction_sets'])}), {where['cores']} cores, "
        f"{where['system']}, Python {where['python']}, load {where['load_at_start']} at the start.",
        "- Versions: " + ", ".join(f"{name} {number}" for name, number in results["versions"].items()) + ".",
        f"- Made by `{results['command']}`. Where pgmpy was not run, its time of a pair is that on {PER_PAIR}.",
        "- Memory: peak over the loaded frame during the call from the frame.",
    ]
    return "\n".join(lines)


def pair_nanoseconds(record):
    n = record["n_variables"] - (record["method"] == "tan")
    return record["learn"] / (n * (n - 1) / 2) * 1e9


def parse(argv):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--networks", nargs="*", default=["alarm", "andes", "link"], metavar="NAME")
    parser.add_argument("--binary", nargs="*", type=int, default=BINARY, metavar="N", help="variables of random trees")
    parser.add_argument("--rows", type=int, default=10_000)
    parser.add_argument("--methods", nargs="+", default=METHODS, choices=METHODS)
    parser.add_argument("--peer-variables", type=int, default=100, help="pgmpy is not run on more; default 100")
    parser.add_argument("--timeout", type=float, default=300, help="CPU seconds one call may use; default 300")
    parser.add_argument("--simd", choices=["avx512", "avx2", "popcnt", "plain"], help="PGMX_SIMD; default: the best")
    parser.add_argument("--repeat", type=int, default=3, help="measurements of which the median counts; default 3")
    parser.add_argument("--out", type=Path, default=Path("forest.json"))
    parser.add_argument("--report", type=Path, nargs="+", help="only print the tables of these files")
    parser.add_argument("--data", type=Path, default=HERE.parents[1] / "build" / "benchmarks", help="sampled tables")
    return parser.parse_args(argv)


def main(argv=None):
    args = parse(argv)
    if args.report:
        for path in args.report:
            print(markdown(json.loads(path.read_text())))
        return
    results = {
        "command": shlex.join(["python", "tests/benchmarks/forest.py", *(sys.argv[1:] if argv is None else argv)]),
        "machine": machine(),
        "rows": args.rows,
        "simd": args.simd or "best",
        "versions": {solver: installed_version(solver) for solver in ("pgmx", "pgmpy")},
        "records": [],
    }
    problems = [(f"binary-{n}", make_binary(args.data, n, args.rows)) for n in args.binary]
    problems += [(name, data.make(args.data, name, args.rows)) for name in args.networks]
    for name, path in problems:
        n_variables = len(data.load(path, 0).names)
        for method in args.methods:
            for solver in ("pgmx", "pgmpy") if n_variables <= args.peer_variables else ("pgmx",):
                record = measure(method, solver, path, args)
                results["records"].append({"problem": name, "method": method, "solver": solver, **record})
                args.out.write_text(json.dumps(results, indent=1))
                sys.stderr.write(f"{name} {method} {solver}: {record['status']} {record.get('learn', '')}\n")
    print(markdown(results))


if __name__ == "__main__":
    main()
