"""Missing values of continuous and mixed data: distance of the learned graphs from the true graph, by `missing`.

    python tests/benchmarks/missing_numeric.py gauss            # 20 continuous columns, 2,000 rows
    python tests/benchmarks/missing_numeric.py mixed            # 10 continuous and 10 discrete columns
    python tests/benchmarks/missing_numeric.py gauss mixed --columns 50 --masks 3

Tables come from ``gaussian_networks.gaussian_table`` and ``mixed.mixed_table``, table k with the seed 100 + k. Mask
k of q % is ``default_rng(1000 q + k).random(shape) < q / 100``. Structural Hamming distances compare the CPDAGs;
arcs from continuous to discrete variables are not allowed. User-CPU seconds of ``fit``; set OPENBLAS_NUM_THREADS=1.
`filled` is the mean squared error of the imputed continuous values divided by the column's variance (1: its mean), and
the share of missing discrete values that are imputed correctly.
"""

import argparse
import resource
import warnings

import numpy as np
from gaussian_networks import gaussian_table
from mixed import mixed_table
from pgmpy.base import DAG

from pgmx.estimators import HillClimbSearch
from pgmx.metrics import cpdag_shd


def cpu():
    return resource.getrusage(resource.RUSAGE_SELF).ru_utime


def make_problem(kind, n_rows, n_columns, seed):
    """Return a table and its true graph."""
    half = n_columns // 2
    frame, arcs = gaussian_table(n_rows, n_columns, seed) if kind == "gauss" else mixed_table(n_rows, half, half, seed)
    truth = DAG()
    truth.add_nodes_from(frame.columns)
    truth.add_edges_from(arcs)
    return frame, truth


def measure(truth, frame, table, **options):
    """Return distance, edges, seconds, and error and hits of the imputed values; no distance if it is refused."""
    began = cpu()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # of rows left out
            learner = HillClimbSearch(show_progress=False, **options).fit(table)
    except ValueError:
        return [np.nan] * 5
    seconds = cpu() - began
    filled = judge(frame, table, learner.imputed_frame()) if options["missing"] == "em" else (np.nan, np.nan)
    return [cpdag_shd(truth, learner.dag_), len(learner.edges_), seconds, *filled]


def judge(frame, table, filled):
    """Return the mean squared error of imputed continuous values over the variance, and the share of correct states."""
    errors, hits = [], []
    for name in frame:
        is_missing = table[name].isna().to_numpy()
        if frame[name].dtype == "float64":
            errors += ((filled[name] - frame[name])[is_missing] ** 2 / frame[name].var()).tolist()
        else:
            hits += (filled[name].astype(str) == frame[name].astype(str))[is_missing].tolist()
    return np.mean(errors) if errors else np.nan, np.mean(hits) if hits else np.nan


def show(values):
    known = values[~np.isnan(values)]
    return f"{known.mean():.2f}" if len(known) else ""


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("kinds", nargs="+", choices=["gauss", "mixed"])
    parser.add_argument("--missing", nargs="+", default=["drop", "pairwise", "em"])
    parser.add_argument("--shares", nargs="+", type=int, default=[0, 10, 20, 30])
    parser.add_argument("--strategy", default="greedy")
    parser.add_argument("--rows", type=int, default=2000)
    parser.add_argument("--columns", type=int, default=20)
    parser.add_argument("--masks", type=int, default=10)
    given = parser.parse_args()
    print(
        "| table | missing | % | SHD mean (sd) | arcs, true | CPU s mean (largest) | error of continuous values "
        "| correct discrete values |"
    )
    print("|---|---|---|---|---|---|---|---|")
    for kind in given.kinds:
        problems = [make_problem(kind, given.rows, given.columns, 100 + k) for k in range(given.masks)]
        n_true = np.mean([truth.number_of_edges() for _, truth in problems])
        for missing in given.missing:
            for share in given.shares:
                results = []
                for k, (frame, truth) in enumerate(problems):
                    is_missing = np.random.default_rng(1000 * share + k).random(frame.shape) < share / 100
                    results.append(
                        measure(truth, frame, frame.mask(is_missing), missing=missing, strategy=given.strategy)
                    )
                shd, edges, seconds, error, hits = np.array(results).T
                refused = int(np.isnan(shd).sum())
                shown = f"{np.nanmean(shd):.1f} ({np.nanstd(shd, ddof=1):.1f})" if refused < len(shd) else ""
                shown += f" {refused} refused" if refused else ""
                times = f"{np.nanmean(seconds):.2f} ({np.nanmax(seconds):.2f})" if refused < len(shd) else ""
                arcs = f"{np.nanmean(edges):.1f}, {n_true:.1f}" if refused < len(shd) else ""
                print(
                    f"| {kind} | {missing} | {share} | {shown} | {arcs} | {times} | {show(error)} | {show(hits)} |",
                    flush=True,
                )


if __name__ == "__main__":
    main()
