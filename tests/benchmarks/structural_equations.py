"""Structural equations from windows of changing input power: accuracy and CPU seconds, as tables of markdown.

The source's tests (thesis of Y. Shen, section 4.6): static networks known, half known and blind; small blind networks;
networks that change; stock closes, of which only the stability over windows can be measured. Edges are |coef_| > 0.1.

    OMP_NUM_THREADS=1 python tests/benchmarks/structural_equations.py
"""

import argparse
import time
import warnings
from pathlib import Path

import numpy as np
import pandas as pd

from pgmx.datasets import kronecker_coefficients, switching_series
from pgmx.estimators import IdentifiabilityWarning, SelectedGraph, SparseTensorSEM, TensorSEM, TensorSEMTracker
from pgmx.estimators.time_series.equations.sparse_problem import SparseProblem
from pgmx.metrics import edge_error_rate
from pgmx.solvers.time_series.sem_lasso import minimise_sparse
from pgmx.solvers.time_series.sem_likelihood import gather_moments

STOCKS = Path(__file__).resolve().parents[3] / "shared" / "data" / "online" / "stock_closes.parquet"
MODES = ("known", "half", "blind")


def hide_powers(powers, mode, rng):
    """Return the option `exogenous` and the powers that a mode knows."""
    if mode == "known":
        return "known", powers
    if mode == "blind":
        return "blind", None
    return "partial", np.where(rng.random(powers.shape) < 0.5, np.nan, powers)


def fit_timed(drawn, window, mode, seed, **options):
    """Return a fitted learner and its CPU seconds."""
    exogenous, powers = hide_powers(drawn.exogenous_power, mode, np.random.default_rng(1000 + seed))
    learner = TensorSEM(exogenous=exogenous, window=window, **options)
    begin = time.process_time()
    learner.fit(drawn.series, exogenous_power=powers)
    return learner, time.process_time() - begin


def rate(coef, truth, threshold=0.1):
    """Return the edge identification error rate in percent."""
    return 100.0 * edge_error_rate(np.abs(coef) > threshold, truth)


def print_row(*cells):
    """Print one row of a table."""
    print("| " + " | ".join(str(cell) for cell in cells) + " |", flush=True)


def run_static(n_seeds):
    """EIER of the Kronecker graph of 64 nodes (figures 4.4 to 4.6)."""
    print_row("M", "L", "noise", "powers", "likelihood", "CPU s", "als", "khatri-rao", "empty graph")
    print_row(*["---"] * 9)
    settings = [(5, 1000, 0.1), (10, 1000, 0.1), (20, 200, 0.1), (20, 1000, 0.1), (20, 5000, 0.1), (128, 1000, 0.1)]
    settings += [(5, 1000, 1.0), (20, 1000, 1.0)]
    for n_windows, window, noise in settings:
        for mode in MODES:
            rates, seconds, others = [], [], {"als": [], "khatri-rao": []}
            for seed in range(n_seeds):
                truth = kronecker_coefficients(random_state=seed)
                drawn = switching_series(truth, n_windows, window, noise=noise, random_state=seed)
                learner, spent = fit_timed(drawn, window, mode, seed)
                rates.append(rate(learner.coef_, truth))
                seconds.append(spent)
                if noise == 0.1 and window >= 1000 and seed < 2:
                    for method in ("als", "khatri-rao")[: 2 if mode == "known" else 1]:
                        other, _ = fit_timed(drawn, window, mode, seed, method=method, max_iter=100, tol=1e-9)
                        others[method].append(rate(other.coef_, truth))
            shown = [f"{np.mean(values):.2f}" if values else "" for values in others.values()]
            print_row(
                n_windows,
                window,
                noise,
                mode,
                f"{np.mean(rates):.3f} (at most {max(rates):.3f})",
                f"{np.mean(seconds):.2f}",
                *shown,
                f"{rate(0 * truth, truth):.1f}",
            )
    truth = kronecker_coefficients()
    drawn = switching_series(truth, 20, 1000, same_power=True)
    for mode in ("known", "blind"):
        learner, _ = fit_timed(drawn, 1000, mode, 0)
        print(f"\nOne power for all inputs of a window, {mode}: {rate(learner.coef_, truth):.1f} %")


def run_blind(n_trials):
    """Shares of trials with all edges right, five nodes, blind (figure 4.7)."""
    print_row("M", "L", "all edges right", "mean EIER %")
    print_row(*["---"] * 4)
    for n_windows in (5, 10, 20):
        for window in (200, 1000, 5000):
            rates = []
            for seed in range(n_trials):
                rng = np.random.default_rng(seed)
                truth = (rng.random((5, 5)) < 0.4) * rng.uniform(0.2, 0.5, (5, 5))
                np.fill_diagonal(truth, 0.0)
                drawn = switching_series(truth, n_windows, window, random_state=seed)
                learner, _ = fit_timed(drawn, window, "blind", seed)
                rates.append(rate(learner.coef_, truth))
            print_row(n_windows, window, f"{np.mean(np.array(rates) == 0):.2f}", f"{np.mean(rates):.2f}")


