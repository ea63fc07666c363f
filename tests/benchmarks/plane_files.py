"""Time to verify a plane file at its first use, compared with the learning call that follows: user-CPU seconds.

python tests/benchmarks/plane_files.py --repeat 7
"""

import argparse
import statistics
import tempfile
from pathlib import Path
from resource import RUSAGE_SELF, getrusage

from pgmx.data import open_table, write_table
from pgmx.datasets import load_network, sample
from pgmx.estimators import HillClimbSearch

TABLES = [("alarm", 10_000), ("alarm", 1_000_000), ("andes", 100_000), ("link", 10_000)]


def measure(action):
    """Return the user-CPU seconds of a call."""
    before = getrusage(RUSAGE_SELF).ru_utime
    action()
    return getrusage(RUSAGE_SELF).ru_utime - before


def compare(path, repeat):
    """Return the median seconds of verification and of a climb, and the median of their ratios."""
    turns = []
    for _ in range(repeat):
        table = open_table(path)
        verification = measure(lambda table=table: (table.codes, table.planes))
        search = HillClimbSearch(show_progress=False, scoring_method="bic")
        turns.append((verification, measure(lambda table=table, search=search: search.fit(table))))
    middle = [statistics.median(seconds) for seconds in zip(*turns, strict=True)]
    return *middle, statistics.median(a / b for a, b in turns)


def main():
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--repeat", type=int, default=7)
    options = parser.parse_args()
    print("| table | MB | verification, s | climb, s | share |\n| --- | ---: | ---: | ---: | ---: |")
    for name, rows in TABLES:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "table.pgmx"
            write_table(sample(load_network(name), rows, random_state=0), path)
            size = path.stat().st_size / 1e6
            verification, climb, share = compare(path, options.repeat)
        print(f"| {name}, {rows:,} rows | {size:.1f} | {verification:.4f} | {climb:.4f} | {share:.1%} |", flush=True)


if __name__ == "__main__":
    main()
