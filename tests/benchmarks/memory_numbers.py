"""`estimate_cost` of learners of Gaussian graphs and of time series, and the measured peak of fits.

``python tests/benchmarks/memory_numbers.py`` measures all cases, each in a process of its own, and prints a table; with
the names of cases, these. Columns copy a share of an earlier one; series do so one row later. The peak is
the resident memory minus the caller's array.
"""

import gc
import json
import os
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
from memory import read_status

#: name: (learner, its options, rows, columns, share of cells that are missing), lam in units of sqrt(log p / n)
GRAPHS = {
    "graphical lasso, 2,000 x 1,000": ("GraphicalLasso", {"lam": 1.0}, 2_000, 1_000, 0.0),
    "graphical lasso, 4,000 x 2,000": ("GraphicalLasso", {}, 4_000, 2_000, 0.0),
    "graphical lasso, 4,000 x 2,000, dense": ("GraphicalLasso", {"lam": 0.5}, 4_000, 2_000, 0.0),
    "graphical lasso, 200 x 2,000": ("GraphicalLasso", {"lam": 1.0}, 200, 2_000, 0.0),
    "graphical lasso, 50,000 x 300": ("GraphicalLasso", {"lam": 1.0}, 50_000, 300, 0.0),
    "graphical lasso, pairwise, 2,000 x 1,000": ("GraphicalLasso", {"missing": "pairwise"}, 2_000, 1_000, 0.05),
    "CLIME, 2,000 x 1,000": ("CLIME", {"lam": 1.0}, 2_000, 1_000, 0.0),
    "CLIME by ADMM, 1,000 x 500": ("CLIME", {"lam": 1.0, "solver": "admm"}, 1_000, 500, 0.0),
    "CLIME, 200 x 10,000": ("CLIME", {"lam": 1.6}, 200, 10_000, 0.0),
    "neighbourhoods, 4,000 x 2,000": ("NeighborhoodLasso", {}, 4_000, 2_000, 0.0),
    "neighbourhoods, 200 x 10,000": ("NeighborhoodLasso", {}, 200, 10_000, 0.0),
    "Kendall's tau, 1,000 x 500": ("kendall", {}, 1_000, 500, 0.0),
    "Spearman's rho, 50,000 x 200": ("spearman", {}, 50_000, 200, 0.0),
    "shrinkage, 2,000 x 1,000": ("shrinkage", {}, 2_000, 1_000, 0.0),
    "path of 20 by EBIC, 2,000 x 1,000": ("SelectedGraph", {}, 2_000, 1_000, 0.0),
}

#: name: (learner, its options, rows, series)
SERIES = {
    "dense, 2,000 x 1,000": ("DenseLDS", {}, 2_000, 1_000),
    "dense, 20,000 x 300, 3 lags": ("DenseLDS", {"lags": 3}, 20_000, 300),
    "dense by SVD, 5,000 x 300, 2 lags": ("DenseLDS", {"lags": 2, "solver": "svd"}, 5_000, 300),
    "sparse, 20,000 x 300, 3 lags": ("SparsityInducingLDS", {"lags": 3}, 20_000, 300),
    "sparse, screened, 500 x 4,000": ("SparsityInducingLDS", {"screen": 40, "k": 4, "lam": 0.1}, 500, 4_000),
    "100 seeds, 400 x 8,000": ("ScalableLDS", {"n_seeds": 100}, 400, 8_000),
    "known structure, 20,000 x 500, 2 lags": ("SparsityEnforcingLDS", {"lags": 2}, 20_000, 500),
    "linear SVARM, 1,000 x 200, 3 lags": ("LinearSVARM", {"lags": 3}, 1_000, 200),
    "linear SVARM, 20,000 x 50, 2 lags": ("LinearSVARM", {"lags": 2}, 20_000, 50),
    "kernel SVARM, 500 x 60, 2 lags": ("KernelSVARM", {"lags": 2}, 500, 60),
    "kernel SVARM by ADMM, 200 x 60": ("KernelSVARM", {"solver": "admm"}, 200, 60),
    "equations, 20 windows of 1,000 x 300": ("TensorSEM", {"exogenous": "blind", "window": 1_000}, 20_000, 300),
}


