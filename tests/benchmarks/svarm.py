"""Structural vector autoregressions: speed in the source's set-up, size, and the tables and figures of the source.

``python tests/benchmarks/svarm.py TABLE`` prints a table: speed, size, eier, curves, densities, means, directions,
objectives, tests, tracker or tracker_costs. CPU seconds with one thread of BLAS. TIME_SERIES.md holds the figures.
"""

import argparse
import pickle
import resource
import sys
from pathlib import Path
from time import process_time

import numpy as np
from sklearn.linear_model import QuantileRegressor
from sklearn.svm import SVR
from threadpoolctl import threadpool_limits

sys.path.insert(0, str(Path(__file__).parents[1]))
from oracles.svarm import ThesisADMM
from pgmx.datasets import kernel_responses, structural_series
from pgmx.estimators import KernelSVARM, LinearSVARM, SVARMTracker
from pgmx.metrics import edge_curve
from pgmx.solvers.time_series.group_lasso import GroupLassoProblem, SharedADMM, solve_path
from pgmx.solvers.time_series.kernel_blocks import build_blocks, make_kernel

RATIOS = (0.3, 0.1, 0.03, 0.01, 0.003)  # penalties of the protocol, of which the best counts
FIGURES = {  # of the facts: kernel, snr: (linear, kernel) at T / N = 2, 5, 10, 20
    ("poly2", 10.0): ((23.4, 14.1), (16.1, 3.9), (9.9, 0.92), (5.4, 0.26)),
    ("poly2", 20.0): ((22.2, 8.3), (14.5, 0.53), (8.9, 0.0), (4.9, 0.0)),
    ("gaussian", 10.0): ((22.6, 14.1), (13.6, 2.4), (9.2, 0.53), (None, None)),
    ("gaussian", 20.0): ((None, None),) * 4,
}


def pose(rows, lags, kernel, responses=None):
    """Return the problem of standardised series, or of responses to inputs, in which no node explains itself."""
    blocks = build_blocks([rows], lags, [(make_kernel(kernel, 1.0), kernel)])
    targets = rows[lags:] if responses is None else responses / responses.std(axis=0)
    targets = np.ascontiguousarray((targets - targets.mean(axis=0)).T)
    is_own = (blocks.lags == 0) & (blocks.sources == np.arange(len(targets))[:, None])
    return GroupLassoProblem(blocks.columns, blocks.starts, targets, ~is_own), blocks


def speed(seed=0):
    """Compare one iteration and a whole fit with algorithm 6b as it is written: N = 20, T = 50, one lag."""
    series = structural_series(20, 50, edge_probability=0.1, random_state=seed).series
    z = (series - series.mean(axis=0)) / series.std(axis=0)
    problem, _ = pose(z, 1, "gaussian")
    lam = 0.3 * problem.lam_max
    shared = SharedADMM(problem, lam)
    began = process_time()
    for _ in range(200):
        shared.iterate()
    ours = (process_time() - began) / 200
    fits = {}
    for solver in ("descent", "admm"):
        KernelSVARM(lam=lam, solver=solver).fit(series)
        began = process_time()
        for _ in range(5):
            learner = KernelSVARM(lam=lam, solver=solver).fit(series)
        fits[solver] = (process_time() - began) / 5
        print(f"{solver}: objective {learner.objective_:.8f}, gap {learner.dual_gap_ / learner.objective_:.1e}")
    began = process_time()
    thesis = ThesisADMM(z)
    set_up = process_time() - began
    began = process_time()
    for _ in range(3):
        thesis.iterate(lam)
    theirs = (process_time() - began) / 3
    n_iter = 3
    while n_iter < 60:
        thesis.iterate(lam)
        n_iter += 1
    upper, lower = thesis.bounds(lam).T
    print(f"algorithm 6b: set-up {set_up:.2f} s, iteration {theirs * 1e3:.1f} ms")
    print(f"after {n_iter} iterations: gap {(upper - lower).sum() / upper.sum():.1e}, objective {upper.sum():.6f}")
    print(f"shared iteration {ours * 1e3:.3f} ms: {theirs / ours:.0f} times as fast")
    for solver, seconds in fits.items():
        whole = set_up + n_iter * theirs
        print(
            f"whole fit by {solver} {seconds:.4f} s: {set_up / seconds:.0f} times as fast as the set-up, "
            f"{whole / seconds:.0f} times with its iterations"
        )


