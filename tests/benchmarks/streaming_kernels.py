"""Raker and AdaRaker compared with exact and with budgeted kernel learners: tables 3.2, 3.4, 3.5, 3.10 and 3.11.

    python tests/benchmarks/streaming_kernels.py real|labels|synthetic|settings|forgetron|speed|all [--out FILE]

Every learner is a function sum_s a_s k(x_s, x) that is updated row by row: a_t = -step c'(f, y) joins, all others are
multiplied by 1 - 2 step penalty. Kernels: Gaussian of the variances .1, 1, 10; ((1 + x'z) / (1 + d))^q for q = 2, 3;
x'z / d (the source leaves their scale open). AvgMKL averages the six, OMKL weights them by exp(-.5 sum of losses),
OMKL-B keeps the last B rows, AdaMKL restarts OMKL at dyadic intervals with the steps min(.5, 10 / sqrt(length)).
Penalties .01, and .005 for labels. Errors are prequential: 1,000 times the mean squared error, or the per cent of wrong
labels, at the step 1/sqrt(T) and at the best of 10^-3 ... 10^3 times it, which is chosen on the error itself. CPU
seconds are those of all seven steps together; set OMP_NUM_THREADS=1.
"""

import argparse
import json
import sys
import time
from pathlib import Path

import numpy as np
from streaming_raker import LABELS, REGRESSION, read_stream

from pgmx.streaming import (
    AdaRakerClassifier,
    AdaRakerRegressor,
    OnlineKernelClassifier,
    OnlineKernelRegressor,
    RakerClassifier,
    RakerRegressor,
)

KERNELS = {
    **{f"RBF {v:g}": lambda dots, far, d, v=v: np.exp(-far / (2.0 * v)) for v in (0.1, 1.0, 10.0)},
    **{f"POLY{q}": lambda dots, far, d, q=q: ((1.0 + dots) / (1.0 + d)) ** q for q in (2, 3)},
    "LINEAR": lambda dots, far, d: dots / d,
}
FACTORS = 10.0 ** np.arange(-3, 4)
BLOCK = 128


def compute_kernels(X, Z):
    """Return all kernels of rows X and Z, (6, len(X), len(Z))."""
    dots, d = X @ Z.T, X.shape[1]
    far = np.maximum((X**2).sum(axis=1)[:, None] + (Z**2).sum(axis=1) - 2.0 * dots, 0.0)
    return np.stack([kernel(dots, far, d) for kernel in KERNELS.values()])


def compute_slope(f, y, is_label):
    return -y / (1.0 + np.exp(np.minimum(y * f, 700.0))) if is_label else 2.0 * (f - y)


def compute_loss(f, y, is_label):
    losses = np.logaddexp(0.0, -y * f) if is_label else (f - y) ** 2
    return np.where(np.isfinite(losses), losses, 1e6).clip(max=1e6)


def learn_exactly(X, y, penalty, is_label):
    """Return what each kernel and step predicts before each row, (T, 6, 7): all earlier rows are support vectors."""
    steps = FACTORS / np.sqrt(len(y))
    keep = 1.0 - 2.0 * steps * penalty
    a, f = np.zeros((len(KERNELS), len(y), len(steps))), np.empty((len(y), len(KERNELS), len(steps)))
    for start in range(0, len(y), BLOCK):
        rows = slice(start, min(start + BLOCK, len(y)))
        m = rows.stop - start
        far = compute_kernels(X[rows], X[:start]) @ a[:, :start]
        near = compute_kernels(X[rows], X[rows])
        for i in range(m):
            now = far[:, i] + np.einsum("ps,psk->pk", near[:, i, :i], a[:, start : start + i])
            f[start + i] = now
            a[:, start : start + i] *= keep
            far *= keep
            a[:, start + i] = -steps * compute_slope(now, y[start + i], is_label)
        a[:, :start] *= keep**m
    return f


def learn_on_budget(X, y, is_label, budget):
    """Return as `learn_exactly`, of the last `budget` rows, without a penalty."""
    steps = FACTORS / np.sqrt(len(y))
    places, a = np.zeros((budget, X.shape[1])), np.zeros((len(KERNELS), budget, len(steps)))
    f = np.empty((len(y), len(KERNELS), len(steps)))
    for t, target in enumerate(y):
        f[t] = (compute_kernels(X[t : t + 1], places) @ a)[:, 0]
        places[t % budget] = X[t]
        a[:, t % budget] = -steps * compute_slope(f[t], target, is_label)
    return f