def draw_paths(scenario, n_windows, seed):
    """Return coefficients of all windows: edges that move, that vanish at windows 50 and 100, or neither."""
    rng = np.random.default_rng(seed)
    first = kronecker_coefficients(random_state=seed)
    if scenario == "drift":
        return np.stack([first + 0.1 * np.sin(0.01 * m) * (first != 0) for m in range(1, n_windows + 1)])
    coefs = [first]
    for m in range(1, n_windows):
        changes = scenario == "drops" and m in (50, 100)
        coefs.append(coefs[-1] * (rng.random(first.shape) > 0.2) if changes else coefs[-1])
    return np.stack(coefs)


def run_tracker(n_windows, scenarios):
    """EIER after each window (figures 4.8 and 4.9)."""
    print_row("scenario", "L", "tracker", "after 10 windows", "worst later", "E-MSE later", "restarts", "ms", "at most")
    print_row(*["---"] * 9)
    trackers = {mode: {} for mode in MODES}
    trackers |= {"rls, .95": {"method": "rls", "forgetting": 0.95}}
    trackers |= {"known, no detection": {"detect": False}}
    for scenario in scenarios:
        for window in (1000, 500):
            coefs = draw_paths(scenario, n_windows, 1)
            drawn = switching_series(coefs, n_windows, window, random_state=1)
            rows = drawn.series.reshape(n_windows, window, -1)
            for name, options in trackers.items():
                mode = name if name in MODES else "known"
                exogenous, powers = hide_powers(drawn.exogenous_power, mode, np.random.default_rng(2))
                tracker = TensorSEMTracker(exogenous=exogenous, **options)
                rates, squares, spent = [], [], []
                for m in range(n_windows):
                    begin = time.process_time()
                    tracker.partial_fit(rows[m], None if powers is None else powers[m])
                    spent.append(1000.0 * (time.process_time() - begin))
                    rates.append(rate(tracker.coef_, coefs[m]))
                    squares.append(((tracker.coef_ - coefs[m]) ** 2).sum() / (64 * 63))
                changes = (50, 100) if scenario == "drops" else ()
                settled = [m for m in range(10, n_windows) if not any(c <= m < c + 10 for c in changes)]
                at_ten = max(rates[c + 10] for c in (0, *changes))
                print_row(
                    scenario,
                    window,
                    name,
                    f"{at_ten:.2f}",
                    f"{max(rates[m] for m in settled):.2f}",
                    f"{np.mean([squares[m] for m in settled]):.1e}",
                    len(tracker.restarts_) if len(tracker.restarts_) > 3 else tracker.restarts_,
                    f"{np.mean(spent):.0f}",
                    f"{max(spent):.0f}",
                )


def run_recursive(n_seeds):
    """EIER of recursive least squares at thresholds .1 / .2, windows of 500 rows (figure 4.8)."""
    shown = (64, 120, 200, 400)
    print_row("scenario", "forgetting", *(f"{m} windows" for m in shown))
    print_row(*["---"] * (2 + len(shown)))
    for scenario in ("none", "drops"):
        for forgetting in (0.95, 0.99):
            rates = np.empty((n_seeds, len(shown), 2))
            for seed in range(n_seeds):
                coefs = draw_paths(scenario, shown[-1], seed)
                drawn = switching_series(coefs, shown[-1], 500, random_state=seed)
                tracker = TensorSEMTracker(method="rls", forgetting=forgetting)
                for m, rows in enumerate(np.split(drawn.series, shown[-1])):
                    tracker.partial_fit(rows, drawn.exogenous_power[m])
                    if m + 1 in shown:
                        rates[seed, shown.index(m + 1)] = [rate(tracker.coef_, coefs[m], at) for at in (0.1, 0.2)]
            means = rates.mean(axis=0)
            print_row(scenario, forgetting, *(f"{low:.1f} / {high:.1f}" for low, high in means))