def make_rows(n_rows, n_columns, missing):
    """Return rows whose columns copy a share of an earlier one."""
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(n_rows, n_columns))
    for j in range(1, n_columns):
        rows[:, j] += 0.5 * rows[:, rng.integers(max(0, j - 20), j)]
    rows /= rows.std(axis=0)
    if missing:
        rows[rng.random(rows.shape) < missing] = np.nan
    return rows


def make_series(n_rows, n_series):
    """Return series that follow themselves and another, with inputs of other powers in each twentieth."""
    rng = np.random.default_rng(0)
    sources = rng.integers(0, n_series, n_series)
    inputs = rng.normal(size=(n_rows, n_series))
    inputs *= np.repeat(rng.uniform(0.5, 3.0, (20, n_series)), -(-n_rows // 20), axis=0)[:n_rows]
    rows = np.zeros((n_rows, n_series))
    for t in range(1, n_rows):
        rows[t] = 0.5 * rows[t - 1] + 0.3 * rows[t - 1, sources] + inputs[t]
    return rows


def make_case(name):
    """Return learner, table, and a learner of a few columns that loads what is imported late."""
    from sklearn.base import clone

    from pgmx import estimators

    if name in GRAPHS:
        kind, options, n_rows, n_columns, missing = GRAPHS[name]
        options = dict(options)
        if "lam" in options:
            options["lam"] *= np.sqrt(np.log(n_columns) / n_rows)
        if kind.islower():
            learner = estimators.Nonparanormal(estimators.GraphicalLasso(show_progress=False), correlation=kind)
        else:
            learner = getattr(estimators, kind)(show_progress=False, **options)
        return learner, make_rows(n_rows, n_columns, missing), clone(learner)
    kind, options, n_rows, n_series = SERIES[name]
    quiet = {} if kind in ("DenseLDS", "SparsityEnforcingLDS") else {"show_progress": False}
    learner = getattr(estimators, kind)(**options, **quiet)
    small = {"n_seeds": 3, "screen": 4, "window": 20}
    little = clone(learner).set_params(**{option: small[option] for option in small if option in options})
    if kind == "SparsityEnforcingLDS":
        learner.set_params(structure=np.eye(n_series))
        little.set_params(structure=np.eye(10))
    return learner, make_series(n_rows, n_series), little


def measure(name):
    """Print estimate, peak and seconds of a case as JSON."""
    learner, rows, little = make_case(name)
    little.fit(rows[:200, :10])
    gc.collect()
    Path("/proc/self/clear_refs").write_text("5")
    start, seconds = read_status("VmRSS"), time.process_time()
    learner.fit(rows)
    seconds, peak = time.process_time() - seconds, read_status("VmHWM") - start
    cost = learner.estimate_cost(rows)
    print(json.dumps([cost.total, peak, seconds]))


def main(names):
    """Measure cases, each in a process of its own."""
    print("| case | bound, MB | peak, MB | bound / peak | CPU seconds |\n|---|---|---|---|---|")
    for name in names:
        command = [sys.executable, "-W", "ignore", __file__, "measure", name]
        environment = os.environ | {"OMP_NUM_THREADS": "1"}
        run = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
        total, peak, seconds = json.loads(run.stdout)
        figures = f"{total / 1e6:.0f} | {peak / 1e6:.0f} | {total / peak:.2f} | {seconds:.2g}"
        print(f"| {name} | {figures} |", flush=True)


if __name__ == "__main__":
    if sys.argv[1:2] == ["measure"]:
        measure(sys.argv[2])
    else:
        main(sys.argv[1:] or [*GRAPHS, *SERIES])