def size(seed=0):
    """Print CPU seconds and memory of the two large problems of the target."""
    series = structural_series(60, 200, edge_probability=0.04, random_state=seed).series
    began = process_time()
    learner = KernelSVARM().fit(series)
    print(f"N = 60, T = 200, lam_max / 10: {process_time() - began:.2f} CPU s, converged {learner.converged_}")
    series = structural_series(200, 1000, edge_probability=0.01, random_state=seed).series
    for name, rows in (("even functions", series), ("noise", np.random.default_rng(seed).standard_normal((1000, 200)))):
        began = process_time()
        learner = KernelSVARM(lags=3, max_rank=15, tol=1e-4)
        path = learner.path(rows, n_lams=10, lam_min_ratio=0.3)
        memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
        gap = (path.dual_gaps / path.objectives).max()
        print(
            f"N = 200, L = 3, T = 1,000, path of ten, {name}: {process_time() - began:.1f} CPU s, {memory:.2f} GB, "
            f"gap {gap:.1e}, {path.n_edges[-1]} edges",
            flush=True,
        )


def compute_error(strengths, truth):
    """Return the smallest share of wrong pairs over all thresholds, in per cent."""
    off = ~np.eye(len(truth), dtype=bool)
    order = np.argsort(-strengths[off], kind="stable")
    edges, values = truth[off][order], strengths[off][order]
    wrong = edges.sum() - np.cumsum(edges) + np.cumsum(~edges)
    is_end = np.append(values[1:] < values[:-1], True) & (values > 0)
    return 100.0 * min([edges.sum(), *wrong[is_end]]) / off.sum()


def draw_centred(n, n_rows, kernel, snr, seed):
    """Return a draw of the protocol whose kernel matrices are centred, of trace T, before they make functions."""
    rng = np.random.default_rng(seed)
    truth = (rng.random((n, n)) < 0.3) & ~np.eye(n, dtype=bool)
    inputs, signals = rng.standard_normal((n_rows, n)), np.zeros((n_rows, n))
    for target, source in np.argwhere(truth):
        matrix = make_kernel(kernel, 1.0)(inputs[:, [source]], inputs[:, source])
        matrix = matrix - matrix.mean(axis=0)
        matrix -= matrix.mean(axis=1, keepdims=True)
        signals[:, target] += n_rows / np.trace(matrix) * matrix @ rng.standard_normal(n_rows)
    scales = signals.std(axis=0) / 10.0 ** (snr / 20.0)
    scales[scales == 0.0] = 1.0
    return inputs, signals + scales * rng.standard_normal((n_rows, n)), truth


def measure_protocol(kernel, snr, n_rows, used, seed, n=20, *, is_centred=False):
    """Return the error of one draw of the protocol, with the best penalty of five."""
    if is_centred:
        inputs, responses, truth = draw_centred(n, n_rows, kernel, snr, seed)
    else:
        inputs, responses, truth = kernel_responses(n, n_rows, kernel=kernel, snr=snr, random_state=seed)
    problem, blocks = pose(inputs, 0, used, responses)
    errors = []
    for estimates in solve_path(problem, problem.lam_max * np.array(RATIOS), tol=1e-4, max_iter=100_000):
        strengths = np.zeros((n, n))
        strengths[:, blocks.sources] = problem.measure_blocks(estimates.coefficients)
        errors.append(compute_error(strengths, truth))
    return min(errors)


