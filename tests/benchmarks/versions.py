"""Two checkouts of pgmx on the lines of the README's tables, in turns: user-CPU seconds and their ratio.

    python tests/benchmarks/versions.py OLD NEW --repeat 7

OLD and NEW are checkouts with their kernels built in place. One worker per checkout makes each table once and answers
with the user-CPU seconds of one call; calls of the two alternate. The ratio of a line is the median of new / old over
the alternating runs. ``--lines PATTERN`` takes the lines whose name holds the pattern, ``--most`` leaves out slower
ones.
"""

import argparse
import fnmatch
import os
import statistics
import subprocess
import sys
from resource import RUSAGE_SELF, getrusage

SIZES = {
    "alarm": (1_000, 10_000, 100_000, 1_000_000),
    "hailfinder": (10_000,),
    "win95pts": (10_000,),
    "andes": (1_000, 10_000, 100_000),
    "pigs": (10_000,),
    "link": (1_000, 10_000, 100_000),
}
THOROUGH = ("alarm", "insurance", "hailfinder", "win95pts", "hepar2", "munin1", "andes", "pigs", "link")
SLOW_UNDER_BDEU = ("munin1", "link")  # minutes a call
MARKOV = {
    "GroupLassoMarkovNetwork": {},
    "EdgeGrafting": {},
    "EdgeGrafting batch": {"batch": True},
    "OnlineEdgeGrafting": {"alpha": 0.5},
    "BestChoiceEdgeGrafting": {"alpha": 0.0},
    "FirstHitEdgeGrafting": {},
}
BLOCK = 0.2  # seconds: shorter calls are measured in blocks of about this length


def list_lines():
    """Return the names of all lines."""
    lines = [f"climb {name} {rows}" for name, sizes in SIZES.items() for rows in sizes]
    lines += [f"thorough bic {name}" for name in THOROUGH]
    lines += [f"thorough bdeu {name}" for name in THOROUGH if name not in SLOW_UNDER_BDEU]
    lines += ["forest binary 4000", "forest link", "bootstrap alarm"]
    lines += [f"markov {n} {method}" for n in (200, 400, 600) for method in MARKOV]
    lines += ["pair tables 600", "bethe batch 600", "bethe best-choice 600"]
    lines += [f"glasso {p}" for p in (500, 1000)]
    return [*lines, "clime path 1000", "neighborhood 500", "kendall 1000"]


# ---- the worker of one checkout ----


def sample_table(name, rows, seed=0):
    """Return a coded table of rows of a bundled network, columns permuted."""
    import numpy as np

    from pgmx.data import encode
    from pgmx.datasets import load_network, sample

    frame = sample(load_network(name), rows, random_state=0)
    table = encode(frame[list(np.random.default_rng(seed).permutation(frame.columns))])
    _ = table.planes  # built on first access, outside the clock
    return table


def sample_markov(n):
    """Return rows of a random Markov network as in the papers, fewer of them drawn by the same sampler."""
    from pgmx.datasets import preferential_attachment_network, sample_markov_network

    network = preferential_attachment_network(n, 5, random_state=0)
    return sample_markov_network(network, 19_000, burn_in=200, thinning=2, random_state=0)


def sample_correlation(p, n):
    """Return the correlation matrix of n rows of a random Gaussian network of mean degree 3."""
    import numpy as np

    from pgmx.datasets import gaussian_random_network

    rows = gaussian_random_network(p, mean_degree=3, random_state=0).simulate(n, random_state=0).to_numpy()
    return rows, np.corrcoef(rows, rowvar=False)


