"""Gaussian learners of tables of thousands of columns: CPU seconds and memory, compared with scikit-learn.

    python tests/benchmarks/gaussian_wide.py glasso|neighborhoods|clime [--columns 20000] [--rows 1000] [--block 500]
        [--shape chains|sequence|random] [--lam-ratio 0.5] [--lam 0.3]

The columns are chains of --block columns with correlation .8 from one to the next, an autoregressive sequence of order
5, or a random graph of mean degree 3. GraphicalLasso takes --lam-ratio of the largest penalty, or --lam where given.
Memory is the largest resident set of the process, minus the one before the fit. Set OMP_NUM_THREADS=1.
"""

import argparse
import resource
from pathlib import Path

import numpy as np
from scipy.linalg import solve_triangular
from sklearn.linear_model import Lasso

from pgmx.estimators import CLIME, GraphicalLasso, NeighborhoodLasso


def draw_chains(n_rows, n_columns, block):
    """Return independent chains of `block` columns with correlation .8 from one to the next."""
    rows = np.random.default_rng(0).standard_normal((n_rows, n_columns))
    for j in range(1, n_columns):
        if j % block:
            rows[:, j] = 0.8 * rows[:, j - 1] + 0.6 * rows[:, j]
    return rows


def draw_sequence(n_rows, n_columns, block):
    """Return rows of which each is an autoregressive sequence of order 5."""
    series = np.random.default_rng(0).standard_normal((n_columns + 100, n_rows))
    for t in range(5, len(series)):
        series[t] += sum(share * series[t - lag] for lag, share in enumerate((0.3, 0.2, 0.15, 0.1, 0.05), start=1))
    return np.ascontiguousarray(series[100:].T)


def draw_random(n_rows, n_columns, block):
    """Return rows of a network whose graph is random, of mean degree 3, with partial correlations of both signs."""
    rng = np.random.default_rng(0)
    i, j = rng.integers(0, n_columns, (2, 3 * n_columns // 2))
    i, j = i[i != j], j[i != j]
    precision = np.zeros((n_columns, n_columns))
    precision[i, j] = precision[j, i] = rng.uniform(0.3, 1, len(i)) * rng.choice([-1, 1], len(i))
    precision[np.diag_indices(n_columns)] = 1.2 * np.maximum(np.abs(precision).sum(axis=0), 0.5)
    upper = np.linalg.cholesky(precision).T
    return np.ascontiguousarray(solve_triangular(upper, rng.standard_normal((n_columns, n_rows))).T)


SHAPES = {"chains": draw_chains, "sequence": draw_sequence, "random": draw_random}


def read_resident():
    """Return the resident megabytes of this process: now, and at most since `forget_resident`."""
    status = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
    return tuple(int(status[field].split()[0]) // 1024 for field in ("VmRSS", "VmHWM"))


def forget_resident():
    Path("/proc/self/clear_refs").write_text("5")  # the largest resident set is reset; Linux only


def measure(work):
    """Return a result with user-CPU seconds, and resident megabytes before and at most."""
    forget_resident()
    before, start = read_resident()[0], resource.getrusage(resource.RUSAGE_SELF).ru_utime
    result = work()
    seconds = resource.getrusage(resource.RUSAGE_SELF).ru_utime - start
    return result, seconds, before, read_resident()[1]


def report(name, learner, seconds, before, after):
    gap = learner.dual_gap_ / max(1.0, abs(learner.objective_))
    figures = f"lam {learner.lam_:.4f}, {len(learner.edges_)} edges, relative gap {gap:.1e}"
    print(f"{name}: {seconds:.1f} CPU s, {before} -> {after} MB, {figures}", flush=True)


def measure_graph(learner):
    _, seconds, before, after = measure(lambda: learner.graph_)
    print(f"graph_: {seconds:.1f} CPU s, {before} -> {after} MB")


def compare_neighborhoods(rows, options, n_sampled=50):
    """Print the time per column and scikit-learn's on sampled columns, the same penalty and tolerance."""
    make = NeighborhoodLasso(lam=options.lam or 0.3, tol=1e-8, show_progress=False)
    learner, seconds, *memory = measure(lambda: make.fit(rows))
    report("NeighborhoodLasso", learner, seconds, *memory)
    measure_graph(learner)
    standard = np.asfortranarray((rows - rows.mean(axis=0)) / rows.std(axis=0))
    lasso = Lasso(alpha=make.lam, tol=1e-8, fit_intercept=False, max_iter=100_000, copy_X=False)
    spent, furthest = 0.0, 0.0
    for j in np.random.default_rng(1).choice(rows.shape[1], n_sampled, replace=False).tolist():
        target = standard[:, j].copy()
        standard[:, j] = 0.0
        peer, more, *_ = measure(lambda target=target: lasso.fit(standard, target))
        standard[:, j] = target
        spent += more
        ours = learner._estimate.raw[:, [j]].toarray().ravel()
        furthest = max(furthest, float(np.abs(peer.coef_ - ours).max()))
    theirs, ours = spent / n_sampled, seconds / rows.shape[1]
    print(f"a column: pgmx {1e3 * ours:.2f} ms, scikit-learn {1e3 * theirs:.1f} ms, {theirs / ours:.0f} times;")
    print(f"largest difference of coefficients {furthest:.1e}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("part", choices=["glasso", "neighborhoods", "clime"])
    parser.add_argument("--columns", type=int, default=20_000)
    parser.add_argument("--rows", type=int, default=1_000)
    parser.add_argument("--block", type=int, default=500)
    parser.add_argument("--shape", choices=list(SHAPES), default="chains")
    parser.add_argument("--lam-ratio", type=float, default=0.5)
    parser.add_argument("--lam", type=float)
    options = parser.parse_args()
    rows = SHAPES[options.shape](options.rows, options.columns, options.block)
    print(f"{options.rows} rows of {options.columns} columns, {rows.nbytes >> 20} MB")
    if options.part == "neighborhoods":
        compare_neighborhoods(rows, options)
        return
    if options.part == "clime":
        make = CLIME(lam=options.lam or 0.3, show_progress=False)
    else:
        penalty = {"lam_ratio": options.lam_ratio} if options.lam is None else {"lam": options.lam}
        make = GraphicalLasso(**penalty, show_progress=False)
    learner, *figures = measure(lambda: make.fit(rows))
    report(type(make).__name__, learner, *figures)
    if options.part == "clime":
        print(f"largest excess over the constraint {learner.violation_:.1e}")
    measure_graph(learner)
    if options.rows >= options.columns:
        _, seconds, *_ = measure(lambda: rows.T @ rows)
        print(f"one product X'X: {seconds:.1f} CPU s")


if __name__ == "__main__":
    main()
