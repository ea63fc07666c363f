"""Whether `SelectedGraph` chooses the same graph when its path ends early: 50 problems, and the CPU seconds of both.

Run ``python tests/benchmarks/early_stopping.py [N]`` from the root of the repository; N problems, 50 by default. The
problems are chains, hubs, random graphs, blocks and noise, of fewer and of more rows than columns. Those whose choice
is at the end of the whole path are counted apart: there is no tail to leave out.
"""

import sys
import warnings
from time import process_time

import numpy as np

from pgmx.estimators import CLIME, GraphicalLasso, NeighborhoodLasso, Nonparanormal, SelectedGraph


def make_problem(number):
    """Return rows (n, p), and what they are."""
    rng = np.random.default_rng(number)
    kind = ("chain", "hubs", "random", "blocks", "noise")[number % 5]
    n, p = ((60, 80), (150, 60), (400, 40), (100, 120), (1000, 30))[number // 5 % 5]
    rows = rng.normal(size=(n, p))
    strength = rng.uniform(0.4, 0.8)
    for j in range(1, p):
        if kind == "chain":
            parents = [j - 1]
        elif kind == "hubs":
            parents = [j - j % 8] if j % 8 else []
        elif kind == "random":
            parents = rng.choice(j, min(j, rng.poisson(1.0)), replace=False).tolist()
        elif kind == "blocks":
            parents = list(range(j - j % 5, j))
        else:
            parents = []
        for i in parents:
            rows[:, j] += strength / max(len(parents), 1) * rows[:, i]
    return rows, f"{kind} {n} x {p}"


def make_learner(number, early_stopping):
    """Return the learner of a problem: most by the graphical lasso and EBIC, some by others."""
    leaf = {7: CLIME(), 8: NeighborhoodLasso()}.get(number % 10, GraphicalLasso())
    inner = Nonparanormal(leaf) if number % 10 == 9 else leaf
    selection = {5: "cv", 6: "stars"}.get(number % 10, "ebic")
    options = {"selection": selection, "n_folds": 3, "n_subsamples": 8, "show_progress": False}
    return SelectedGraph(inner, gamma=(0.0, 0.5, 1.0)[number % 3], early_stopping=early_stopping, **options)


def compare(number):
    """Return the learners with the whole path and with the one that ends early, and their CPU seconds."""
    rows, _ = make_problem(number)
    found = []
    for early_stopping in (False, True):
        began = process_time()
        learner = make_learner(number, early_stopping).fit(rows)
        found.append((learner, process_time() - began))
    return found


def main(n_problems):
    warnings.simplefilter("ignore")
    n_inside = n_equal = n_early = 0
    seconds = np.zeros(2)
    for number in range(n_problems):
        (whole, long), (early, short) = compare(number)
        seconds += long, short
        is_inside = not whole.path_.at_end
        is_equal = whole.lam_ == early.lam_
        n_inside += is_inside
        n_equal += is_inside and is_equal
        n_early += early.path_.stopped_early
        what = make_problem(number)[1]
        print(
            f"{number:2d} {what:16s} {whole.selection:5s} {len(whole.path_):2d} and {len(early.path_):2d} penalties, "
            f"chosen {whole.path_.selected:2d} and {early.path_.selected:2d}, {'' if is_equal else 'UNEQUAL, '}"
            f"{long:6.2f} and {short:6.2f} s",
            flush=True,
        )
    print(f"{n_inside} of {n_problems} choices are not at the end of the whole path, {n_equal} of them equal")
    print(f"{n_early} paths ended early; {seconds[0]:.1f} and {seconds[1]:.1f} CPU seconds in all")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 50)
