"""Compare the learners of linear dynamical systems with their peers: accuracy, CPU seconds, errors of forecasts.

Run it from the checkout, with pgmx installed; the peers need a separate environment, since lingam pins scipy:

    python -m venv peers && peers/bin/python -m pip install lingam tigramite statsmodels scikit-learn
    OMP_NUM_THREADS=1 python tests/benchmarks/time_series.py --peers peers/bin/python --series 20 50 100
    OMP_NUM_THREADS=1 python tests/benchmarks/time_series.py --forecasts ../shared/data/online
    OMP_NUM_THREADS=1 python tests/benchmarks/time_series.py --windows ../shared/data/online

Without `--peers` only pgmx is measured. Strengths order the pairs for AUROC, each tool's own decision makes its edges.
"""

import argparse
import subprocess
import tempfile
from pathlib import Path
from time import process_time

import numpy as np
from sparse_systems import draw_series

from pgmx.datasets import sparse_system
from pgmx.estimators import DenseLDS, KernelSVARM, LinearSVARM, ScalableLDS, SparsityInducingLDS
from pgmx.metrics import edge_curve
from pgmx.models import measures_by_window

WORKER = Path(__file__).with_name("time_series_peers.py")
PEERS = ("scikit-learn Lasso", "statsmodels VAR", "lingam VARLiNGAM", "tigramite PCMCI", "tigramite PCMCI+")
OURS = {
    "DenseLDS": DenseLDS,
    "SparsityInducingLDS": SparsityInducingLDS,
    "SparsityInducingLDS(screen=20)": lambda: SparsityInducingLDS(screen=20),
    "ScalableLDS(seed_fraction=.3)": lambda: ScalableLDS(seed_fraction=0.3),
}


def print_row(cells):
    """Print a row of a Markdown table."""
    print(
        "| " + " | ".join(f"{cell:.3f}" if isinstance(cell, float) else str(cell) for cell in cells) + " |", flush=True
    )


def print_accuracy(name, n, coef, strengths, edges, seconds):
    """Print the accuracy of strengths and edges."""
    truth = coef.toarray() != 0
    hits = (edges & truth).sum()
    f1 = 2 * hits / max(1, edges.sum() + truth.sum())
    print_row([n, name, edge_curve(strengths, truth, diagonal=True).area, float(f1), float(seconds)])


def ask_peer(python, name, rows, limit):
    """Return the answer of a peer, or why there is none."""
    with tempfile.TemporaryDirectory() as folder:
        problem, answer = Path(folder, "problem.npz"), Path(folder, "answer.npz")
        np.savez(problem, X=rows)
        command = [python, WORKER, name, problem, answer]
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=limit, check=False)
        except subprocess.TimeoutExpired:
            return f"more than {limit} s"
        if done.returncode:
            return done.stderr.strip().splitlines()[-1][:80]
        with np.load(answer) as parts:
            return parts["strengths"], parts["edges"], float(parts["seconds"])


def compare_accuracy(python, sizes, n_times, limit):
    """Print the table of accuracy and CPU seconds; a peer that ran out of time is not asked about more series."""
    print_row(["N", "tool", "AUROC", "F1", "CPU s"])
    print_row(["---"] * 5)
    out_of_time = set()
    for n in sizes:
        coef = sparse_system(n, 3, 0.9)
        rows = draw_series(coef, n_times, 1)
        for name, make in OURS.items():
            make().fit(rows[:100, :3])
            start = process_time()
            learner = make().fit(rows)
            seconds = process_time() - start
            matrix = learner.coef_ if isinstance(learner.coef_, np.ndarray) else learner.coef_.toarray()
            print_accuracy(name, n, coef, np.abs(matrix), matrix != 0, seconds)
        for name in PEERS if python else ():
            answer = "not run" if name in out_of_time else ask_peer(python, name, rows, limit)
            if isinstance(answer, str):
                out_of_time |= {name} if answer.startswith("more") else set()
                print_row([n, name, answer, "", ""])
            else:
                print_accuracy(name, n, coef, *answer)


def read_series(folder):
    """Yield names, rows and lags of the data sets."""
    import pandas as pd
    from statsmodels.datasets import macrodata

    closes = pd.read_parquet(folder / "stock_closes.parquet").set_index("date").dropna()
    yield "stock returns", 100 * np.log(closes).diff().iloc[1:].to_numpy(), (1, 2)
    eeg = pd.read_parquet(folder / "eeg_eye_state.parquet").drop(columns="eye").to_numpy(dtype=float)
    eeg = np.clip(eeg, *np.percentile(eeg, [0.5, 99.5], axis=0))
    yield "EEG", eeg, (1, 2, 8)
    macro = macrodata.load_pandas().data
    growth = np.log(macro[["realgdp", "realcons", "realinv", "realgovt", "realdpi", "cpi", "m1", "pop"]]).diff()
    levels = macro[["tbilrate", "unemp", "infl", "realint"]].diff()
    yield "macro data", 100 * pd.concat([growth, levels / 100], axis=1).iloc[1:].to_numpy(), (1, 2)


