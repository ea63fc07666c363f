"""`estimate_cost` of the Markov learners and the measured peak of fits, each in a process of its own.

``python tests/benchmarks/memory_markov.py`` measures all cases but the large one and prints a table; with the names of
cases, these. Every variable copies one of the fifty before it in a share of the rows.
"""

import gc
import json
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
from memory import read_status

#: name: (class, its options, variables, states, rows, share of the rows that are copied)
CASES = {
    "edge grafting, 400 x 3 states x 5,000": ("EdgeGrafting", {"batch": True}, 400, 3, 5_000, 0.6),
    "group lasso, 800 x 3 x 5,000": ("GroupLassoMarkovNetwork", {}, 800, 3, 5_000, 0.6),
    "best choice, 400 x 3 x 5,000": ("BestChoiceEdgeGrafting", {"lam": 0.02}, 400, 3, 5_000, 0.6),
    "online, 1,500 x 3 x 2,000": ("OnlineEdgeGrafting", {"lam": 0.05}, 1_500, 3, 2_000, 0.6),
    "best choice, 3,000 x 3 x 2,000": ("BestChoiceEdgeGrafting", {"lam": 0.05}, 3_000, 3, 2_000, 0.6),
    "best choice, Bethe, 2,000 x 3 x 2,000, 2,000 edges": (
        "BestChoiceEdgeGrafting",
        {"lam": 0.05, "loss": "bethe", "max_edges": 2_000},
        *(2_000, 3, 2_000, 0.6),
    ),
    "first hit, 4,000 x 5 x 2,500, 3,200 edges": (
        "FirstHitEdgeGrafting",
        {"lam": 0.01, "max_edges": 3_200},
        *(4_000, 5, 2_500, 0.4),
    ),
    "best choice, 4,000 x 5 x 2,500, 3,200 edges": (
        "BestChoiceEdgeGrafting",
        {"lam": 0.01, "max_edges": 3_200},
        *(4_000, 5, 2_500, 0.4),
    ),
    "best choice, 20,000 x 5 x 2,500, 16,000 edges": (
        "BestChoiceEdgeGrafting",
        {"lam": 0.01, "max_edges": 16_000},
        *(20_000, 5, 2_500, 0.4),
    ),
}
LARGE = "best choice, 20,000 x 5 x 2,500, 16,000 edges"


def make_table(n, states, rows, share):
    """Return a table in which variables copy earlier ones."""
    from pgmx.data import DiscreteTable

    rng = np.random.default_rng(0)
    codes = rng.integers(0, states, (n, rows)).astype(np.uint8)
    for v in range(1, n):
        parent = codes[rng.integers(max(0, v - 50), v)]
        codes[v] = np.where(rng.random(rows) < share, parent, codes[v])
    return DiscreteTable(range(n), [range(states)] * n, codes)


def measure(name):
    """Print estimate, peak and seconds of a case as JSON."""
    from pgmx import estimators

    kind, options, *sizes = CASES[name]
    estimators.EdgeGrafting(show_progress=False).fit(np.random.default_rng(0).integers(0, 2, (50, 4)))
    learner, table = getattr(estimators, kind)(show_progress=False, **options), make_table(*sizes)
    gc.collect()
    Path("/proc/self/clear_refs").write_text("5")
    start, seconds = read_status("VmRSS") - table.codes.nbytes, time.process_time()
    learner.fit(table)
    seconds, peak = time.process_time() - seconds, read_status("VmHWM") - start
    cost = learner.estimate_cost(table)
    figures = {"total": cost.total, "peak": peak, "seconds": seconds}
    print(json.dumps({**figures, "edges": learner.n_activated_, "tests": learner.n_tests_}))


def main(names):
    """Measure cases, each in a process of its own."""
    print("| case | bound, MB | peak, MB | bound / peak | CPU seconds | tests |")
    print("|---|---|---|---|---|---|")
    for name in names:
        command = [sys.executable, "-W", "ignore", __file__, "measure", name]
        r = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
        total, peak = r["total"] / 1e6, r["peak"] / 1e6
        print(
            f"| {name} | {total:.0f} | {peak:.0f} | {total / peak:.1f} | {r['seconds']:.2g} | {r['tests']:,} |",
            flush=True,
        )


if __name__ == "__main__":
    if sys.argv[1:2] == ["measure"]:
        measure(sys.argv[2])
    else:
        main(sys.argv[1:] or [name for name in CASES if name != LARGE])
