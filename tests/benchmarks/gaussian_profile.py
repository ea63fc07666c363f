"""Profile of the time of GraphicalLasso, from rows to the network.

Run it from the checkout, with pgmx installed:

    python tests/benchmarks/gaussian_profile.py --out gaussian_profile.json

The sections are measured from outside, by wrapping the functions that read, sweep, certify and build; each moment
is charged to the innermost of them. CPU seconds of one thread, medians over the repeats.
"""

import argparse
import json
import os
import shlex
import sys
from functools import wraps
from pathlib import Path
from statistics import median
from time import process_time

import gaussian_data
from hill_climb import HERE, ONE_THREAD, installed_version, machine
from markov_report import table

#: What is wrapped: part, module, class or None, names.
WRAPPED = (
    ("opening the rows", "pgmx.estimators.gaussian.learner", None, ("open_numeric",)),
    ("correlations", "pgmx.estimators.gaussian.learner", None, ("gaussian_sample",)),
    ("largest penalty", "pgmx.estimators.gaussian.graphical_lasso", "GraphicalLasso", ("_largest_penalty",)),
    ("components", "pgmx.statistics.gaussian.correlations", "DenseCorrelations", ("find_components",)),
    (
        "start",
        "pgmx.solvers.gaussian.dual_ascent",
        "DualAscent",
        ("start", "start_from", "restart", "_restart_safely"),
    ),
    ("certificate: residual and bookkeeping", "pgmx.solvers.gaussian.dual_ascent", "DualAscent", ("_certify",)),
    ("certificate: Cholesky", "pgmx.solvers.gaussian.dual_ascent", None, ("compute_root_pivots",)),
    ("sparse result", "pgmx.solvers.gaussian.graphical_lasso", None, ("assemble_blocks",)),
    ("sparse result", "pgmx.solvers.gaussian.graphical_lasso", "GraphicalLassoPath", ("_keep",)),
    ("network (model_)", "pgmx.estimators.gaussian.learner", None, ("make_network",)),
)
SWEEPS = "sweeps of the columns"
REST = "the rest"
ORDER = [
    "opening the rows",
    "correlations",
    "largest penalty",
    "components",
    "start",
    SWEEPS,
    "certificate: residual and bookkeeping",
    "certificate: Cholesky",
    "sparse result",
    "network (model_)",
    "graph_, precision_, covariance_",
    REST,
]


class Clock:
    """CPU seconds by section, each moment in the innermost one."""

    def __init__(self):
        self.clear()

    def clear(self):
        """Start again."""
        self.seconds, self.calls = dict.fromkeys(ORDER, 0.0), dict.fromkeys(ORDER, 0)
        self._inside, self._since = [REST], process_time()

    def _charge(self):
        now = process_time()
        self.seconds[self._inside[-1]] += now - self._since
        self._since = now

    def __call__(self, part, call):
        """Return the function, its time counted for a section."""

        @wraps(call)
        def outer(*args, **kwargs):
            self._charge()
            self._inside.append(part)
            self.calls[part] += 1
            try:
                return call(*args, **kwargs)
            finally:
                self._charge()
                self._inside.pop()

        return outer

    def stop(self):
        """Charge what has gone by."""
        self._charge()


def instrument(clock):
    """Wrap all sections."""
    import importlib

    from pgmx.solvers.gaussian import dual_ascent

    for part, module, owner, names in WRAPPED:
        home = importlib.import_module(module)
        home = getattr(home, owner) if owner else home
        for name in names:
            setattr(home, name, clock(part, getattr(home, name)))
    inner = dual_ascent.ColumnAscent

    class Timed:
        """A ColumnAscent whose sweeps are charged; the kernel's own class takes no new attributes."""

        def __init__(self, *args):
            self._kernel = inner(*args)
            self.sweep = clock(SWEEPS, self._kernel.sweep)

        def __getattr__(self, name):
            return getattr(self._kernel, name)

    dual_ascent.ColumnAscent = Timed