def eier(seeds=4):
    """Print the edge identification error rates of section 5.6.1 and the published ones."""
    print("| kernel, SNR | T/N = 2: linear / kernel | 5 | 10 | 20 |\n|---|---|---|---|---|")
    for (kernel, snr), facts in FIGURES.items():
        cells = []
        for ratio, fact in zip((2, 5, 10, 20), facts, strict=True):
            means = [
                np.mean([measure_protocol(kernel, snr, 20 * ratio, used, seed) for seed in range(seeds)])
                for used in ("linear", kernel)
            ]
            known = " / ".join("-" if value is None else f"{value}" for value in fact)
            cells.append(f"{means[0]:.1f} / {means[1]:.2f} ({known})")
        print(f"| {kernel}, {snr:.0f} dB | {' | '.join(cells)} |", flush=True)
    cells = []
    for ratio in (2, 5, 10, 20):
        errors = [
            [measure_protocol("poly2", 10.0, 20 * ratio, used, seed, is_centred=True) for used in ("linear", "poly2")]
            for seed in range(seeds)
        ]
        cells.append("{:.1f} / {:.2f}".format(*np.mean(errors, axis=0)))
    print(f"| poly2, 10 dB, matrices centred | {' | '.join(cells)} |", flush=True)


LEARNERS = {
    "KernelSVARM": KernelSVARM(),
    "KernelSVARM, linear and poly2": KernelSVARM(kernels=("linear", "poly2")),
    "LinearSVARM": LinearSVARM(),
    "least squares, |t|": None,
}


def measure_area(learner, function, n_rows, seeds=5):
    """Return the mean area under the receiver operating characteristic of lagged edges, N = 10."""
    areas = []
    for seed in range(seeds):
        series, coef = structural_series(10, n_rows, function=function, random_state=seed)
        strengths = measure_t(series) if learner is None else learner.fit(series).strengths_[1]
        areas.append(edge_curve(strengths, coef[1]).area)
    return np.mean(areas)


def curves(seeds=5):
    """Print areas under the receiver operating characteristic of lagged edges, N = 10."""
    cases = [("even", 200), ("even", 800), ("odd", 200), ("linear", 200)]
    print("| learner | " + " | ".join(f"{function}, T = {rows}" for function, rows in cases) + " |")
    print("|---|" + "---|" * len(cases))
    for name, learner in LEARNERS.items():
        cells = [f"{measure_area(learner, function, n_rows, seeds):.3f}" for function, n_rows in cases]
        print(f"| {name} | {' | '.join(cells)} |", flush=True)


def measure_t(series):
    """Return |t| of the coefficients of a VAR(1)."""
    x = np.column_stack([series[:-1], np.ones(len(series) - 1)])
    coef = np.linalg.lstsq(x, series[1:], rcond=None)[0]
    residual = ((series[1:] - x @ coef) ** 2).sum(axis=0) / (len(x) - x.shape[1])
    spread = np.sqrt(np.linalg.inv(x.T @ x).diagonal()[:-1, None] * residual)
    return np.abs(coef[:-1] / spread).T


def measure_density(kernel, share, seeds=4):
    """Return wrong pairs in per cent and areas, [linear or the kernel, measure]: N = 20, T/N = 10, 10 dB."""
    values = []
    for seed in range(seeds):
        draw = kernel_responses(20, 200, kernel=kernel, edge_probability=share, random_state=seed)
        for used in ("linear", kernel):
            problem, blocks = pose(draw.inputs, 0, used, draw.responses)
            paths = solve_path(problem, problem.lam_max * np.array(RATIOS), tol=1e-4, max_iter=100_000)
            strengths = np.zeros((len(RATIOS), 20, 20))
            for k, estimates in enumerate(paths):
                strengths[k][:, blocks.sources] = problem.measure_blocks(estimates.coefficients)
            error = min(compute_error(one, draw.truth) for one in strengths)
            area = max(edge_curve(one, draw.truth).area for one in strengths)
            values.append((error, area))
    return np.array(values).reshape(seeds, 2, 2).mean(axis=0)


