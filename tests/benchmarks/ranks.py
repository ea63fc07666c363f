"""Compare Kendall's tau of all pairs of columns with SciPy and pandas, on the same rows.

Run it from the checkout, with pgmx installed:

    python tests/benchmarks/ranks.py --out ranks.json

Every level of the kernels has a process of its own, for PGMX_SIMD is read at import. There pgmx (`kendall_tau_matrix`,
from the rows to the matrix) alternates with SciPy's `kendalltau` per pair and pandas' `corr("kendall")`, which run on a
few columns. All must agree to 1e-12. Times are CPU seconds of one thread, medians; the gain from threads is that of
wall seconds and means something on an idle machine only.
"""

import argparse
import json
import os
import shlex
import subprocess
import sys
from pathlib import Path
from statistics import median
from time import perf_counter, process_time

import numpy as np
from hill_climb import HERE, installed_version, machine

LEVELS = ("avx512", "avx2", "popcnt", "plain")
KINDS = ("clean", "tied", "gapped")
SIZES = ("500x200", "1000x200", "1000x1000", "5000x100", "20000x40")
ONE_THREAD = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}


def table(kind, n, p):
    """Return correlated columns without ties, with some twenty values, or with a tenth of the cells missing."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, p)) + rng.normal(size=(n, 1))
    if kind == "tied":
        X = np.round(2 * X)
    elif kind == "gapped":
        X[rng.random(X.shape) < 0.1] = np.nan
    return X


def seconds(task, clock, repeat):
    """Return the median time of a call and what it returned."""
    spent = []
    for _ in range(repeat):
        before = clock()
        found = task()
        spent.append(clock() - before)
    return median(spent), found


def by_scipy(X):
    """Return tau-b of all pairs, one call a pair."""
    from scipy.stats import kendalltau

    p = X.shape[1]
    matrix = np.eye(p)
    for i in range(p):
        for j in range(i):
            known = ~np.isnan(X[:, i] + X[:, j])  # kendalltau's own nan_policy compares all pairs of rows in Python
            matrix[i, j] = matrix[j, i] = kendalltau(X[known, i], X[known, j]).statistic
    return matrix


def measure(sizes, repeat, peers, columns, threads):
    """Return the figures of this process, whose PGMX_SIMD is set."""
    import pandas as pd

    from pgmx._ext import _ranks
    from pgmx.statistics import kendall_tau_matrix

    records = []
    for size in sizes:
        n, p = map(int, size.split("x"))
        for kind in KINDS:
            X = table(kind, n, p)
            few = X[:, :columns]
            spent, found = seconds(lambda X=X: kendall_tau_matrix(X, missing="pairwise"), process_time, repeat)
            record = {"level": _ranks.SIMD_LEVEL, "size": size, "kind": kind, "pgmx": p * (p - 1) / 2 / spent}
            alone, _ = seconds(lambda X=X: kendall_tau_matrix(X, missing="pairwise"), perf_counter, repeat)
            shared, _ = seconds(
                lambda X=X: kendall_tau_matrix(X, missing="pairwise", n_jobs=threads), perf_counter, repeat
            )
            record["gain"] = alone / shared
            ways = {"scipy": by_scipy, "pandas": lambda X: pd.DataFrame(X).corr("kendall").to_numpy()}
            for name, way in ways.items() if peers else ():
                spent, other = seconds(lambda way=way, few=few: way(few), process_time, repeat)
                record[name] = few.shape[1] * (few.shape[1] - 1) / 2 / spent
                np.testing.assert_allclose(found[:columns, :columns], other, rtol=0, atol=1e-12)
            records.append(record)
    return records


def run_level(level, peers, args):
    """Run one level in a process of its own; None where the processor does not have it."""
    options = json.dumps([args.sizes, args.repeat, peers, args.columns, args.threads])
    done = subprocess.run(
        [sys.executable, HERE / "ranks.py", "--worker", options],
        env={**os.environ, **ONE_THREAD, "PGMX_SIMD": level},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        if "cannot be used: this processor runs" in done.stderr:
            return None
        raise RuntimeError(done.stderr)
    return json.loads(done.stdout)


def markdown(results):
    """Return the table of all levels."""
    peers = {(r["size"], r["kind"]): r for r in results["records"] if "scipy" in r}
    levels = list(dict.fromkeys(r["level"] for r in results["records"]))
    by_level = {(r["size"], r["kind"], r["level"]): r for r in results["records"]}
    lines = [
        "Kendall's tau-b, pairs of columns a second, from the rows to the matrix; one thread, CPU seconds.",
        "",
        "| rows x columns | columns | " + " | ".join(f"pgmx {level}" for level in levels) + " | SciPy | pandas | "
        f"best / SciPy | wall gain of {results['threads']} threads |",
        "| --- | --- |" + " ---: |" * (len(levels) + 4),
    ]
    for (size, kind), peer in peers.items():
        rates = [by_level[size, kind, level]["pgmx"] for level in levels]
        cells = [size, kind, *(f"{rate:,.0f}" for rate in [*rates, peer["scipy"], peer["pandas"]])]
        cells += [f"{max(rates) / peer['scipy']:,.0f}x", f"{by_level[size, kind, levels[0]]['gain']:.2f}x"]
        lines.append("| " + " | ".join(cells) + " |")
    where = results["machine"]
    lines += [
        "",
        f"- Processor: {where['processor']} ({', '.join(where['instruction_sets'])}), {where['cores']} cores, "
        f"{where['system']}, Python {where['python']}, load {where['load_at_start']} at the start.",
        "- Versions: " + ", ".join(f"{name} {number}" for name, number in results["versions"].items()) + ".",
        f"- Made by `{results['command']}`; SciPy and pandas on {results['columns']} of the columns.",
    ]
    return "\n".join(lines)


def parse(argv):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", nargs="+", default=SIZES, metavar="ROWSxCOLUMNS")
    parser.add_argument("--columns", type=int, default=12, help="columns on which SciPy and pandas run; default 12")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--levels", nargs="+", default=LEVELS, choices=LEVELS, help="PGMX_SIMD; default: all there are")
    parser.add_argument("--repeat", type=int, default=3, help="measurements of which the median counts; default 3")
    parser.add_argument("--out", type=Path, default=Path("ranks.json"))
    parser.add_argument("--report", type=Path, help="only print the table of this file")
    parser.add_argument("--worker", help=argparse.SUPPRESS)
    return parser.parse_args(argv)


def main(argv=None):
    args = parse(argv)
    if args.worker:
        json.dump(measure(*json.loads(args.worker)), sys.stdout)
        return
    if args.report:
        print(markdown(json.loads(args.report.read_text())))
        return
    results = {
        "command": shlex.join(["python", "tests/benchmarks/ranks.py", *(sys.argv[1:] if argv is None else argv)]),
        "machine": machine(),
        "columns": args.columns,
        "threads": args.threads,
        "versions": {name: installed_version(name) for name in ("pgmx", "numpy", "scipy", "pandas")},
        "records": [],
    }
    for level in args.levels:
        records = run_level(level, not results["records"], args)
        if records is not None:
            results["records"] += records
            args.out.write_text(json.dumps(results, indent=1))
    print(markdown(results))


if __name__ == "__main__":
    main()
