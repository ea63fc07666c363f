"""Compare the counts of all pairs of variables with matrix products of one-hot columns, in the same process.

Run it from the checkout, with pgmx installed:

    python tests/benchmarks/pair_tables.py --out pair_tables.json

Every level of the kernels has a process of its own, for PGMX_SIMD is read at import. There pgmx
(``PairTables(table).prepare()``, bit planes ready) and two float32 products of the one-hot matrix X (states x rows,
ready, in the layout that BLAS likes best) run in turn on one thread: GEMM, the full product of X and its transpose, and
SYRK, its upper half. All must give the same integers. BLAS uses the best instructions of the processor whatever the
level of pgmx; ``--blas haswell`` holds OpenBLAS to AVX2.
"""

import argparse
import json
import os
import shlex
import subprocess
import sys
from pathlib import Path
from statistics import median
from time import process_time

import numpy as np
from hill_climb import HERE, installed_version, machine

LEVELS = ("avx512", "avx2", "popcnt", "plain")
ONE_THREAD = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}


def cpu_seconds(task):
    """Return the CPU seconds of a call, user and system (first use of memory is in it), and what it returned."""
    before = process_time()
    found = task()
    return process_time() - before, found


def ready_counts(table):
    """Return tables that hold all pairs."""
    from pgmx.statistics import PairTables

    tables = PairTables(table, memory=1 << 34)
    if not tables.prepare():
        raise MemoryError("not all pairs fit into 16 GiB: take fewer variables")
    return tables


def check(tables, product, n, s, n_rows):
    """Compare the tables of some pairs with the matrix product."""
    rng = np.random.default_rng(1)
    for i, j in rng.integers(0, n, (200, 2)):
        i, j = sorted((int(i), int(j)))
        if i < j:
            block = product[i * s : (i + 1) * s, j * s : (j + 1) * s]
            if not np.array_equal(np.rint(tables.get([(i, j)])[0] * n_rows), block):
                raise AssertionError(f"the counts of the pair {i}, {j} differ")


def measure(n, s, n_rows, repeat):
    """Return the figures of this process, whose PGMX_SIMD is set."""
    from scipy.linalg.blas import sgemm, ssyrk
    from threadpoolctl import threadpool_info

    from pgmx._ext import _counts
    from pgmx.data import DiscreteTable

    rng = np.random.default_rng(0)
    codes = rng.integers(0, s, (n, n_rows), dtype=np.uint8)
    table = DiscreteTable(range(n), [range(s)] * n, codes)
    packing, _ = cpu_seconds(lambda: table.planes)
    one_hot, columns = cpu_seconds(
        lambda: np.asfortranarray((codes[:, None, :] == np.arange(s)[:, None]).reshape(n * s, n_rows).T, np.float32)
    )
    seconds = {"pgmx": [], "gemm": [], "syrk": []}
    for _ in range(repeat):
        ours = []
        for _ in range(5):  # short: five to one product
            spent, tables = cpu_seconds(lambda: ready_counts(table))
            ours.append(spent)
        seconds["pgmx"].append(median(ours))
        spent, product = cpu_seconds(lambda: sgemm(1.0, columns, columns, trans_a=True))
        seconds["gemm"].append(spent)
        check(tables, product, n, s, n_rows)
        spent, product = cpu_seconds(lambda: ssyrk(1.0, columns, trans=True))
        seconds["syrk"].append(spent)
        check(tables, product, n, s, n_rows)
    pairs = np.column_stack(np.triu_indices(n, 1))
    asked, _ = cpu_seconds(lambda: tables.flat(pairs))
    blas = [library for library in threadpool_info() if library["user_api"] == "blas"]
    return {
        "level": _counts.SIMD_LEVEL,
        "blas": ", ".join(sorted({f"{b['internal_api']} {b.get('architecture', '')}".strip() for b in blas})),
        "blas_threads": max((b["num_threads"] for b in blas), default=1),
        "packing": packing,
        "one_hot": one_hot,
        "as_float64": asked,
        **{name: median(values) for name, values in seconds.items()},
    }


