"""Time of greedy search with interventions, divided by the time for the same rows without.

Half of the rows are single experiments, with equal numbers of rows for each variable. Both times are from the frame.
They alternate in one process, so that a busy machine slows both; the median and the smallest CPU seconds of
several rounds are reported. Run with OPENBLAS_NUM_THREADS=1.
"""

import argparse
import statistics
import time

import numpy as np
import pandas as pd
from intervention_recovery import draw_rows

from pgmx.datasets import load_network
from pgmx.estimators import HillClimbSearch


def draw_mixed(n_variables, n_rows, discrete, seed=0):
    """Return rows of a random network with in-degree at most 2; set variables are drawn again, without their parents.

    Every second variable is discrete if `discrete` is set, with 3 states and discrete parents only.
    """
    rng = np.random.default_rng(seed)
    target = np.where(np.arange(n_rows) % 2, (np.arange(n_rows) // 2) % n_variables, -1)
    numbers, columns = np.empty((n_variables, n_rows)), {}
    for v in range(n_variables):
        has_states = discrete and v % 2 == 1
        usable = [u for u in range(v) if not has_states or u % 2 == 1]
        parents = rng.choice(usable, min(2, len(usable)), replace=False) if usable else []
        value = rng.normal(size=n_rows)
        for u in parents:
            value += np.where(target == v, 0.0, rng.choice([-0.8, 0.8]) * numbers[u])
        numbers[v] = np.digitize(value, [-0.7, 0.7]) if has_states else value
        columns[f"v{v}"] = numbers[v].astype(int) if has_states else value
    was_set = pd.DataFrame({f"v{v}": target == v for v in range(n_variables)})
    return pd.DataFrame(columns), was_set


def make_tables():
    """Return a function that makes each table, by what is reported."""
    alarm = load_network("alarm")
    tables = {f"alarm, {n:,} rows": lambda n=n: draw_rows(alarm, n, 0.5, 1, 0) for n in (1_000, 10_000, 100_000)}
    for p, n in ((50, 2_000), (50, 20_000), (200, 10_000)):
        tables[f"{p} continuous variables, {n:,} rows"] = lambda p=p, n=n: draw_mixed(p, n, False)
    for p, n in ((20, 5_000), (40, 20_000)):
        tables[f"{p} variables, half of them discrete, {n:,} rows"] = lambda p=p, n=n: draw_mixed(p, n, True)
    return tables


def measure(data, **known):
    """Return the smallest CPU seconds of some fits, and its number of moves."""
    best, total = np.inf, 0.0
    while total < 0.1:
        start = time.process_time()
        found = HillClimbSearch(show_progress=False).fit(data, **known)
        seconds = time.process_time() - start
        best, total = min(best, seconds), total + seconds
    return best, found.n_iter_


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--only", default="", help="tables whose description has this text")
    arguments = parser.parse_args()
    print("| data | without | with | ratio | moves without, with |")
    for text, make in make_tables().items():
        if arguments.only not in text:
            continue
        data, was_set = make()
        rounds = [(measure(data), measure(data, interventions=was_set)) for _ in range(arguments.rounds)]
        without, known = min(a[0] for a, _ in rounds), min(b[0] for _, b in rounds)
        ratio = statistics.median(b[0] / a[0] for a, b in rounds)
        moves = f"{rounds[0][0][1]}, {rounds[0][1][1]}"
        print(f"| {text} | {1e3 * without:.1f} ms | {1e3 * known:.1f} ms | {ratio:.2f} | {moves} |", flush=True)


if __name__ == "__main__":
    main()
