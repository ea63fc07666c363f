"""What it takes to translate an ExpertKnowledge with many forbidden edges into ids: processor seconds, medians.

python tests/benchmarks/statements.py --edges 40000 --variables 250 1000 10000 --repeat 31
"""

import argparse
import statistics
import warnings
from time import process_time

import numpy as np

from pgmx.search.knowledge import read_constraints, read_knowledge

with warnings.catch_warnings():
    warnings.simplefilter("ignore", FutureWarning)  # of pgmpy.estimators as a whole
    from pgmpy.estimators import ExpertKnowledge


def draw_knowledge(names, n_edges):
    """Return a knowledge object with so many different forbidden edges."""
    rng, n = np.random.default_rng(0), len(names)
    numbers = rng.choice(n * (n - 1), n_edges, replace=False)
    tails, rest = np.divmod(numbers, n - 1)
    heads = rest + (rest >= tails)
    return ExpertKnowledge(forbidden_edges=[(names[i], names[j]) for i, j in zip(tails, heads, strict=True)])


def measure(function, names, knowledge, repeat):
    """Return the median of the processor seconds of a call."""
    seconds = []
    for _ in range(repeat):
        start = process_time()
        function(names, expert_knowledge=knowledge)
        seconds.append(process_time() - start)
    return statistics.median(seconds)


def main():
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--edges", type=int, default=40_000)
    parser.add_argument("--variables", type=int, nargs="+", default=[250, 1_000, 10_000])
    parser.add_argument("--repeat", type=int, default=31)
    options = parser.parse_args()
    print("| variables | statements to ids, ms | with the matrix of allowed edges, ms |\n| ---: | ---: | ---: |")
    for n in options.variables:
        names = [f"variable {v}" for v in range(n)]
        knowledge = draw_knowledge(names, options.edges)
        ids, matrix = (
            measure(function, names, knowledge, options.repeat) for function in (read_knowledge, read_constraints)
        )
        print(f"| {n:,} | {1e3 * ids:.2f} | {1e3 * matrix:.2f} |")


if __name__ == "__main__":
    main()