def forecast_rows(model, train, test, lags):
    """Return one-step forecasts of test rows from the rows before them."""
    from statsmodels.tsa.api import VAR

    rows = np.vstack([train[-lags:], test])
    if model == "last row":
        return rows[lags - 1 : -1]
    if model == "mean":
        return np.broadcast_to(train.mean(axis=0), test.shape)
    if model == "VAR":
        fitted = VAR(train).fit(lags, trend="c")
        coefs, constant = fitted.coefs, fitted.intercept
    else:
        learner = model(lags).fit(train)
        coefs = [learner.coef_] if lags == 1 else learner.coef_[1:]
        constant = learner.intercept_
    return constant + sum((coef @ rows[lags - lag : len(rows) - lag].T).T for lag, coef in enumerate(coefs, 1))


MODELS = {
    "last row": "last row",
    "mean": "mean",
    "statsmodels VAR": "VAR",
    "DenseLDS": lambda lags: DenseLDS(lags=lags, fit_intercept=True),
    "SparsityInducingLDS, refit": lambda lags: SparsityInducingLDS(lags=lags, fit_intercept=True),
    "SparsityInducingLDS, lasso": lambda lags: SparsityInducingLDS(lags=lags, fit_intercept=True, refit=False),
    "SparsityInducingLDS, lasso, .01": lambda lags: SparsityInducingLDS(
        lags=lags, fit_intercept=True, refit=False, lam_ratio=0.01
    ),
}


def compare_forecasts(folder):
    """Print errors of one-step forecasts of the last quarter, relative to the standard deviations of the series."""
    print_row(["data", "rows", "series", "lags", *MODELS])
    print_row(["---"] * (4 + len(MODELS)))
    for name, rows, orders in read_series(folder):
        cut = len(rows) * 3 // 4
        train, test = rows[:cut], rows[cut:]
        for lags in orders:
            errors = [
                float(np.sqrt((((forecast_rows(model, train, test, lags) - test) / test.std(axis=0)) ** 2).mean()))
                for model in MODELS.values()
            ]
            print_row([name, len(rows), rows.shape[1], lags, *errors])


WINDOW = 500
MEASURES = ["density", "clustering", "n_components", "diameter", "average_shortest_path", "average_neighbors"]
WINDOW_LEARNERS = {
    "LinearSVARM": LinearSVARM(lam_ratio=0.2, show_progress=False),
    "KernelSVARM(poly2)": KernelSVARM(kernels=("poly2",), lam_ratio=0.2, show_progress=False),
}


def read_windows(folder):
    """Yield the name of a data set, its rows, and rows with which something changes."""
    import pandas as pd

    table = pd.read_parquet(folder / "eeg_eye_state.parquet")
    eye, rows = table["eye"].to_numpy(dtype=int), table.drop(columns="eye").to_numpy(dtype=float)
    changes = np.flatnonzero(np.diff(eye)) + 1
    ends = np.concatenate([[0], changes, [len(eye)]])
    changes = changes[np.minimum(np.diff(ends)[:-1], np.diff(ends)[1:]) >= WINDOW]
    rows = np.clip(rows, *np.percentile(rows, [0.5, 99.5], axis=0))
    yield "EEG, eye opens", rows, changes[eye[changes] == 0]
    yield "EEG, eye closes", rows, changes[eye[changes] == 1]
    closes = pd.read_parquet(folder / "stock_closes.parquet").set_index("date").dropna()
    yield "stock returns", np.log(closes).diff().iloc[1:].to_numpy(), np.array([len(closes) // 2])


def compare_windows(folder):
    """Print the measures of the graphs of the rows before and after changes, means over these."""
    print_row(["data", "learner", "changes", "side", *MEASURES, "CPU s"])
    print_row(["---"] * (5 + len(MEASURES)))
    for name, rows, changes in read_windows(folder):
        width = min(WINDOW, changes[0])
        for label, learner in WINDOW_LEARNERS.items():
            began = process_time()
            parts = [measures_by_window(rows[t - width : t + width], learner, [width]) for t in changes]
            seconds = process_time() - began
            for at, side in enumerate(("before", "after")):
                figures = np.mean([part[MEASURES].iloc[at].to_numpy() for part in parts], axis=0)
                print_row([name, label, len(changes), side, *map(float, figures), float(seconds)])


def main():
    """Print the tables that are asked for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--peers", help="Python of the environment that holds the peers")
    parser.add_argument("--series", type=int, nargs="*", default=[], help="numbers of series")
    parser.add_argument("--rows", type=int, default=500)
    parser.add_argument("--limit", type=int, default=300, help="seconds per peer and problem")
    parser.add_argument("--forecasts", type=Path, help="folder of the data sets")
    parser.add_argument("--windows", type=Path, help="folder of the data sets")
    options = parser.parse_args()
    if options.series:
        compare_accuracy(options.peers, options.series, options.rows, options.limit)
    if options.forecasts:
        compare_forecasts(options.forecasts)
    if options.windows:
        compare_windows(options.windows)


if __name__ == "__main__":
    main()
