"""Missing values: distance of the learned graphs from the true graph, by `missing` and by the share of missing values.

    python tests/benchmarks/missing_values.py                          # all values of missing, 0 to 30 %: 5 minutes
    python tests/benchmarks/missing_values.py --missing em --shares 30 --masks 3 --strategies thorough
    python tests/benchmarks/missing_values.py --order network          # columns in the network's order
    python tests/benchmarks/missing_values.py --steps alarm insurance --shares 10 20 30
                                                                       # steps of EM for the true graph

5,000 rows of the alarm network (``pgmx.datasets.sample``, seed 1), declared states kept. Mask k of q % is
``default_rng(1000 q + k).random(shape) < q / 100``; its columns are permuted by ``default_rng(100 + k)``. Structural
Hamming distances compare the CPDAGs. User-CPU seconds of ``fit``; set OPENBLAS_NUM_THREADS=1.

BNLEARN holds the distances of structural EM in bnlearn 5.2.1 on the same tables (R 4.2.2, ``structural.em`` with
``maximize="hc"``, ``score="bic"``, ``fit="bayes"``, ``impute="parents"``, at most 5 iterations), mask by mask.
"""

import argparse
import resource
import warnings

import numpy as np
from scipy import stats

from pgmx.data import encode
from pgmx.datasets import load_network, sample
from pgmx.estimators import HillClimbSearch
from pgmx.metrics import cpdag_shd
from pgmx.models.bayesian.incomplete_discrete import IncompleteDiscreteRows

BNLEARN = {
    "permuted": {
        10: [38, 30, 47, 36, 38, 31, 38, 41, 28, 38],
        20: [43, 43, 47, 43, 41, 38, 41, 43, 29, 39],
        30: [48, 41, 46, 48, 43, 40, 38, 53, 38, 44],
    },
    "network": {
        10: [30, 27, 32, 30, 26, 27, 27, 30, 30, 32],
        20: [33, 31, 38, 39, 36, 37, 34, 37, 31, 36],
        30: [33, 28, 36, 40, 45, 36, 38, 35, 36, 40],
    },
}


def cpu():
    return resource.getrusage(resource.RUSAGE_SELF).ru_utime


def make_table(rows, share, mask, order):
    """Return the rows with missing values, columns permuted unless `order` is "network"."""
    is_missing = np.random.default_rng(1000 * share + mask).random(rows.shape) < share / 100
    table = rows.mask(is_missing)
    for name in table:
        table[name] = table[name].astype(rows[name].dtype)
    if order == "permuted":
        table = table.iloc[:, np.random.default_rng(100 + mask).permutation(rows.shape[1])]
    return table


def measure(truth, table, **options):
    """Return the distance, the number of edges and the seconds of one fit; no distance if it is refused."""
    began = cpu()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # of rows left out and families of few rows
            learner = HillClimbSearch(show_progress=False, **options).fit(table)
    except ValueError:
        return np.nan, np.nan, cpu() - began
    return cpdag_shd(truth, learner.dag_), len(learner.edges_), cpu() - began


def format_difference(distances, peer):
    """Return the mean difference to a peer's distances on the same masks, with the two-sided 95 % interval of t."""
    difference = np.array(peer[: len(distances)]) - distances
    half = stats.t.ppf(0.975, len(difference) - 1) * difference.std(ddof=1) / np.sqrt(len(difference))
    return f"{difference.mean():.1f} [{difference.mean() - half:.1f}, {difference.mean() + half:.1f}]"


def print_steps(names, shares):
    """Print CPU times of the first step of EM for the true graph, with its plans, of later ones, and of completion."""
    print("| network | % | first step, ms | later steps, ms | completed rows, ms | log-likelihood after 11 |")
    print("|---|---|---|---|---|---|")
    for name in names:
        truth = load_network(name)
        rows = sample(truth, 5000, random_state=1)
        at = {column: v for v, column in enumerate(rows)}
        edges = np.array([(at[tail], at[head]) for tail, head in truth.edges])
        for share in shares:
            table = encode(make_table(rows, share, 0, "network"), missing="pairwise")
            incomplete = IncompleteDiscreteRows(table)
            times = [cpu()]
            fit = incomplete.fit(edges, max_steps=0)
            times.append(cpu())
            fit = incomplete.resume(fit, max_steps=10)
            times.append(cpu())
            incomplete.complete(fit, 0)
            first, later, completed = 1e3 * np.diff([*times, cpu()])
            print(f"| {name} | {share} | {first:.1f} | {later / 10:.2f} | {completed:.0f} | {fit.log_likelihood:.6f} |")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--missing", nargs="+", default=["drop", "category", "pairwise", "em"])
    parser.add_argument("--strategies", nargs="+", default=["greedy", "thorough"])
    parser.add_argument("--shares", nargs="+", type=int, default=[0, 1, 5, 10, 20, 30])
    parser.add_argument("--masks", type=int, default=10)
    parser.add_argument("--order", choices=list(BNLEARN), default="permuted")
    parser.add_argument("--steps", nargs="+", default=[])
    given = parser.parse_args()
    if given.steps:
        print_steps(given.steps, given.shares)
        return
    truth = load_network("alarm")
    rows = sample(truth, 5000, random_state=1)
    print("| strategy | missing | % | SHD mean (sd) | edges | CPU s mean (largest) | bnlearn | fewer than bnlearn |")
    print("|---|---|---|---|---|---|---|---|")
    for strategy in given.strategies:
        for missing in given.missing:
            for share in given.shares:
                tables = (make_table(rows, share, mask, given.order) for mask in range(given.masks))
                results = [measure(truth, table, strategy=strategy, missing=missing) for table in tables]
                shd, edges, seconds = np.array(results).T
                peer, difference = BNLEARN[given.order].get(share), ""
                if peer is not None and given.masks > 1 and missing == "em":
                    difference = format_difference(shd, peer)
                shown = "refused" if np.isnan(shd).any() else f"{shd.mean():.1f} ({shd.std(ddof=1):.1f})"
                print(
                    f"| {strategy} | {missing} | {share} | {shown} | {edges.mean():.1f} | {seconds.mean():.2f} "
                    f"({seconds.max():.2f}) | {'' if peer is None else np.mean(peer)} | {difference} |",
                    flush=True,
                )


if __name__ == "__main__":
    main()