def measure(problem, multiple, repeat, clock):
    """Return medians by section of fit and of the results that are made when asked for."""
    from pgmx.estimators import GraphicalLasso

    runs = []
    results = clock(
        "graph_, precision_, covariance_", lambda fitted: [fitted.graph_, fitted.precision_, fitted.covariance_]
    )
    for number in range(repeat + 1):
        learner = GraphicalLasso(lam=multiple * problem.unit, show_progress=False)
        clock.clear()
        begin = process_time()
        learner.fit(problem.rows)
        fit = process_time() - begin
        learner.model_  # noqa: B018  made when asked for
        results(learner)
        clock.stop()
        if number:  # the first one warms up
            runs.append({"fit": fit, "seconds": dict(clock.seconds), "calls": dict(clock.calls)})
    return {
        "problem": problem.name,
        "multiple": multiple,
        "fit": median(run["fit"] for run in runs),
        "seconds": {part: median(run["seconds"][part] for run in runs) for part in ORDER},
        "calls": runs[0]["calls"],
        "sweeps": learner.n_iter_,
        "edges": len(learner.edges_),
        "repeat": repeat,
        "load": round(os.getloadavg()[0], 2),
    }


def markdown(results):
    """Return one column a problem."""
    records = results["records"]
    header = ["part", *(f"{r['problem']}, {r['multiple']:g} sqrt(log p / n), ms" for r in records)]
    rows = []
    for part in ORDER:
        cells = []
        for r in records:
            count = r["calls"][part]
            cells.append(f"{1e3 * r['seconds'][part]:.1f}" + (f" ({count} calls)" if count > 1 else ""))
        rows.append([part, *cells])
    rows.append(["fit(rows) in all", *(f"{1e3 * r['fit']:.1f}" for r in records)])
    rows.append(["sweeps, edges", *(f"{r['sweeps']}, {r['edges']:,}" for r in records)])
    where = results["machine"]
    lines = [
        f"Processor: {where['processor']}, {where['cores']} cores; load {min(r['load'] for r in records):.1f} to "
        f"{max(r['load'] for r in records):.1f}; medians of {records[0]['repeat']} runs.",
        f"Made by `{results['command']}`.",
    ]
    return table(header, rows) + "\n\n" + "\n".join(f"- {line}" for line in lines)


def parse(argv):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--problems", nargs="+", default=["er-500-1000", "er-1000-2000"], metavar="GRAPH-P-N")
    parser.add_argument("--repeat", type=int, default=7)
    parser.add_argument("--out", type=Path, default=Path("gaussian_profile.json"))
    parser.add_argument("--report", type=Path, help="only print the table of this file")
    parser.add_argument("--data", type=Path, default=HERE.parents[1] / "build" / "benchmarks", help="sampled rows")
    return parser.parse_args(argv)


def main(argv=None):
    argv = sys.argv[1:] if argv is None else argv
    args = parse(argv)
    if args.report:
        print(markdown(json.loads(args.report.read_text())))
        return
    if any(os.environ.get(name) != count for name, count in ONE_THREAD.items()):
        os.execve(
            sys.executable, [sys.executable, __file__, *argv], {**os.environ, **ONE_THREAD}
        )  # before numpy's BLAS
    told = [Path(word).name if word == str(args.out) else word for word in argv]
    results = {
        "command": shlex.join(["python", "tests/benchmarks/gaussian_profile.py", *told]),
        "machine": machine(),
        "versions": {name: installed_version(name) for name in ("pgmx", "numpy", "scipy")},
        "records": [],
    }
    clock = Clock()
    instrument(clock)
    for name in args.problems:
        graph, p, n = name.split("-")
        problem = gaussian_data.load(gaussian_data.make(args.data, graph, int(p), int(n)))
        results["records"].append(measure(problem, 1.0, args.repeat, clock))
        args.out.write_text(json.dumps(results, indent=1))
    print(markdown(results))


if __name__ == "__main__":
    main()