def densities(seeds=4):
    """Print errors and areas of linear functions / kernels by the density of the graph."""
    print("| kernel, edge probability | wrong pairs, % | area |\n|---|---|---|")
    for kernel, share in [("poly2", 0.1), ("poly2", 0.3), ("poly2", 0.5), ("gaussian", 0.3)]:
        shown = measure_density(kernel, share, seeds)
        print(f"| {kernel}, {share} | {shown[0, 0]:.1f} / {shown[1, 0]:.2f} | {shown[0, 1]:.3f} / {shown[1, 1]:.3f} |")


def means(seeds=10):
    """Print the areas for even functions as they are, and with their means subtracted: N = 10, lagged edges."""
    print("| T | functions | abs(mean) / sd | LinearSVARM | least squares, abs t | KernelSVARM |")
    print("|---|---|---|---|---|---|")
    for n_rows in (200, 800):
        for name in ("cos(1.5 y)", "centred"):
            cells = []
            for seed in range(seeds):
                coef = structural_series(10, 1, random_state=seed).coef
                series = draw_even(coef, n_rows, seed, is_centred=name == "centred")
                areas = [
                    edge_curve(strengths, coef[1]).area
                    for strengths in (
                        LinearSVARM().fit(series).strengths_[1],
                        measure_t(series),
                        KernelSVARM(tol=1e-4).fit(series).strengths_[1],
                    )
                ]
                cells.append([np.abs(series.mean(axis=0) / series.std(axis=0)).mean(), *areas])
            print(
                f"| {n_rows:,} | {name} | " + " | ".join(f"{v:.3f}" for v in np.mean(cells, axis=0)) + " |", flush=True
            )


def draw_even(coef, n_rows, seed, *, is_centred):
    """Return series of cos(1.5 y), the mean of each function subtracted if asked, so that the series have mean zero."""
    centre = np.zeros(coef.shape[1])
    for _ in range(8 if is_centred else 0):
        centre = np.cos(1.5 * simulate_even(coef, centre, 3000, 1)).mean(axis=0)
    return simulate_even(coef, centre, n_rows, seed)


def simulate_even(coef, centre, n_rows, seed, burn_in=100):
    """Return rows of y_t = A0 (g(y_t) - c) + A1 (g(y_(t-1)) - c) + noise."""
    rng = np.random.default_rng(seed)
    n = coef.shape[1]
    power = np.eye(n)
    depth = 0
    while power.any():  # rounds after which an acyclic A0 changes nothing more
        power, depth = power @ coef[0], depth + 1
    series = np.zeros((burn_in + n_rows, n))
    for t in range(1, len(series)):
        past = coef[1] @ (np.cos(1.5 * series[t - 1]) - centre) + 0.5 * rng.standard_normal(n)
        series[t] = past
        for _ in range(depth):
            series[t] = past + coef[0] @ (np.cos(1.5 * series[t]) - centre)
    return series[burn_in:]


def directions(seeds=20):
    """Print the share of instantaneous edges whose direction is right, T = 800."""
    for function in ("even", "odd", "linear"):
        right, edges = 0, 0
        for seed in range(seeds):
            series, coef = structural_series(10, 800, function=function, random_state=seed)
            strengths = KernelSVARM().fit(series).strengths_[0]
            for target, source in np.argwhere(coef[0]):
                edges += 1
                right += strengths[target, source] > strengths[source, target]
        print(f"{function}: {right / edges:.3f} of {edges} directions right")


def time_call(call, repeats=3):
    """Return the median CPU seconds of a call."""
    seconds = []
    for _ in range(repeats):
        began = process_time()
        call()
        seconds.append(process_time() - began)
    return float(np.median(seconds))


