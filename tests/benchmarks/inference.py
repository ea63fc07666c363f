"""Queries of Markov networks: error and CPU seconds of each engine, compared with pyAgrum and pgmpy if installed.

Run it from the checkout, with pgmx installed:

    python tests/benchmarks/inference.py --question log_partition --data ../shared/data/mrf --out inference.json

A question is a function of a problem that yields a row per engine; `QUESTIONS` lists them. Times are CPU seconds of one
thread. The truth is elimination's where 8 GB suffice, else the mean of long annealing runs of other seeds.
"""

import argparse
import json
import warnings
from math import nan, sqrt
from pathlib import Path
from time import process_time

import numpy as np
from inference_answers import ask_map, ask_marginals, ask_peers
from inference_peers import make_pgmpy, make_pyagrum
from inference_problems import FILES, grid, learned, list_fresh_problems, regular

from pgmx.inference import TreewidthError, log_partition, marginals

EXACT_BYTES = 2**33
#: Cells up to which pgmpy, which multiplies all factors into one table, is asked.
MOST_JOINT_CELLS = 2**20
#: Bytes of a junction tree up to which pyAgrum is asked.
MOST_AGRUM_BYTES = 2**30


def list_problems(folder, names):
    """Yield the problems that are asked for: "grids", "regular", "peers", "fresh", and learned networks by name."""
    for name in names:
        if name == "grids":
            yield from (grid(n, coupling) for n in (6, 10, 16, 20, 30, 40) for coupling in (0.25, 0.5))
        elif name == "peers":
            yield from (*(grid(n, 0.5) for n in (4, 6, 10, 14)), regular(50, 0.5))
        elif name == "fresh":  # networks that nothing was tuned on
            yield from list_fresh_problems(range(5000, 5030))
        elif name == "regular":
            yield from (regular(n, coupling) for n in (50, 100, 200) for coupling in (0.25, 0.5))
        else:
            yield learned(name, folder)


def measure(task):
    """Return what a task returns and its CPU seconds, without its warnings."""
    before = process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        answer = task()
    return answer, process_time() - before


def find_truth(potentials):
    """Return the log-partition and its standard error."""
    try:
        return float(log_partition(potentials, method="exact", memory=EXACT_BYTES)), 0.0
    except TreewidthError:
        runs = [
            log_partition(potentials, method="ais", random_state=seed, max_work=10**10, tol=0.003)
            for seed in (1001, 1002)
        ]
        return float(np.mean(runs)), sqrt(sum(run.standard_error**2 for run in runs)) / 2


def ask_log_partition(problem):
    """Yield rows of log Z: engine, CPU seconds, error, standard error and bounds."""
    potentials = problem.potentials
    truth, doubt = find_truth(potentials)

    def row(engine, answer, seconds, **more):
        error = float(answer) - truth
        return {"problem": problem.name, "engine": engine, "seconds": seconds, "error": error, "doubt": doubt, **more}

    for method in ("exact", "ais", "loopy"):
        options = {"memory": EXACT_BYTES} if method == "exact" else {}
        try:
            answer, seconds = measure(lambda m=method, o=options: log_partition(potentials, method=m, **o))
        except TreewidthError:
            continue
        yield row(
            method,
            answer,
            seconds,
            standard_error=answer.standard_error,
            lower=answer.lower - truth,
            upper=answer.upper - truth,
        )
    for engine, ask in (("pyAgrum", ask_pyagrum), ("pgmpy", ask_pgmpy)):
        try:
            answer, seconds = measure(lambda ask=ask: ask(potentials))
        except ImportError:
            continue
        if not np.isnan(answer):
            yield row(engine, answer, seconds)


def ask_pyagrum(potentials):
    """Return log f(x) - log p(x) of one configuration, since pyAgrum reports no log-partition; NaN if too wide."""
    import pyagrum

    from pgmx.inference import estimate_cost

    if estimate_cost(potentials).bytes > MOST_AGRUM_BYTES:
        return nan
    names = [f"x{v}" for v in range(potentials.n_variables)]
    inference = pyagrum.ShaferShenoyMRFInference(make_pyagrum(potentials))
    inference.setEvidence(dict.fromkeys(names, 0))
    inference.makeInference()
    score = float(potentials.log_score(np.zeros((len(names), 1), dtype=np.int64))[0])
    return score - float(np.log(inference.evidenceProbability()))


def ask_pgmpy(potentials):
    """Return the logarithm of pgmpy's partition function; NaN where its table of all variables is too large."""
    if np.log2(potentials.cardinalities.astype(float)).sum() > np.log2(MOST_JOINT_CELLS):
        return nan
    return float(np.log(make_pgmpy(potentials).get_partition_function()))


def ask_coverage(problem, n_seeds=100):
    """Yield a row: of intervals of two standard errors, the share that hold the truth, by seeds."""
    truth, doubt = find_truth(problem.potentials)
    if doubt:
        return
    before = process_time()
    answers = [log_partition(problem.potentials, method="ais", random_state=seed, tol=0.02) for seed in range(n_seeds)]
    errors = np.array([float(answer) - truth for answer in answers])
    reported = np.array([answer.standard_error for answer in answers])
    yield {
        "problem": problem.name,
        "engine": "ais, tol=0.02",
        "seconds": (process_time() - before) / n_seeds,
        "share": float((np.abs(errors) <= 2 * reported).mean()),
        "mean standard error": float(reported.mean()),
        "deviation of the errors": float(errors.std(ddof=1)),
        "mean error": float(errors.mean()),
    }


def ask_marginal_coverage(problem):
    """Yield a row: of variables of one network, the share whose error the estimate covers (rounding aside)."""
    exact = marginals(problem.potentials, method="exact", memory=EXACT_BYTES)
    answer, seconds = measure(lambda: marginals(problem.potentials, method="corrected"))
    errors = np.array([np.abs(answer.array(v) - exact.array(v)).max() for v in exact])
    estimates = np.array(list(answer.error.values()))
    yield {
        "problem": problem.name,
        "engine": "corrected",
        "seconds": seconds,
        "share": float((errors <= estimates + 1e-12).mean()),
        "mean error": float(errors.mean()),
        "mean estimate": float(estimates.mean()),
    }


QUESTIONS = {
    "log_partition": ask_log_partition,
    "coverage": ask_coverage,
    "marginals": ask_marginals,
    "map": ask_map,
    "peers": ask_peers,
    "marginal_coverage": ask_marginal_coverage,
}


def main():
    """Ask, print a row per engine, and store all rows."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--question", choices=QUESTIONS, default="log_partition")
    parser.add_argument("--problems", nargs="+", default=["grids", "regular", *FILES])
    parser.add_argument("--data", default="../shared/data/mrf", help="folder of the tables")
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    rows = []
    for problem in list_problems(options.data, options.problems):
        for row in QUESTIONS[options.question](problem):
            shown = {key: f"{value:.4g}" if isinstance(value, float) else value for key, value in row.items()}
            print(*(f"{key}={value}" for key, value in shown.items()), sep="  ", flush=True)
            rows.append(row)
    if options.out:
        options.out.write_text(json.dumps(rows, indent=1) + "\n")


if __name__ == "__main__":
    main()