def run_level(level, blas, args):
    """Run one level in a process of its own; None where the processor does not have it."""
    environment = {**os.environ, **ONE_THREAD, "PGMX_SIMD": level}
    if blas:
        environment["OPENBLAS_CORETYPE"] = blas
    sizes = [str(size) for size in (args.variables, args.states, args.rows, args.repeat)]
    done = subprocess.run(
        [sys.executable, HERE / "pair_tables.py", "--worker", *sizes],
        env=environment,
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
    n, s, n_rows = results["variables"], results["states"], results["rows"]
    n_pairs = n * (n - 1) // 2
    lines = [
        f"All {n_pairs:,} tables of {n} variables with {s} states, {n_rows:,} rows; CPU seconds, one thread.",
        "",
        "| pgmx kernels | BLAS | pgmx | pairs a second | GEMM | GEMM / pgmx | SYRK | SYRK / pgmx | whole tables as "
        "float64 | packing planes | one-hot |",
        "| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |",
    ]
    for r in results["records"]:
        cells = [r["level"], r["blas"], f"{r['pgmx']:.3g}", f"{n_pairs / r['pgmx']:,.0f}"]
        cells += [f"{r['gemm']:.3g}", f"{r['gemm'] / r['pgmx']:.1f}x"]
        cells += [f"{r['syrk']:.3g}", f"{r['syrk'] / r['pgmx']:.1f}x"]
        cells += [f"{r[name]:.3g}" for name in ("as_float64", "packing", "one_hot")]
        lines.append("| " + " | ".join(cells) + " |")
    where = results["machine"]
    lines += [
        "",
        f"- Processor: {where['processor']} ({', '.join(where['instruction_sets'])}), {where['cores']} cores, "
        f"{where['system']}, Python {where['python']}, load {where['load_at_start']} at the start.",
        "- Versions: " + ", ".join(f"{name} {number}" for name, number in results["versions"].items()) + ".",
        f"- Made by `{results['command']}`.",
    ]
    return "\n".join(lines)


def parse(argv):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--variables", type=int, default=600)
    parser.add_argument("--states", type=int, default=5)
    parser.add_argument("--rows", type=int, default=20_000)
    parser.add_argument("--levels", nargs="+", default=LEVELS, choices=LEVELS, help="PGMX_SIMD; default: all there are")
    parser.add_argument("--blas", nargs="+", default=[""], metavar="CORETYPE", help="OPENBLAS_CORETYPE; default: unset")
    parser.add_argument("--repeat", type=int, default=3, help="measurements of which the median counts; default 3")
    parser.add_argument("--out", type=Path, default=Path("pair_tables.json"))
    parser.add_argument("--report", type=Path, help="only print the table of this file")
    parser.add_argument("--worker", nargs=4, type=int, help=argparse.SUPPRESS)
    return parser.parse_args(argv)


def main(argv=None):
    args = parse(argv)
    if args.worker:
        json.dump(measure(*args.worker), sys.stdout)
        return
    if args.report:
        print(markdown(json.loads(args.report.read_text())))
        return
    results = {
        "command": shlex.join(["python", "tests/benchmarks/pair_tables.py", *(sys.argv[1:] if argv is None else argv)]),
        "machine": machine(),
        "variables": args.variables,
        "states": args.states,
        "rows": args.rows,
        "versions": {name: installed_version(name) for name in ("pgmx", "numpy", "scipy")},
        "records": [],
    }
    for level in args.levels:
        for blas in args.blas:
            record = run_level(level, blas, args)
            if record is not None:
                results["records"].append(record)
                args.out.write_text(json.dumps(results, indent=1))
    print(markdown(results))


if __name__ == "__main__":
    main()
