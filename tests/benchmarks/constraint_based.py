"""PC compared with pybnesian, causal-learn and pgmpy: the same rows, tests and level; times and distances of graphs.

    python tests/benchmarks/constraint_based.py                           # half an hour, most of it the peers
    python tests/benchmarks/constraint_based.py --cells alarm gauss-100-4 --rows 1000 --limit 20
    python tests/benchmarks/constraint_based.py --programs pgmx "pgmx majority" thorough

Discrete cells are rows of networks that pgmpy bundles, tested by chi-square; ``gauss-N-D`` are rows of a random linear
Gaussian network of N variables and mean degree D (weights of .3 to 1 of either sign, unit noise), tested by Fisher's z.
The level is .01, sets have at most 5 variables, and the columns are permuted. A peer that is not installed is left out.
Each call is a process of its own. Its user-CPU seconds are those of the call alone, from the frame to the graph. SHD is
the number of pairs of variables whose marks differ from the marks of the true equivalence class. A program first learns
from four columns, so that its first call is not timed.
"""

import argparse
import importlib.util
import json
import os
import resource
import subprocess
import sys
import warnings
from contextlib import suppress
from pathlib import Path

import numpy as np
import pandas as pd

CELLS = ("alarm", "child", "insurance", "hailfinder", "win95pts", "andes", "gauss-100-4")
PROGRAMS = (
    "pgmx",
    "pgmx pvalue",
    "pgmx majority",
    "pgmx conservative",
    "pgmx moments",
    "pybnesian",
    "causal-learn",
    "pgmpy",
    "greedy",
    "thorough",
    "ges",
)
MODULES = {"pybnesian": "pybnesian", "causal-learn": "causallearn", "pgmpy": "pgmpy"}
LEVEL, MOST = 0.01, 5


def draw_problem(cell, n_rows, seed=0):
    """Return a frame of rows with permuted columns, and the edges of the true network."""
    rng = np.random.default_rng([seed, 7])
    if not cell.startswith("gauss"):
        from pgmx.datasets import load_network, sample

        truth = load_network(cell)
        frame = sample(truth, n_rows, random_state=seed)
        return frame[list(rng.permutation(list(frame)))], list(truth.edges())
    n, degree = map(int, cell.split("-")[1:])
    names = [f"v{v:05d}" for v in range(n)]
    order = rng.permutation(n)
    weights = (
        np.triu(rng.random((n, n)) < degree / (n - 1), 1) * rng.uniform(0.3, 1, (n, n)) * rng.choice([-1, 1], (n, n))
    )
    rows = np.empty((n_rows, n))
    for v in range(n):
        rows[:, v] = rows[:, :v] @ weights[:v, v] + rng.normal(size=n_rows)
    frame = pd.DataFrame(rows, columns=[names[v] for v in order])
    edges = [(names[order[u]], names[order[v]]) for u, v in np.argwhere(weights).tolist()]
    return frame[list(rng.permutation(names))], edges


def mark_edges(names, directed, undirected):
    """Return bool (n, n): [i, j] for i -> j, and both ways for undirected edges."""
    at = {name: i for i, name in enumerate(names)}
    marks = np.zeros((len(names), len(names)), dtype=bool)
    for u, v in directed:
        marks[at[u], at[v]] = True
    for u, v in undirected:
        marks[at[u], at[v]] = marks[at[v], at[u]] = True
    return marks


def mark_class(names, edges):
    """Return the marks of the equivalence class of a DAG."""
    from pgmx.models import cpdag

    at = {name: i for i, name in enumerate(names)}
    directed, undirected = cpdag(len(names), [(at[u], at[v]) for u, v in edges])
    return mark_edges(range(len(names)), directed, undirected)


def run_program(program, frame, names):
    """Return the marks of the learned graph, and the user-CPU seconds of the call."""
    continuous = all(dtype.kind == "f" for dtype in frame.dtypes)
    with suppress(Exception):  # a first call imports; some programs refuse so small a table
        _prepare(program, frame.iloc[:300, :4], continuous)()
    learn = _prepare(program, frame, continuous)
    began = resource.getrusage(resource.RUSAGE_SELF).ru_utime
    result = learn()
    seconds = resource.getrusage(resource.RUSAGE_SELF).ru_utime - began
    if program == "causal-learn":
        matrix = result.G.graph  # [i, j] = -1, [j, i] = 1: i -> j; both -1: i - j
        return ((matrix == -1) & (np.abs(matrix.T) == 1)), seconds
    if program == "pybnesian":
        return mark_edges(names, result.arcs(), result.edges()), seconds
    return mark_edges(names, result.directed_edges, result.undirected_edges), seconds