def mix(f, y, is_label, weight_step=0.5):
    """Return the mixtures of kernels (T, 7) by weights exp(-weight_step times the losses of the rows before)."""
    losses = np.cumsum(compute_loss(f, y[:, None, None], is_label), axis=0)
    logs = -weight_step * np.concatenate([np.zeros((1, *f.shape[1:])), losses[:-1]])
    weights = np.exp(logs - logs.max(axis=1, keepdims=True))
    return (weights * np.nan_to_num(f, nan=0.0, posinf=0.0, neginf=0.0)).sum(axis=1) / weights.sum(axis=1)


def learn_adaptively(X, y, penalty, is_label):
    """Return the predictions of AdaMKL: OMKL that restarts at dyadic intervals, by weights as AdaRaker's."""
    n_experts = len(y).bit_length()
    lengths = 2 ** np.arange(n_experts)
    steps = np.minimum(0.5, 10.0 / np.sqrt(lengths))
    a, logs = np.zeros((n_experts, len(KERNELS), len(y))), np.zeros((n_experts, len(KERNELS)))
    experts, predictions = np.log(steps), np.empty(len(y))
    for t, target in enumerate(y):
        n, row = (t + 1).bit_length(), t + 1
        starts = [row // length * length - 1 for length in lengths[:n]]
        for j in range(n):
            if row % lengths[j] == 0:
                logs[j], experts[j] = 0.0, np.log(steps[j])
        kernels = compute_kernels(X[t : t + 1], X[starts[-1] : t])[:, 0]
        parts = np.array(
            [np.einsum("ps,ps->p", kernels[:, s - starts[-1] :], a[j, :, s:t]) for j, s in enumerate(starts)]
        )
        shares = np.exp(logs[:n] - logs[:n].max(axis=1, keepdims=True))
        f_j = (shares * parts).sum(axis=1) / shares.sum(axis=1)
        h = np.exp(experts[:n] - experts[:n].max())
        predictions[t] = f = h @ f_j / h.sum()
        for j, s in enumerate(starts):
            a[j, :, s:t] *= 1.0 - 2.0 * steps[j] * penalty
            a[j, :, t] = -steps[j] * compute_slope(parts[j], target, is_label)
        logs[:n] -= 0.5 * compute_loss(parts, target, is_label)
        experts[:n] += steps[:n] * (compute_loss(f, target, is_label) - compute_loss(f_j, target, is_label))
    return predictions


def measure(f, y, is_label):
    """Return the error at the step 1/sqrt(T) and at the best step, of predictions (T, 7)."""
    if is_label:
        errors = 100.0 * ((f > 0.0) != (y[:, None] > 0.0)).mean(axis=0)
    else:
        with np.errstate(invalid="ignore", over="ignore"):
            errors = 1e3 * ((f - y[:, None]) ** 2).mean(axis=0)
    errors = np.where(np.isfinite(errors), errors, np.inf)
    return {"1/sqrt(T)": round(float(errors[3]), 3), "best": round(float(errors.min()), 3)}


def compare(X, y, is_label, with_adaptive=True, n_components=50, budget=50):
    """Return errors and CPU seconds by method."""
    penalty = 0.005 if is_label else 0.01
    rows = {}

    def add(name, start, figures):
        rows[name] = {**figures, "CPU s": round(time.process_time() - start, 2)}
        print(f"  {name}: {rows[name]}", file=sys.stderr, flush=True)

    with np.errstate(invalid="ignore", over="ignore"):
        start = time.process_time()
        f = learn_exactly(X, y, penalty, is_label)
        mixture = mix(f, y, is_label)
        add("OMKL", start, measure(mixture, y, is_label))
        for p, name in enumerate(KERNELS):
            add(name, time.process_time(), measure(f[:, p], y, is_label))
        add("AvgMKL", time.process_time(), measure(f.mean(axis=1), y, is_label))
        start = time.process_time()
        add(f"OMKL-B {budget}", start, measure(mix(learn_on_budget(X, y, is_label, budget), y, is_label), y, is_label))
        if with_adaptive:
            start = time.process_time()
            f = learn_adaptively(X, y, penalty, is_label)
            add("AdaMKL", start, {"-": measure(np.repeat(f[:, None], 7, axis=1), y, is_label)["best"]})
    classes = (RakerClassifier, AdaRakerClassifier) if is_label else (RakerRegressor, AdaRakerRegressor)
    more = {"classes": [-1.0, 1.0]} if is_label else {}
    for name, cls, options in [
        ("Raker, step 1/sqrt(T)", classes[0], {"step": len(y) ** -0.5}),
        ("Raker", classes[0], {}),
        ("AdaRaker", classes[1], {}),
    ]:
        start = time.process_time()
        f = np.stack(
            [
                cls(n_components=n_components, random_state=seed, **options).predict_partial_fit(X, y, **more)
                for seed in range(3)
            ],
            axis=1,
        )
        errors = 100.0 * (f != y[:, None]) if is_label else 1e3 * (f - y[:, None]) ** 2
        add(name, start, {"mean of 3 seeds": round(float(errors.mean()), 3)})
    return rows


def draw_synthetic(lengths, variances, seed=0, d=10):
    """Return rows and targets of section 3.5.1, y_t = sum_s a_s k_t(x_t, x_s); the variance of k_t changes."""
    rng = np.random.default_rng(seed)
    n = sum(lengths)
    X, a = rng.standard_normal((n, d)), 1.0 + 0.01 * rng.standard_normal(n)
    y, squares = np.empty(n), (X**2).sum(axis=1)
    widths = np.repeat(variances, lengths)
    for start in range(0, n, 1000):
        rows = slice(start, start + 1000)
        far = np.maximum(squares[rows, None] + squares - 2.0 * X[rows] @ X.T, 0.0)
        y[rows] = np.exp(-far / (2.0 * widths[rows, None])) @ a
    return (X - X.min(axis=0)) / np.ptp(X, axis=0), (y - y.min()) / np.ptp(y)


SYNTHETIC = {
    "Dataset 1": ([8000, 10_000, 8000, 10_000], [1.0, 10.0, 1.0, 10.0]),
    "Dataset 2": ([200, 800, 1000, 300, 700, 500, 800, 800, 800, 600], [0.01, 1, 10, 0.01, 1, 10, 0.01, 1, 0.01, 0.1]),
}


def compare_real():
    """Tables 3.4 and 3.5."""
    return {title: compare(*read_stream(name), False) for title, name in REGRESSION.items()}


def compare_labels():
    """Tables 3.10 and 3.11."""
    return {title: compare(*read_stream(name), True) for title, name in LABELS.items()}


def compare_synthetic():
    """Figures 3.3 and 3.4, and table 3.2: errors and times on streams drawn from kernels that change."""
    return {
        f"{title}, {size}": compare(*draw_synthetic(*SYNTHETIC[title]), False, title == "Dataset 2", size, size)
        for title in SYNTHETIC
        for size in (20, 50)
    }


def learn_forgetron(kernels_of, X, y, budget):
    """Return the outputs (T, 6) of Forgetrons (Dekel, Shalev-Shwartz & Singer 2008), one per kernel, before each row.

    A row with a margin of at most 0 joins with its label as coefficient. Above the budget, all coefficients are
    multiplied by the largest factor that keeps the damage of the oldest row within 15/32 of the mistakes, which is
    removed. M-Forgetron weights the six by exp(-.5 times the hinge losses so far).
    """
    n = len(KERNELS)
    f = np.zeros((len(y), n))
    places = [np.zeros((0, X.shape[1])) for _ in range(n)]
    a, damage, mistakes = [np.zeros(0) for _ in range(n)], np.zeros(n), np.zeros(n)
    for t, (x, label) in enumerate(zip(X, y, strict=True)):
        for p in range(n):
            if len(a[p]):
                f[t, p] = kernels_of(p, x[None], places[p])[0] @ a[p]
            if label * f[t, p] > 0.0:
                continue
            mistakes[p] += 1
            places[p], a[p] = np.vstack([places[p], x]), np.append(a[p], label)
            if len(a[p]) <= budget:
                continue
            oldest = places[p][:1]
            output, own = kernels_of(p, oldest, places[p])[0] @ a[p], kernels_of(p, oldest, oldest)[0, 0]
            size, sign = abs(a[p][0]), np.sign(a[p][0])
            # damage(phi) = (size phi)^2 own + 2 size phi (1 - phi margin), the condition is a quadratic in phi
            room = 15.0 / 32.0 * mistakes[p] - damage[p]
            margin, b = sign * output, 2.0 * size
            q = size * size * own - 2.0 * size * margin
            roots = np.roots([q, b, -room]) if q else np.array([room / b])
            good = [r.real for r in roots if abs(r.imag) < 1e-12 and 0.0 < r.real <= 1.0]
            phi = 1.0 if q + b <= room else (max(good) if good else 0.0)
            damage[p] += q * phi * phi + b * phi
            a[p] = phi * a[p][1:]
            places[p] = places[p][1:]
    return f


def compute_one(p, X, Z):
    """Return kernel p of rows X and Z, (len(X), len(Z))."""
    kernel = list(KERNELS.values())[p]
    dots = X @ Z.T
    far = np.maximum((X**2).sum(axis=1)[:, None] + (Z**2).sum(axis=1) - 2.0 * dots, 0.0)
    return kernel(dots, far, X.shape[1])


def measure_forgetron(X, y, budget):
    """Return the per cent of wrong labels of M-Forgetron and CPU seconds."""
    start = time.process_time()
    f = learn_forgetron(compute_one, X, y, budget)
    losses = np.cumsum(np.maximum(0.0, 1.0 - y[:, None] * f), axis=0)
    logs = -0.5 * np.vstack([np.zeros(len(KERNELS)), losses[:-1]])
    weights = np.exp(logs - logs.max(axis=1, keepdims=True))
    wrong = 100.0 * np.mean(((weights * f).sum(axis=1) > 0.0) != (y > 0.0))
    return round(float(wrong), 3), round(time.process_time() - start, 2)


def compare_forgetron():
    """M-Forgetron of tables 3.10 to 3.13: per cent of wrong labels and CPU seconds by the budget."""
    rows = {}
    for title, name in LABELS.items():
        X, y = read_stream(name)
        for budget in (10, 50, 100):
            rows[f"{title} B={budget}"] = list(measure_forgetron(X, y, budget))
            print(f"{title} B={budget}", rows[f"{title} B={budget}"], flush=True)
    return rows


MIXED = {"kernels": ("gaussian", "polynomial2", "polynomial3", "linear")}


def compare_settings():
    """Tables 3.8 and 3.11 to 3.13 for OMKL-B: errors and CPU seconds by the budget and by the step."""
    rows = {}
    for title, name in {**REGRESSION, **LABELS}.items():
        X, y = read_stream(name)
        cls, more = (
            (OnlineKernelRegressor, {}) if title in REGRESSION else (OnlineKernelClassifier, {"classes": [-1, 1]})
        )
        settings = {f"B={budget}": {"budget": budget} for budget in (10, 50, 100)}
        settings |= {f"B=50, step {c:g} / sqrt(T)": {"budget": 50, "step": c / np.sqrt(len(y))} for c in (1, 10)}
        if title in LABELS:
            for c in (1, 10, 100):
                options = {"step": min(c / np.sqrt(len(y)), 7.9), "penalty": 0.005}
                settings |= {
                    f"OMKL, step {c:g} / sqrt(T)": options,
                    f"AvgMKL, step {c:g} / sqrt(T)": {**options, "weight_step": 0.0},
                }
        for label, options in settings.items():
            start = time.process_time()
            f = cls(**MIXED, **options).predict_partial_fit(X, y, **more)
            error = 1e3 * np.mean((f - y) ** 2) if title in REGRESSION else 100.0 * np.mean(f != y)
            rows[f"{title} {label}"] = [round(float(error), 3), round(time.process_time() - start, 3)]
            print(f"{title} {label}", rows[f"{title} {label}"], flush=True)
    return rows


def compare_speed():
    """CPU seconds of the learners with exact kernels, and of the numpy loop of one step."""
    X, y = read_stream("air_quality")
    rows = {}
    for label, options in {"OMKL": {}, "OMKL-B 50": {"budget": 50}}.items():
        start = time.process_time()
        OnlineKernelRegressor(**MIXED, **options).fit(X, y)
        rows[label] = round(time.process_time() - start, 3)
    start = time.process_time()
    learn_on_budget(X, y, False, 50)
    rows["numpy loop of OMKL-B 50, seven steps"] = round(time.process_time() - start, 3)
    print(rows)
    return rows


PARTS = {
    "real": compare_real,
    "labels": compare_labels,
    "synthetic": compare_synthetic,
    "settings": compare_settings,
    "forgetron": compare_forgetron,
    "speed": compare_speed,
}


def main(argv=None):
    """Run the named experiments; write their tables where `--out` says."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("parts", nargs="+", choices=[*PARTS, "all"])
    parser.add_argument("--out", type=Path)
    arguments = parser.parse_args(argv)
    result = {part: PARTS[part]() for part in (PARTS if "all" in arguments.parts else arguments.parts)}
    if arguments.out:
        arguments.out.write_text(json.dumps(result, indent=1))


if __name__ == "__main__":
    main()
