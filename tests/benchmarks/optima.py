"""How often do the strategies of hill climbing reach the optimum? 100 problems of 8 to 20 variables, solved exactly.

    python tests/benchmarks/optima.py                  # six minutes, most of it the proofs under BDeu
    python tests/benchmarks/optima.py --first 20       # only the first problems

A problem is a run of neighbours, in the order of the file, of a network bundled with pgmpy: 1,000 or 10,000 sampled
rows, columns permuted, under BIC or BDeu of sample size 10. Same graph score within 1e-6 nats counts as the optimum.
"""

import argparse
import tempfile
from pathlib import Path
from resource import RUSAGE_SELF, getrusage
from statistics import median

import numpy as np

import data

NETWORKS = ("child", "insurance", "alarm", "win95pts", "hailfinder", "hepar2", "barley", "mildew", "water", "munin1")
STRATEGIES = ("greedy", "thorough", "best")
N_PROBLEMS = 100


def make_problem(number, folder):
    """Return problem `number`: its name, its table and its score."""
    import pandas as pd

    from pgmx.data import encode

    rng = np.random.default_rng([number, 20])
    network = NETWORKS[number % len(NETWORKS)]
    n_rows, score = (1_000, 10_000)[number // 10 % 2], ("bic", "bic", "bdeu")[number // 20 % 3]
    problem = data.load(data.make(folder, network, n_rows), 0)
    in_file = np.argsort(problem.permutation)
    n = int(rng.integers(8, 21))
    first = int(rng.integers(len(in_file) - n + 1))
    columns = rng.permutation(in_file[first : first + n]).tolist()
    categories = {v: problem.states[problem.names[v]] for v in columns}
    frame = pd.DataFrame(
        {problem.names[v]: pd.Categorical.from_codes(problem.codes[v], categories=categories[v]) for v in columns}
    )
    return f"{network} {n_rows} {n} {score}", encode(frame), score


def learn(table, score, strategy, **options):
    """Return the learner and the user-CPU seconds of its call."""
    from pgmx.estimators import HillClimbSearch

    learner = HillClimbSearch(scoring_method=score, strategy=strategy, show_progress=False, **options)
    began = getrusage(RUSAGE_SELF).ru_utime
    learner.fit(table)
    return learner, getrusage(RUSAGE_SELF).ru_utime - began


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--first", type=int, default=N_PROBLEMS, help="problems to take")
    parser.add_argument("--from", type=int, default=0, dest="begin", help="number of the first of them")
    parser.add_argument("--data", type=Path, help="sampled tables; a temporary folder without it")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as other:
        run(range(args.begin, args.begin + args.first), args.data or Path(other))


def run(numbers, folder):
    """Print the misses of each problem, then the share of the problems whose optimum each strategy reached."""
    below = {strategy: [] for strategy in STRATEGIES}
    seconds = {strategy: [] for strategy in (*STRATEGIES, "exact")}
    for number in numbers:
        name, table, score = make_problem(number, folder)
        learner, used = learn(table, score, "exact")
        seconds["exact"].append(used)
        if not learner.proven_:
            print(f"{number} {name}: not proven")
            continue
        for strategy in STRATEGIES:
            other, used = learn(table, score, strategy)
            seconds[strategy].append(used)
            below[strategy].append(max(learner.score_ - other.score_, 0.0))
            if strategy != "greedy" and below[strategy][-1] > 1e-6:
                print(f"{number} {name}: {strategy} is {below[strategy][-1]:.3f} nats below the optimum", flush=True)
    for strategy, gaps in below.items():
        at = sum(gap <= 1e-6 for gap in gaps)
        used = seconds[strategy]
        print(
            f"{strategy}: at the optimum in {at} of {len(gaps)}, largest gap {max(gaps):.1f} nats, "
            f"median {median(used):.3f} s, longest {max(used):.2f} s"
        )
    print(f"exact: median {median(seconds['exact']):.3f} s, longest {max(seconds['exact']):.1f} s")


if __name__ == "__main__":
    main()
