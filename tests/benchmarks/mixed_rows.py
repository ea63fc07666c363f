"""A network of mixed data and many rows: how much memory do predictions take?

    python tests/benchmarks/mixed_rows.py {log_likelihood,predict} [--rows 4000000]

One question per process: the growth of its peak of resident memory, the answers in it, and user and system CPU seconds.
"""

import argparse
import resource
import sys
from pathlib import Path

import pandas as pd

from pgmx.models import ConditionalGaussianNetwork

sys.path.append(str(Path(__file__).parents[1]))
from helpers.mixed_tables import MIXED_ARCS, six_columns


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("question", choices=["log_likelihood", "predict"])
    parser.add_argument("--rows", type=int, default=4_000_000)
    options = parser.parse_args()
    few = six_columns()
    network = ConditionalGaussianNetwork(MIXED_ARCS).fit(few)
    rows = pd.concat([few] * (options.rows // len(few)), ignore_index=True)
    if options.question == "predict":
        rows, few = rows.drop(columns=["R", "X"]), few.drop(columns=["R", "X"])
    ask = getattr(network, options.question)
    ask(few)  # imports and caches
    before = resource.getrusage(resource.RUSAGE_SELF)
    ask(rows)
    after = resource.getrusage(resource.RUSAGE_SELF)
    print(
        f"{options.question} of {len(rows):,} rows x {rows.shape[1]} columns: "
        f"{(after.ru_maxrss - before.ru_maxrss) / 1024:.0f} MiB, {after.ru_utime - before.ru_utime:.2f} s user, "
        f"{after.ru_stime - before.ru_stime:.2f} s system"
    )


if __name__ == "__main__":
    main()