def run_large():
    """CPU seconds at 500 nodes, 20 windows of 1,000 rows."""
    rng = np.random.default_rng(0)
    truth = (rng.random((500, 500)) < 0.008) * rng.uniform(0.2, 0.5, (500, 500))
    np.fill_diagonal(truth, 0.0)
    truth *= min(1.0, 0.9 / np.abs(np.linalg.eigvals(truth)).max())
    drawn = switching_series(truth, 20, 1000)
    print_row("powers", "CPU s", "sweeps", "EIER %, edges above 3.5 standard errors")
    print_row(*["---"] * 4)
    for mode in MODES:
        learner, spent = fit_timed(drawn, 1000, mode, 0, edge_statistic="z", threshold=3.5)
        wrong = 100.0 * edge_error_rate(learner.graph_.to_arrays(None)[0] > 0, truth)
        print_row(mode, f"{spent:.1f}", learner.n_iter_, f"{wrong:.3f}")


def draw_sparse(n, seed, n_windows=10, window=500, degree=3):
    """Return coefficients with `degree` random sources per series, spectral radius at most .9, and drawn rows."""
    rng = np.random.default_rng(seed)
    truth = np.zeros((n, n))
    for i in range(n):
        sources = rng.choice(np.delete(np.arange(n), i), degree, replace=False)
        truth[i, sources] = rng.uniform(0.2, 0.5, degree) * rng.choice([-1.0, 1.0], degree)
    truth *= min(1.0, 0.9 / np.abs(np.linalg.eigvals(truth)).max())
    return truth, switching_series(truth, n_windows, window, random_state=seed).series


def f1(edges, truth):
    """Return the F1 of edges."""
    return 2.0 * (edges & (truth != 0)).sum() / (edges.sum() + (truth != 0).sum())


def time_fit(learner, series):
    """Return a fitted learner and its CPU seconds."""
    begin = time.process_time()
    learner.fit(series)
    return learner, time.process_time() - begin


def run_sparse(sizes, n_seeds, selections):
    """F1 of edges: the dense estimate at its best threshold, and the sparse one chosen from a path, blind."""
    print_row("N", "seed", "learner", "F1", "edges", "CPU s", "times TensorSEM", "subgradient")
    print_row(*["---"] * 8)
    for n in sizes:
        # unknown powers need more rows per window than series
        options = {"exogenous": "blind", "window": 500 if n < 500 else 2 * n}
        for seed in range(n_seeds):
            truth, series = draw_sparse(n, seed, window=options["window"])
            dense, spent = time_fit(TensorSEM(**options), series)
            scales = series.std(axis=0)
            strengths = np.abs(dense.coef_) * scales / scales[:, None]
            best = max(np.linspace(0.01, 0.4, 400), key=lambda limit: f1(strengths > limit, truth))
            for name, limit in ((f"dense, best threshold {best:.3f}", best), ("dense, .1", 0.1)):
                edges = strengths > limit
                print_row(n, seed, name, f"{f1(edges, truth):.4f}", edges.sum(), f"{spent:.2f}", 1, "")
            for adaptive in (True, False):
                for selection in selections:
                    sparse = SparseTensorSEM(adaptive=adaptive, **options)
                    chosen, seconds = time_fit(SelectedGraph(sparse, selection=selection), series)
                    print_sparse(n, seed, f"{selection}, adaptive={adaptive}", chosen.estimator_, truth, seconds, spent)
                print(f"  path of {len(chosen.path_)} penalties, lam {chosen.lam_ / chosen.lam_max_:.3f} lam_max")
                sparse = SparseTensorSEM(adaptive=adaptive, lam=chosen.lam_, **options)
                single, seconds = time_fit(sparse, series)
                print_sparse(n, seed, f"one fit, adaptive={adaptive}", single, truth, seconds, spent)


def print_sparse(n, seed, name, learner, truth, seconds, dense_seconds):
    """Print the row of a sparse learner."""
    edges = learner.coef_ != 0
    ratio, residual = f"{seconds / dense_seconds:.1f}", f"{learner.kkt_residual_:.0e}"
    print_row(n, seed, name, f"{f1(edges, truth):.4f}", edges.sum(), f"{seconds:.2f}", ratio, residual)


def run_optima(n_seeds):
    """Local optima of the sparse likelihood, N = 50: the objective from three starts, by the share of lam_max."""
    print_row("share of lam_max", "edges", "from the empty graph", "from the likelihood's", "equal solutions")
    print_row(*["---"] * 5)
    for ratio in (0.8, 0.5, 0.3, 0.2, 0.1, 0.05):
        counts, gaps, same = [], [], 0
        for seed in range(n_seeds):
            _, series = draw_sparse(50, seed)
            data = gather_moments(np.split(series, 10), np.full((10, 50), np.nan))
            data = data.rescale(data.scales)
            options = {"adaptive": False, "tol": 1e-8, "max_iter": 500}
            problem = SparseProblem.from_moments(data, np.empty((0, 3), dtype=int), None, **options)
            penalties = np.where(np.eye(50) > 0, np.inf, ratio * problem.lam_max)
            ours = problem.solve(ratio * problem.lam_max)
            others = [
                minimise_sparse(problem.loss, penalties, start, tol=1e-8, max_iter=500)
                for start in (np.zeros((50, 50)), problem.dense)
            ]
            counts.append(np.count_nonzero(ours.matrix))
            gaps.append([other.objective - ours.objective for other in others])
            same += all(np.abs(other.matrix - ours.matrix).max() < 1e-5 for other in others)
        low, high = np.min(gaps, axis=0), np.max(gaps, axis=0)
        shown = [f"{a:+.1e} to {b:+.1e}" for a, b in zip(low, high, strict=True)]
        print_row(ratio, f"{np.mean(counts):.0f}", *shown, f"{same} of {n_seeds}")


