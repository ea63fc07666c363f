"""How long does the proof of the best graph take, and how much memory? ``HillClimbSearch(strategy="exact")``.

    python tests/benchmarks/exact.py                       # the whole table: some minutes
    python tests/benchmarks/exact.py --only child 2000 20  # one problem: network, rows, variables

The first variables of networks bundled with pgmpy, in the order of their files, 2 000 rows each; a process for each.
"""

import argparse
import json
import subprocess
import sys
from pathlib import Path
from time import process_time

#: Network, rows, variables, score.
PROBLEMS = (
    ("child", 2_000, 16, "bic"),
    ("child", 2_000, 20, "bic"),
    ("insurance", 2_000, 20, "bic"),
    ("alarm", 2_000, 25, "bic"),
    ("insurance", 2_000, 25, "bic"),
    ("hailfinder", 2_000, 25, "bic"),
)


def read_memory(figure):
    """Return a figure of this process in MB."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) / 1024 for line in lines if line.startswith(figure))


def measure(network, n_rows, n, score):
    """Print one record: seconds of one thread, peak memory beyond what the process held before, and the scores."""
    from pgmx.data import encode
    from pgmx.datasets import load_network, sample
    from pgmx.estimators import HillClimbSearch

    table = encode(sample(load_network(network), n_rows, random_state=0).iloc[:, :n])
    record = {"problem": f"{network} {n}", "rows": n_rows, "score": score}
    for strategy in ("greedy", "thorough", "exact"):
        Path("/proc/self/clear_refs").write_text("5")  # Linux: the peak begins again
        before = read_memory("VmRSS")
        began = process_time()
        learner = HillClimbSearch(scoring_method=score, strategy=strategy, show_progress=False).fit(table)
        record[strategy] = learner.score_
        record["seconds"] = process_time() - began
        record["MB"] = read_memory("VmHWM") - before
    record["proven"] = learner.proven_
    print(json.dumps(record))


def print_table():
    print("| problem | rows | score | proven | CPU s | MB | optimum | greedy | thorough |\n|" + "---|" * 9)
    for network, n_rows, n, score in PROBLEMS:
        command = [sys.executable, __file__, "--only", network, str(n_rows), str(n), score]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        r = json.loads(done.stdout.splitlines()[-1])
        lower = [f"{r[name] - r['exact']:.1f}" for name in ("greedy", "thorough")]
        facts = [r["problem"], r["rows"], score, r["proven"], f"{r['seconds']:.2f}", f"{r['MB']:.0f}"]
        print("|", " | ".join(map(str, [*facts, f"{r['exact']:.1f}", *lower])), "|", flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", metavar="WORD", help="network, rows, variables and the score (bic)")
    only = parser.parse_args().only
    if only is None:
        print_table()
    else:
        measure(only[0], int(only[1]), int(only[2]), only[3] if len(only) > 3 else "bic")