def objectives(seed=0):
    """Print CPU seconds of losses and penalties, over those of the squared loss with the lasso, and of peers."""
    print("| learner | N, T | loss, penalty | CPU s | over the squared lasso |\n|---|---|---|---|---|")
    for cls, function, n, n_rows in ((LinearSVARM, "linear", 20, 200), (KernelSVARM, "even", 20, 200)):
        series = structural_series(n, n_rows, function=function, edge_probability=0.1, random_state=seed).series
        base = None
        for loss in ("squared", "absolute", "epsilon_insensitive"):
            for penalty in ("lasso", "ridge"):
                learner = cls(loss=loss, penalty=penalty, tol=1e-6 if loss == "squared" else 1e-4)
                seconds = time_call(lambda learner=learner, series=series: learner.fit(series))
                base = base or seconds
                kind = f"{loss}, {penalty}"
                print(f"| {cls.__name__} | {n}, {n_rows} | {kind} | {seconds:.3f} | {seconds / base:.1f} |", flush=True)
        if cls is LinearSVARM:
            z = (series - series.mean(axis=0)) / series.std(axis=0)
            peers = {
                "scikit-learn QuantileRegressor": QuantileRegressor(alpha=0.05, solver="highs"),
                "scikit-learn SVR, linear": SVR(kernel="linear", C=0.05, tol=1e-4),
            }
            for name, peer in peers.items():
                seconds = time_call(
                    lambda peer=peer, z=z: [
                        peer.fit(np.hstack([np.delete(z[1:], j, axis=1), z[:-1]]), z[1:, j]) for j in range(z.shape[1])
                    ]
                )
                print(f"| {name} | {n}, {n_rows} | per target | {seconds:.3f} | {seconds / base:.1f} |", flush=True)


def tests(seeds=20):
    """Print the shares of accepted edges: N = 6, 20 segments of 40 rows, one true edge."""
    print("| learner | true edge, level .1 | other edges, level .1 | other edges, level .01 |\n|---|---|---|---|")
    for name, learner in (
        ("LinearSVARM, lasso", LinearSVARM(instantaneous=False)),
        ("LinearSVARM, ridge", LinearSVARM(instantaneous=False, penalty="ridge")),
        ("KernelSVARM, poly2, lasso", KernelSVARM(instantaneous=False, kernels="poly2")),
        ("KernelSVARM, poly2, ridge", KernelSVARM(instantaneous=False, kernels="poly2", penalty="ridge")),
    ):
        found, null = [], []
        for seed in range(seeds):
            rows = np.random.default_rng(seed).standard_normal((801, 6))
            source = rows[:-1, 0] if "Linear" in name else rows[:-1, 0] ** 2
            rows[1:, 1] += 0.25 * source
            p_values = learner.test_edges(rows).p_values[1].ravel()
            found.append(p_values[6] < 0.1)
            null += np.delete(p_values, 6).tolist()
        shares = [np.mean(found), np.mean(np.array(null) < 0.1), np.mean(np.array(null) < 0.01)]
        print(f"| {name} | " + " | ".join(f"{share:.3f}" for share in shares) + " |", flush=True)


def draw_changes(share, seed, n=10, n_rows=1000, n_draws=3):
    """Return rows of a VAR(1) whose coefficients are redrawn every `n_rows` rows, and the coefficients."""
    rng = np.random.default_rng(seed)
    coefs, rows, y = [], [], np.zeros(n)
    for _ in range(n_draws):
        coef, radius = np.zeros((n, n)), 0.0
        while radius < 1e-3:  # graphs without a cycle have the radius 0
            coef = rng.normal(size=(n, n)) * (rng.random((n, n)) < share)
            radius = np.abs(np.linalg.eigvals(coef)).max()
        coefs.append(coef * 0.8 / radius)
        for _ in range(n_rows):
            y = coefs[-1] @ y + rng.standard_normal(n)
            rows.append(y)
    return np.array(rows), coefs


