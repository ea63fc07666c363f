"""`estimate_cost` of structural EM and the measured peak of memory of fits, a process for each.

    python tests/benchmarks/missing_memory.py                # all cases
    python tests/benchmarks/missing_memory.py "child 10k, 20 %"

Values are missing completely at random: ``default_rng(1000 q).random(shape) < q / 100`` for q %. The peak is
the growth of the resident memory during `fit`, with every array newly mapped (``MALLOC_MMAP_THRESHOLD_``).
"""

import gc
import json
import os
import subprocess
import sys
import time
import warnings
from pathlib import Path

import numpy as np
from memory import read_status

#: Name of a network or kind of table, rows, percent of missing values, columns or strategy.
CASES = {
    "alarm 5k, 10 %": ("alarm", 5_000, 10, "greedy"),
    "alarm 5k, 30 %": ("alarm", 5_000, 30, "greedy"),
    "alarm 5k, 30 %, thorough": ("alarm", 5_000, 30, "thorough"),
    "alarm 30k, 10 %": ("alarm", 30_000, 10, "greedy"),
    "child 10k, 20 %": ("child", 10_000, 20, "greedy"),
    "insurance 5k, 20 %": ("insurance", 5_000, 20, "greedy"),
    "hepar2 2k, 10 %": ("hepar2", 2_000, 10, "greedy"),
    "asia 100k, 10 %": ("asia", 100_000, 10, "greedy"),
    "continuous 20k x 100, 20 %": ("continuous", 20_000, 20, 100),
    "continuous 10k x 50, 20 %": ("continuous", 10_000, 20, 50),
    "continuous 2k x 200, 20 %": ("continuous", 2_000, 20, 200),
    "continuous 200k x 10, 10 %": ("continuous", 200_000, 10, 10),
    "mixed 10k x 50, 30 %": ("mixed", 10_000, 30, 50),
    "mixed 2k x 50, 30 %": ("mixed", 2_000, 30, 50),
    "mixed 100k x 10, 10 %": ("mixed", 100_000, 10, 10),
}
MAPPED = {"MALLOC_MMAP_THRESHOLD_": "32768", "MALLOC_TRIM_THRESHOLD_": "0", "MALLOC_TOP_PAD_": "0"}


def make_table(kind, n_rows, share, columns):
    """Return rows with missing values."""
    from gaussian_networks import gaussian_table
    from mixed import mixed_table

    from pgmx.datasets import load_network, sample

    if kind == "continuous":
        rows = gaussian_table(n_rows, columns, 100)[0]
    elif kind == "mixed":
        rows = mixed_table(n_rows, columns // 2, columns // 2, 100)[0]
    else:
        rows = sample(load_network(kind), n_rows, random_state=1)
    table = rows.mask(np.random.default_rng(1000 * share).random(rows.shape) < share / 100)
    return table.astype(rows.dtypes.to_dict())


def measure(name):
    """Print estimate, peak and seconds of a case as JSON."""
    from pgmx.estimators import HillClimbSearch

    warnings.simplefilter("ignore", UserWarning)
    kind, n_rows, share, more = CASES[name]
    table = make_table(kind, n_rows, share, more)
    learner = HillClimbSearch(missing="em", strategy=more if isinstance(more, str) else "greedy", show_progress=False)
    learner.fit(table.iloc[:100, :4])  # what is imported late
    cost = learner.estimate_cost(table)
    gc.collect()
    Path("/proc/self/clear_refs").write_text("5")
    start, began = read_status("VmRSS"), time.process_time()
    learner.fit(table)
    seconds = time.process_time() - began
    print(json.dumps([cost.total, read_status("VmHWM") - start, seconds]))


def main():
    """Measure all cases."""
    print("| case | bound, MB | peak, MB | bound / peak | CPU seconds |\n|---|---|---|---|---|")
    for name in CASES:
        command = [sys.executable, "-W", "ignore", __file__, name]
        run = subprocess.run(command, capture_output=True, text=True, check=True, env=os.environ | MAPPED)
        total, peak, seconds = json.loads(run.stdout)
        figures = f"{total / 1e6:.0f} | {peak / 1e6:.0f} | {total / peak:.1f} | {seconds:.2g}"
        print(f"| {name} | {figures} |", flush=True)


if __name__ == "__main__":
    if len(sys.argv) > 1:
        measure(sys.argv[1])
    else:
        main()