class Tasks:
    """The calls of one checkout by the name of the line, tables made once."""

    def __init__(self):
        self._tables = {}

    def table(self, make, *arguments):
        """Return what `make` returns for the arguments, made at the first call."""
        key = (make.__name__, *arguments)
        if key not in self._tables:
            self._tables = {key: make(*arguments)}  # one at a time: memory
        return self._tables[key]

    def call(self, line):
        """Return the function that the clock runs for a line."""
        import numpy as np

        from pgmx import estimators

        kind, *rest = line.split()
        quiet = {"show_progress": False}
        if kind in {"climb", "thorough"}:
            name, rows = (rest[0], int(rest[1])) if kind == "climb" else (rest[1], 10_000)
            options = {"scoring_method": "bic"} if kind == "climb" else {"scoring_method": rest[0], "strategy": kind}
            search = estimators.HillClimbSearch(return_type="dag", **quiet, **options)
            table = self.table(sample_table, name, rows)
            return lambda: search.fit(table).graph_
        if line == "forest binary 4000":
            cells = np.random.default_rng(0).integers(0, 2, (10_000, 4_000), dtype=np.int8)
            return lambda: estimators.ChowLiuForest().fit(cells)
        if line == "forest link":
            table = self.table(sample_table, "link", 10_000)
            return lambda: estimators.ChowLiuForest().fit(table)
        if line == "bootstrap alarm":
            table = self.table(sample_table, "alarm", 10_000)
            learner = estimators.HillClimbSearch(scoring_method="bic", **quiet)
            return lambda: estimators.BootstrapStructure(learner, n_resamples=20, **quiet).fit(table)
        if kind == "markov":
            rows, options = self.table(sample_markov, int(rest[0])), MARKOV[" ".join(rest[1:])]
            learner = getattr(estimators, rest[1])(lam=0.01, l2=0.005, **quiet, **options)
            return lambda: learner.fit(rows)
        if line == "pair tables 600":
            from pgmx.statistics import PairTables

            rows = self.table(sample_markov, 600)
            return lambda: PairTables(rows).prepare()
        if kind == "bethe":
            rows = self.table(sample_markov, 600)
            options = {"lam": 0.01, "l2": 0.005, "loss": "bethe", "max_edges": 1800, **quiet}
            if rest[0] == "batch":
                return lambda: estimators.EdgeGrafting(batch=True, **options).fit(rows)
            return lambda: estimators.BestChoiceEdgeGrafting(alpha=0.0, **options).fit(rows)
        p = int(rest[-1])
        rows, matrix = self.table(sample_correlation, p, 2 * p)
        known = {"covariance": "precomputed", "n_samples": 2 * p, **quiet}
        unit = np.sqrt(np.log(p) / (2 * p))
        if kind == "glasso":
            return lambda: estimators.GraphicalLasso(lam=unit, **known).fit(matrix)
        if kind == "clime":
            return lambda: estimators.CLIME(**known).path(matrix, lams=np.geomspace(4.0, 1.0, 10) * unit)
        if kind == "neighborhood":
            return lambda: estimators.NeighborhoodLasso(lam=unit, **known).fit(matrix)
        from pgmx.statistics import kendall_tau_matrix

        first = np.ascontiguousarray(rows[:1000])
        return lambda: kendall_tau_matrix(first)


def used():
    """Return the user-CPU seconds of this process so far."""
    return getrusage(RUSAGE_SELF).ru_utime


def work():
    """Answer lines of standard input with the user-CPU seconds of one call."""
    import warnings

    warnings.simplefilter("ignore")
    tasks, current, call, n = Tasks(), None, None, 1
    for line in map(str.strip, sys.stdin):
        if line != current:
            current, call = line, tasks.call(line)
            before = used()
            call()
            seconds = used() - before
            before = used()
            n = max(1, round(BLOCK / max(seconds, 1e-4))) if seconds < BLOCK else 1
        before = used()
        for _ in range(n):
            call()
        print((used() - before) / n, flush=True)


# ---- the comparison ----


def start(checkout):
    """Return a worker that imports pgmx from a checkout."""
    variables = {"PYTHONPATH": str(checkout), "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    command = [sys.executable, os.path.abspath(__file__), "--worker"]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    return subprocess.Popen(command, env={**os.environ, **variables}, cwd=checkout, **pipes)


def ask(worker, line):
    """Return the seconds of one call of a worker."""
    worker.stdin.write(line + "\n")
    worker.stdin.flush()
    answer = worker.stdout.readline()
    if not answer:
        raise RuntimeError(f"the worker ended at {line!r}")
    return float(answer)


def main():
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("checkouts", nargs="*", metavar="CHECKOUT", help="old and new")
    parser.add_argument("--repeat", type=int, default=7)
    parser.add_argument("--lines", default="*", help="pattern of the lines to run")
    parser.add_argument("--most", type=float, default=60.0, help="seconds of a call above which a line runs once")
    parser.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.worker:
        return work()
    old, new = map(start, options.checkouts)
    print("| line | old, s | new, s | new / old |\n| --- | ---: | ---: | ---: |")
    for line in fnmatch.filter(list_lines(), options.lines):
        turns = []
        while len(turns) < options.repeat and not (turns and sum(turns[0]) > 2 * options.most):
            first, second = (old, new) if len(turns) % 2 == 0 else (new, old)
            seconds = {id(first): ask(first, line), id(second): ask(second, line)}
            turns.append((seconds[id(old)], seconds[id(new)]))
        middle = [statistics.median(values) for values in zip(*turns, strict=True)]
        ratio = statistics.median(b / a for a, b in turns)
        print(f"| {line} | {middle[0]:.4g} | {middle[1]:.4g} | {ratio:.3f} |", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