def tracker(seeds=20):
    """Print errors of coefficients after changes over those of LinearSVARM on the last 200 rows, medians."""
    ages = (200, 300, 400, 600, 1000)
    print("| share of edges | tracker | " + " | ".join(f"{age} rows" for age in ages) + " | restarts, largest delay |")
    print("|---|---|" + "---|" * (len(ages) + 1))
    trackers = {
        "default": {},
        "forgetting=.99": {"forgetting": 0.99},
        "without restarts": {"detect": False},
        "without restarts, .99": {"detect": False, "forgetting": 0.99},
        "ridge": {"penalty": "ridge", "lam": 1.0},
    }
    for share in (0.1, 0.3, 1.0):
        ratios, restarts = {name: [] for name in trackers}, {name: [] for name in trackers}
        for seed in range(seeds):
            rows, coefs = draw_changes(share, seed)
            running = {name: SVARMTracker(instantaneous=False, **options) for name, options in trackers.items()}
            seen = 0
            for age, place in [(age, place) for place in (1, 2) for age in ages]:
                end = 1000 * place + age
                batch = LinearSVARM(instantaneous=False).fit(rows[end - 200 : end])
                base = np.linalg.norm(batch.coef_[1] - coefs[place])
                for name, one in running.items():
                    one.partial_fit(rows[seen:end])
                    ratios[name].append(np.linalg.norm(one.coef_[1] - coefs[place]) / base)
                seen = end
            for name, one in running.items():
                restarts[name].append(one.restarts_)
        for name, values in ratios.items():
            cells = np.median(np.array(values).reshape(seeds, 2, len(ages)), axis=(0, 1))
            counts = [len(one) for one in restarts[name]]
            late = max((abs(row - 1000 * round(row / 1000)) for one in restarts[name] for row in one), default=0)
            shown = f"{sum(counts)} for {2 * seeds} changes, {late} rows" if sum(counts) else "-"
            print(f"| {share} | {name} | " + " | ".join(f"{v:.2f}" for v in cells) + f" | {shown} |", flush=True)


def tracker_costs(n=50, lags=2, n_rows=2000):
    """Print CPU milliseconds per row and per result, and bytes of the state: N = 50, L = 2."""
    rng = np.random.default_rng(0)
    coef = np.where(rng.random((n, n)) < 0.06, rng.normal(size=(n, n)), 0.0)
    coef *= 0.7 / np.abs(np.linalg.eigvals(coef)).max()
    rows = rng.standard_normal((n_rows, n))
    for t in range(1, n_rows):
        rows[t] += coef @ rows[t - 1]
    print("| kernels | instantaneous | rows per call | ms per row | ms per result | MB |\n|---|---|---|---|---|---|")
    for kernels in ("linear", ("linear", "poly2"), "gaussian"):
        for instantaneous, chunk in ((False, 1), (False, 100), (True, 1), (True, 100)):
            one = SVARMTracker(lags=lags, kernels=kernels, instantaneous=instantaneous).partial_fit(rows[:400])
            began = process_time()
            for k in range(400, n_rows, chunk):
                one.partial_fit(rows[k : k + chunk])
            each = (process_time() - began) / (n_rows - 400) * 1e3
            result = time_call(lambda one=one: (one.partial_fit(rows[:1]), one.strengths_)) * 1e3
            size = len(pickle.dumps(one)) / 2**20
            print(f"| {kernels} | {instantaneous} | {chunk} | {each:.3f} | {result:.0f} | {size:.1f} |", flush=True)
    refit = time_call(lambda: LinearSVARM(lags=lags, instantaneous=False).fit(rows[-200:])) * 1e3
    kernel = time_call(lambda: KernelSVARM(lags=lags, instantaneous=False).fit(rows[-200:]), 1) * 1e3
    print(f"LinearSVARM of the last 200 rows: {refit:.0f} ms, KernelSVARM: {kernel:.0f} ms")


if __name__ == "__main__":
    choices = ["speed", "size", "eier", "curves", "densities", "means", "directions"]
    choices += ["objectives", "tests", "tracker", "tracker_costs"]
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("table", choices=choices)
    with threadpool_limits(1):
        globals()[parser.parse_args().table]()
