"""GreedyEquivalenceSearch on data from experiments, compared with the PyPI package gies on the same rows.

python tests/benchmarks/gies_peer.py --peer /path/to/python-with-gies [--problems 100] [--variables 10]
python tests/benchmarks/gies_peer.py --turning [--problems 100] [--variables 10]

The package runs in its own interpreter. One program scores the graphs of both, by least squares. With --turning, the
phases of the search are compared on rows without interventions.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path
from typing import NamedTuple

import numpy as np

SEARCHES = {
    "GIES": {},
    "GIES from one graph": {"two_graphs": False},
    "each phase once": {"repeat": False},
    "forward and backward, once": {"phases": ("forward", "backward"), "repeat": False},
}


class Problem(NamedTuple):
    """Rows of each experiment, centred, the variables that were set in it, and the true edges."""

    rows: list
    targets: list
    edges: list


def draw_problem(seed: int, n: int, targets: int = 5, n_rows: tuple = (300, 100)) -> Problem:
    """Draw a linear Gaussian network with an edge for a quarter or .45 of the pairs, and rows of it.

    Coefficients are .3 to 1 with random signs, errors have standard deviations of .7 to 1.3. Variables that are set
    are normal with standard deviation 2.
    """
    rng = np.random.default_rng([seed, 40])
    order = rng.permutation(n)
    share = rng.choice([0.25, 0.45])
    slopes = np.zeros((n, n))
    for i in range(n):
        for j in range(i + 1, n):
            if rng.random() < share:
                slopes[order[j], order[i]] = rng.choice([-1, 1]) * rng.uniform(0.3, 1)
    deviations = rng.uniform(0.7, 1.3, n)
    families = [[], *([int(v)] for v in rng.choice(n, min(targets, n), replace=False))]
    rows = []
    for target in families:
        noise = rng.normal(size=(n_rows[bool(target)], n))
        values = np.zeros_like(noise)
        for v in order:
            values[:, v] = 2 * noise[:, v] if v in target else values @ slopes[v] + deviations[v] * noise[:, v]
        rows.append(values - values.mean(axis=0))
    return Problem(rows, families, [(int(u), int(v)) for v in range(n) for u in np.flatnonzero(slopes[v])])


def score_dag(problem: Problem, edges: list) -> float:
    """Return the BIC of Hauser and Bühlmann: each family over the rows in which its variable was not set."""
    total, cost = 0.0, 0.5 * np.log(sum(map(len, problem.rows)))
    for v in range(problem.rows[0].shape[1]):
        chosen = zip(problem.rows, problem.targets, strict=True)
        rows = np.concatenate([some for some, target in chosen if v not in target])
        parents = [tail for tail, head in edges if head == v]
        residual = rows[:, v] - rows[:, parents] @ np.linalg.lstsq(rows[:, parents], rows[:, v], rcond=None)[0]
        total -= 0.5 * len(rows) * (1 + np.log(np.mean(residual**2))) + cost * (len(parents) + 1)
    return total


def run_peer(folder: Path) -> None:
    """Learn with the package gies: for each problem of the folder the matrix of its graph, and seconds."""
    import gies

    found = []
    for path in sorted(folder.glob("*.json")):
        problem = json.loads(path.read_text())
        rows = [np.array(one) for one in problem["rows"]]
        began = time.process_time()
        graph, _ = gies.fit_bic(rows, problem["targets"])
        found.append((np.array(graph != 0).astype(int).tolist(), time.process_time() - began))
    print(json.dumps(found))


def learn(problem: Problem, options: dict) -> tuple[list, float]:
    """Return the edges of a DAG of the learned class, and seconds of CPU from the frame to the graph."""
    import pandas as pd

    from pgmx.estimators import GreedyEquivalenceSearch
    from pgmx.search.dag import equivalence

    n = problem.rows[0].shape[1]
    frame = pd.DataFrame(np.concatenate(problem.rows), columns=[f"x{v}" for v in range(n)])
    is_set = [np.isin(np.arange(n), target) for target in problem.targets]
    sets = pd.DataFrame(np.repeat(is_set, list(map(len, problem.rows)), axis=0), columns=frame.columns)
    options = dict(options)
    # the climb from the second graph begins above a number of edges per variable
    most = equivalence.MOST_EDGES_PER_VARIABLE
    equivalence.MOST_EDGES_PER_VARIABLE = most if options.pop("two_graphs", True) else np.inf
    began = time.process_time()
    search = GreedyEquivalenceSearch(scoring_method="bic-g", show_progress=False, **options)
    edges = search.fit(frame, interventions=sets).edges_
    seconds = time.process_time() - began
    equivalence.MOST_EDGES_PER_VARIABLE = most
    return [(tail, head) for tail, head in edges.tolist()], seconds


def read_graph(matrix: list) -> tuple[list, list]:
    """Return the directed and the undirected edges of a matrix."""
    ones = {(int(u), int(v)) for u, v in zip(*np.nonzero(np.array(matrix)), strict=True)}
    directed = sorted((u, v) for u, v in ones if (v, u) not in ones)
    return directed, sorted((u, v) for u, v in ones if (v, u) in ones and u < v)


def compare(problems: list, peer: str) -> None:
    """Print a line of the table per search."""
    from pgmx.graphs.consensus import make_marks
    from pgmx.graphs.extension import extend_to_dag
    from pgmx.models import cpdag

    with tempfile.TemporaryDirectory() as folder:
        for i, problem in enumerate(problems):
            text = json.dumps({"rows": [one.tolist() for one in problem.rows], "targets": problem.targets})
            Path(folder, f"{i:05}.json").write_text(text)
        command = [peer, __file__, "--folder", folder]
        found = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    n = problems[0].rows[0].shape[1]
    theirs = [read_graph(matrix) for matrix, _ in found]
    scores = []
    for problem, graph in zip(problems, theirs, strict=True):
        edges = [(int(u), int(v)) for u, v in extend_to_dag(n, make_marks(*graph))]
        scores.append(score_dag(problem, edges))
    print("| search | seconds | higher | equal | lower | same class if equal | true class | mean difference |")
    print("| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |")
    true = [cpdag(n, problem.edges, targets=problem.targets) for problem in problems]
    n_true = sum(a == b for a, b in zip(theirs, true, strict=True))
    print(f"| gies | {np.mean([seconds for _, seconds in found]):.4f} | | | | | {n_true} | |")
    for name, options in SEARCHES.items():
        learn(problems[0], options)  # imports
        ours = [learn(problem, options) for problem in problems]
        graphs = [cpdag(n, one[0], targets=problem.targets) for one, problem in zip(ours, problems, strict=True)]
        gaps = [score_dag(p, one[0]) - score for p, one, score in zip(problems, ours, scores, strict=True)]
        same = [a == b for a, b, gap in zip(graphs, theirs, gaps, strict=True) if abs(gap) < 1e-6]
        n_true = sum(a == b for a, b in zip(graphs, true, strict=True))
        counts = [sum(gap > 1e-6 for gap in gaps), len(same), sum(gap < -1e-6 for gap in gaps), sum(same), n_true]
        line = " | ".join(map(str, counts))
        print(f"| {name} | {np.mean([seconds for _, seconds in ours]):.4f} | {line} | {np.mean(gaps):+.2f} |")


def compare_phases(problems: list) -> None:
    """Print a line per choice of phases: how scores differ from those of all phases, repeated, from one graph."""
    found = {name: [learn(problem, options) for problem in problems] for name, options in SEARCHES.items()}
    scores = {name: [score_dag(p, one[0]) for p, one in zip(problems, found[name], strict=True)] for name in SEARCHES}
    print("| search | seconds | higher | lower | mean difference |")
    print("| --- | ---: | ---: | ---: | ---: |")
    for name in SEARCHES:
        gaps = np.array(scores[name]) - scores["GIES from one graph"]
        counts = f"{(gaps > 1e-6).sum()} | {(gaps < -1e-6).sum()} | {gaps.mean():+.2f}"
        print(f"| {name} | {np.mean([seconds for _, seconds in found[name]]):.4f} | {counts} |")


def main() -> None:
    """Read the arguments."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--peer", help="an interpreter with the package gies")
    parser.add_argument("--turning", action="store_true")
    parser.add_argument("--problems", type=int, default=100)
    parser.add_argument("--variables", type=int, default=10)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.folder is not None:
        run_peer(arguments.folder)
        return
    warnings.simplefilter("ignore")
    if arguments.turning:
        compare_phases([draw_problem(s, arguments.variables, 0, (800, 0)) for s in range(arguments.problems)])
    else:
        compare([draw_problem(s, arguments.variables) for s in range(arguments.problems)], arguments.peer)


if __name__ == "__main__":
    sys.exit(main())