def run_stocks():
    """Agreement of edges between spans of stock closes, blind: there is no truth (section 4.6.3)."""
    frame = pd.read_parquet(STOCKS)
    names = ["XOM", "GE", "T", "PFE", "JPM", "WMT", "BBY", "AMD"]
    closes = frame.loc[frame["date"] >= "2011-12-23", names].iloc[:1200]
    print_row("series", "L", "radius of A", "condition of I - A", "Jaccard, .1", "Jaccard, z 3", "pairs not told apart")
    print_row(*["---"] * 7)
    for kind, table in (("centred closes", closes - closes.mean()), ("log-returns", np.log(closes).diff().iloc[1:])):
        rows = table.to_numpy() / table.std().to_numpy()
        for window in (60, 80, 100):
            spans = [rows[:1000], rows[:800], rows[200:]]
            whole = fit_stocks(rows, window)
            scaled, z = ([edge_sets(fit_stocks(span, window)) for span in (rows, *spans)] for _ in range(2))
            overlap = [[jaccard(sets[0][k], one[k]) for one in sets[1:]] for k, sets in enumerate((scaled, z))]
            values = np.linalg.eigvals(whole.coef_)
            near = (whole.identifiability_ < 0.1).sum() // 2
            print_row(
                kind,
                window,
                f"{np.abs(values).max():.2f}",
                f"{np.linalg.cond(np.eye(8) - whole.coef_):.0f}",
                *(f"{np.mean(one):.2f}" for one in overlap),
                f"{near} of 28",
            )


def fit_stocks(rows, window):
    """Fit one span, blind."""
    return TensorSEM(exogenous="blind", window=window).fit(rows)


def edge_sets(learner):
    """Return the edges by the scaled coefficient, and by standard errors."""
    z = np.abs(learner.coef_) / np.where(learner.standard_errors_ > 0, learner.standard_errors_, np.inf)
    return set(learner.graph_.instantaneous_edges), set(map(tuple, np.argwhere(z > 3).tolist()))


def jaccard(first, second):
    """Return the share of the edges of either set that both have."""
    return len(first & second) / max(1, len(first | second))


def main():
    """Run the named experiments."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parts = ("static", "blind", "tracker", "recursive", "large", "sparse", "optima", "stocks")
    parser.add_argument("--parts", nargs="+", choices=parts, default=list(parts))
    parser.add_argument(
        "--seeds", type=int, default=5, help="networks per setting of the parts static, recursive, sparse and optima"
    )
    parser.add_argument("--trials", type=int, default=60, help="networks per setting of the part blind")
    parser.add_argument("--windows", type=int, default=120, help="windows of the part tracker")
    parser.add_argument("--sizes", nargs="+", type=int, default=[200], help="numbers of series of the part sparse")
    parser.add_argument("--selections", nargs="+", default=["ebic"], help="criteria of the part sparse")
    scenarios = ("none", "drops", "drift")
    parser.add_argument("--scenarios", nargs="+", choices=scenarios, default=list(scenarios))
    options = parser.parse_args()
    warnings.simplefilter("ignore", IdentifiabilityWarning)
    warnings.filterwarnings("ignore", "TensorSEM did not reach")  # the source's methods at the number of their rounds
    runs = {
        "static": lambda: run_static(options.seeds),
        "blind": lambda: run_blind(options.trials),
        "tracker": lambda: run_tracker(options.windows, options.scenarios),
        "recursive": lambda: run_recursive(options.seeds),
        "large": run_large,
        "sparse": lambda: run_sparse(options.sizes, options.seeds, options.selections),
        "optima": lambda: run_optima(options.seeds),
        "stocks": run_stocks,
    }
    for part in options.parts:
        if part == "stocks" and not STOCKS.is_file():
            print(f"\nstocks left out: there is no {STOCKS}")
            continue
        print(f"\n{(runs[part].__doc__ or part).splitlines()[0]}\n")
        runs[part]()


if __name__ == "__main__":
    main()
