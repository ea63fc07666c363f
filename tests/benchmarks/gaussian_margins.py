"""Compare the correlations of Nonparanormal on Gaussian data and on monotone functions of them.

Run it from the checkout, with pgmx installed:

    python tests/benchmarks/gaussian_margins.py --out gaussian_margins.json

Rows of an Erdős-Rényi network, once as they are, once cubed, once through the normal distribution function, give
Pearson's correlations and the four of Nonparanormal; GraphicalLasso follows a path of penalties on each, and the best
F1 on it is printed. Several draws of rows: the mean, and the standard deviation over draws.
"""

import argparse
import json
import os
import shlex
import sys
from pathlib import Path
from statistics import mean, stdev
from time import process_time

import gaussian_data
import gaussian_objective
import numpy as np
from hill_climb import ONE_THREAD, installed_version, machine
from markov_report import table

METHODS = ("pearson", "kendall", "spearman", "shrinkage", "truncation")


def functions():
    """Return {name: what is done to the rows}."""
    from scipy.stats import norm

    return {"Gaussian": np.asarray, "cubed": lambda rows: rows**3, "distribution function": norm.cdf}


def correlations(rows, method):
    """Return the correlations and the largest change that made them positive semidefinite."""
    from pgmx.estimators import Nonparanormal

    if method == "pearson":
        return np.corrcoef(rows, rowvar=False), 0.0
    learner = Nonparanormal(correlation=method).fit(rows)
    return learner.correlation_, learner.repaired_


def measure(problem, rows, method, lams):
    """Return the best F1 on the path, where it was, and the seconds that the correlations took."""
    from pgmx.estimators import GraphicalLasso

    begin = process_time()
    known, repaired = correlations(rows, method)
    seconds = process_time() - begin
    path = GraphicalLasso(covariance="precomputed", show_progress=False).path(known, lams=lams)
    matrices = [found.precision.toarray() for found in path.estimates]
    scores = [gaussian_objective.f1(gaussian_objective.edges_of(m, 1e-8), problem.edges) for m in matrices]
    best = int(np.argmax(scores))
    at = float(path.lams[best] / problem.unit)
    return {"f1": scores[best], "at": at, "seconds": seconds, "repaired": float(repaired)}


def markdown(results):
    """Return one row a kind of data."""
    records, rows = results["records"], []
    for kind in dict.fromkeys(r["data"] for r in records):
        cells = []
        for method in METHODS:
            scores = [r["f1"] for r in records if (r["data"], r["method"]) == (kind, method)]
            cells.append(f"{mean(scores):.3f}" + (f" ± {stdev(scores):.3f}" if len(scores) > 1 else ""))
        rows.append([kind, *cells])
    for title, key, unit in (("correlations, CPU ms", "seconds", 1e3), ("best penalty / sqrt(log p / n)", "at", 1.0)):
        chosen = [[r[key] * unit for r in records if r["method"] == m and r["data"] == "Gaussian"] for m in METHODS]
        rows.append([title + " (Gaussian)", *(f"{mean(values):.3g}" for values in chosen)])
    where = results["machine"]
    lines = [
        f"er-{results['p']}-{results['n']}, {results['draws']} draws of rows; largest repair of a correlation "
        f"{max(r['repaired'] for r in records):.1e}.",
        f"Processor: {where['processor']}; made by `{results['command']}`.",
    ]
    return table(["data", *METHODS], rows) + "\n\n" + "\n".join(f"- {line}" for line in lines)


def parse(argv):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--p", type=int, default=200)
    parser.add_argument("--n", type=int, default=400)
    parser.add_argument("--draws", type=int, default=5)
    parser.add_argument("--penalties", type=int, default=30, help="of the path, 4 to 0.5 sqrt(log p / n); default 30")
    parser.add_argument("--out", type=Path, default=Path("gaussian_margins.json"))
    parser.add_argument("--report", type=Path, help="only print the table of this file")
    return parser.parse_args(argv)


def main(argv=None):
    argv = sys.argv[1:] if argv is None else argv
    args = parse(argv)
    if args.report:
        print(markdown(json.loads(args.report.read_text())))
        return
    if any(os.environ.get(name) != count for name, count in ONE_THREAD.items()):
        os.execve(sys.executable, [sys.executable, __file__, *argv], {**os.environ, **ONE_THREAD})
    told = [Path(word).name if word == str(args.out) else word for word in argv]
    results = {
        "command": shlex.join(["python", "tests/benchmarks/gaussian_margins.py", *told]),
        "machine": machine(),
        "versions": {name: installed_version(name) for name in ("pgmx", "numpy", "scipy")},
        "p": args.p,
        "n": args.n,
        "draws": args.draws,
        "records": [],
    }
    for draw in range(args.draws):
        problem = gaussian_data.sample("er", args.p, args.n, seed=1 + draw)
        lams = np.array(gaussian_data.descending(4.0, 0.5, args.penalties)) * problem.unit
        for kind, change in functions().items():
            rows = change(problem.rows)
            for method in METHODS:
                found = measure(problem, rows, method, lams)
                results["records"].append({"data": kind, "method": method, "draw": draw, **found})
        args.out.write_text(json.dumps(results, indent=1))
    print(markdown(results))


if __name__ == "__main__":
    main()