def _prepare(program, frame, continuous):
    """Return a function that learns a graph with a program."""
    if program.startswith("pgmx"):
        from pgmx.estimators import PC

        rule = program.removeprefix("pgmx").strip()
        test = "fisher_z" if continuous else "chi_square_moments" if rule == "moments" else "chi_square"
        rule = None if rule in ("", "moments") else rule
        return lambda: PC(ci_test=test, orient_rule=rule, show_progress=False).fit(frame).graph_
    if program == "pybnesian":
        import pybnesian

        table = frame if continuous else frame.astype(str).astype("category")

        def learn():
            make = pybnesian.LinearCorrelation if continuous else pybnesian.ChiSquare
            return pybnesian.PC().estimate(make(table), alpha=LEVEL, allow_bidirected=False)

        return learn
    if program == "causal-learn":
        from causallearn.search.ConstraintBased.PC import pc

        cells = frame.to_numpy() if continuous else frame.apply(lambda column: pd.factorize(column)[0]).to_numpy()
        options = {"stable": True, "uc_rule": 0, "show_progress": False}
        return lambda: pc(cells, LEVEL, "fisherz" if continuous else "chisq", **options)
    if program == "pgmpy":
        from pgmpy.causal_discovery import PC as TheirPC

        test = "fisher_z" if continuous else "chi_square"
        return lambda: TheirPC(variant="stable", ci_test=test, show_progress=False, n_jobs=1).fit(frame).causal_graph_
    from pgmx.estimators import GreedyEquivalenceSearch, HillClimbSearch

    if program == "ges":
        return lambda: GreedyEquivalenceSearch(show_progress=False).fit(frame).graph_
    return lambda: HillClimbSearch(strategy=program, return_type="pdag", show_progress=False).fit(frame).graph_


def measure(program, cell, n_rows):
    """Print the figures of one call as JSON: this is the work of a process."""
    warnings.simplefilter("ignore")
    frame, edges = draw_problem(cell, n_rows)
    names = list(frame)
    true = mark_class(names, edges)
    marks, seconds = run_program(program, frame, names)
    upper = np.triu_indices(len(names), 1)
    found, wanted = (marks | marks.T)[upper], (true | true.T)[upper]
    differs = ((marks != true) | (marks.T != true.T))[upper]
    figures = {
        "seconds": seconds,
        "shd": int(differs.sum()),
        "edges": int(found.sum()),
        "precision": float((found & wanted).sum() / max(found.sum(), 1)),
        "recall": float((found & wanted).sum() / wanted.sum()),
        "megabytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    }
    print(json.dumps(figures))


def call(program, cell, n_rows, limit):
    """Return the figures of a process with a time limit, None beyond it or if the program fails."""
    command = [sys.executable, __file__, "--measure", program, cell, str(n_rows)]
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=limit, env=environment)
    except subprocess.TimeoutExpired:
        return None
    if done.returncode:
        print(done.stderr[-500:], file=sys.stderr)
        return None
    return json.loads(done.stdout.strip().splitlines()[-1])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cells", nargs="*", default=CELLS)
    parser.add_argument("--rows", nargs="*", type=int, default=(1_000, 10_000))
    parser.add_argument("--programs", nargs="*", default=PROGRAMS)
    parser.add_argument("--limit", type=float, default=60, help="seconds of a process")
    parser.add_argument("--repeats", type=int, default=1, help="processes of pgmx; the least time counts")
    parser.add_argument("--measure", nargs=3, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.measure:
        program, cell, n_rows = options.measure
        measure(program, cell, int(n_rows))
        return
    programs = [p for p in options.programs if p not in MODULES or importlib.util.find_spec(MODULES[p])]
    print("| cell | rows |", " | ".join(programs), "|")
    print("|---|---|" + "---|" * len(programs))
    for cell in options.cells:
        for n_rows in options.rows:
            entries = []
            for program in programs:
                n_calls = 1 if program in MODULES else options.repeats
                figures = [one for _ in range(n_calls) if (one := call(program, cell, n_rows, options.limit))]
                if not figures:
                    entries.append(f"none in {options.limit:g} s")
                    continue
                best = min(figures, key=lambda one: one["seconds"])
                entries.append(f"{best['shd']} ({best['seconds']:.3g} s; {best['precision']:.2f}/{best['recall']:.2f})")
            print(f"| {Path(cell).name} | {n_rows:,} |", " | ".join(entries), "|", flush=True)


if __name__ == "__main__":
    main()
