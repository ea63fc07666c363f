"""Raker and AdaRaker compared with a numpy loop, budgeted kernels and baselines, on the streams of their authors.

    python tests/benchmarks/streaming_raker.py errors|intervals|drift|sweeps|steps|kinds|regret|speed|all [--out FILE]

Streams: ``online/stream_*.parquet`` in PGMX_BENCHMARK_DATA (``../shared/data``). Errors are prequential: 1,000 times
the mean squared error, or the per cent of wrong labels. CPU seconds; set OMP_NUM_THREADS=1.
"""

import argparse
import json
import time
from pathlib import Path

import numpy as np
import pandas as pd
from data_folder import STREAMS

from pgmx.datasets import drifting_stream
from pgmx.metrics import prequential, regret
from pgmx.streaming import AdaRakerClassifier, AdaRakerRegressor, RakerClassifier, RakerRegressor

REGRESSION = {"Twitter": "twitter", "Tom": "tomshardware", "Energy": "energy", "Air": "air_quality"}
LABELS = {"Movement": "movement", "Device": "device", "Activity": "activity"}
SEEDS = range(3)


def read_stream(name):
    """Return the rows and targets of a stream."""
    table = pd.read_parquet(STREAMS / f"stream_{name}.parquet")
    return np.ascontiguousarray(table.iloc[:, :-1], dtype=float), table["y"].to_numpy(dtype=float)


def measure_error(make, X, y):
    """Return the mean error over the seeds, x 1e-3 or per cent."""
    errors = []
    for seed in SEEDS:
        learner = make(random_state=seed)
        if hasattr(learner, "loss") and "Classifier" in type(learner).__name__:
            errors.append(100.0 * np.mean(learner.predict_partial_fit(X, y, classes=[-1.0, 1.0]) != y))
        else:
            errors.append(1e3 * np.mean((learner.predict_partial_fit(X, y) - y) ** 2))
    return round(float(np.mean(errors)), 3)


def learn_budget(X, y, budget, step, loss="square"):
    """Return predictions of online gradient descent on Gaussian kernels of the last `budget` rows (OMKL-B)."""
    variances, places = np.array([0.1, 1.0, 10.0]), np.zeros((budget, X.shape[1]))
    weights, logs, predictions = np.zeros((3, budget)), np.zeros(3), np.empty(len(y))
    for t, (x, target) in enumerate(zip(X, y, strict=True)):
        kernels = np.exp(-((places - x) ** 2).sum(axis=1) / (2.0 * variances[:, None]))
        parts = (weights * kernels).sum(axis=1)
        shares = np.exp(logs - logs.max())
        predictions[t] = shares @ parts / shares.sum()
        if loss == "square":
            slopes, losses = 2.0 * (parts - target), (parts - target) ** 2
        else:
            slopes, losses = -target / (1.0 + np.exp(target * parts)), np.logaddexp(0.0, -target * parts)
        places[t % budget] = x
        weights[:, t % budget] = -step * slopes
        logs -= 0.5 * losses
    return predictions


def compare_errors():
    """Tables 3.4, 3.5, 3.10 and 3.11: both learners, budgeted kernels, baselines."""
    rows = {}
    for title, name in REGRESSION.items():
        X, y = read_stream(name)
        curve = prequential(AdaRakerRegressor(), X, y)
        rows[title] = {
            "AdaRaker": measure_error(AdaRakerRegressor, X, y),
            "Raker": measure_error(RakerRegressor, X, y),
            **{key: round(1e3 * value, 3) for key, value in list(curve.means.items())[1:]},
            **{
                f"budget 50, step {step}": round(1e3 * float(np.mean((learn_budget(X, y, 50, step) - y) ** 2)), 2)
                for step in (0.05, 0.25)
            },
        }
        print(title, rows[title], flush=True)
    for title, name in LABELS.items():
        X, y = read_stream(name)
        rows[title] = {
            f"{cls.__name__} {loss}": measure_error(lambda cls=cls, loss=loss, **more: cls(loss=loss, **more), X, y)
            for cls in (AdaRakerClassifier, RakerClassifier)
            for loss in ("logistic", "hinge")
        }
        rows[title]["last label"] = round(100.0 * float(np.mean(y[1:] != y[:-1])), 3)
        wrong = (learn_budget(X, y, 50, 0.5, "logistic") > 0) != (y > 0)
        rows[title]["budget 50"] = round(100.0 * float(np.mean(wrong)), 3)
        print(title, rows[title], flush=True)
    return rows


def compare_intervals():
    """Coverage, the least of blocks of 500 rows after the first, and the width over that of the hindsight quantile."""
    rows = {}
    for title, name in REGRESSION.items():
        X, y = read_stream(name)
        for cls in (AdaRakerRegressor, RakerRegressor):
            ends = cls().predict_interval_partial_fit(X, y)
            inside = (ends[:, 0] <= y) & (y <= ends[:, 1])
            blocks = [inside[i : i + 500].mean() for i in range(500, len(y) - 499, 500)]
            hindsight = 2.0 * np.quantile(np.abs(y - cls().predict_partial_fit(X, y)), 0.9)
            figures = [inside.mean(), min(blocks), (ends[1:, 1] - ends[1:, 0]).mean() / hindsight]
            rows[f"{title} {cls.__name__}"] = [round(float(figure), 3) for figure in figures]
            print(title, cls.__name__, rows[f"{title} {cls.__name__}"], flush=True)
    return rows


def compare_drift():
    """Errors in 300 rows after changes, and without changes, over those of the best step; flags."""
    rows = {}
    steps = (0.02, 0.05, 0.1, 0.25)
    for noise in (0.1, 0.3):
        ratios, missed, late, false = [], 0, 0, 0
        for seed in range(10):
            pair = []
            for every, n_rows in ((2000, 12_000), (None, 10_000)):
                X, y, changes = drifting_stream(n_rows, every, noise=noise, random_state=seed)
                learner = AdaRakerRegressor()
                near = np.concatenate([np.arange(start, start + 300) for start in changes] or [np.arange(n_rows)])
                error = np.mean((learner.predict_partial_fit(X, y) - y)[near] ** 2)
                best = min(
                    np.mean((RakerRegressor(step=step).predict_partial_fit(X, y) - y)[near] ** 2) for step in steps
                )
                pair.append(error / best)
                delays = learner.drift_.flags[:, None] - changes
                soon = (delays >= 0) & (delays < 300)
                missed += int((~soon.any(axis=0)).sum())
                late += int((~soon.any(axis=1)).sum()) if len(changes) else 0
                false += 0 if len(changes) else learner.drift_.n_flags
            ratios.append(pair)
        mean, most = np.mean(ratios, axis=0).round(3).tolist(), np.max(ratios, axis=0).round(3).tolist()
        rows[noise] = {"mean": mean, "most": most, "missed of 50": missed, "others": late, "false in 100,000": false}
        print(noise, rows[noise], flush=True)
    return rows


def compare_settings():
    """Tables 3.6, 3.8, 3.12 and 3.13: numbers of features, steps, and plain features."""
    rows = {}
    settings = [*({"n_components": d} for d in (10, 50, 100)), {"orthogonal": False}]
    steps = {
        AdaRakerRegressor: (0.45, 1.0, 4.0),
        RakerRegressor: (0.1, 0.25, 0.45),
        AdaRakerClassifier: (1.0, 16.0, 64.0),
        RakerClassifier: (0.25, 1.0, 4.0),
    }
    for title, name in {**REGRESSION, "Activity": "activity"}.items():
        X, y = read_stream(name)
        kinds = (AdaRakerClassifier, RakerClassifier) if title == "Activity" else (AdaRakerRegressor, RakerRegressor)
        for cls in kinds:
            for options in settings + [{"step": step} for step in steps[cls]]:
                key = f"{title} {cls.__name__} {options}"
                rows[key] = measure_error(lambda cls=cls, options=options, **more: cls(**options, **more), X, y)
                print(key, rows[key], flush=True)
    return rows


def compare_regret():
    """Static regret over its bound (lemma 4) on 50 seeds, and the growth of both regrets with the rows."""
    rows = {}
    for n in (250, 1000, 4000):
        for step in (0.1, n**-0.5):
            ratios, gaps = [], []
            for seed in range(50):
                X, y, _ = drifting_stream(n, None, random_state=seed)
                learner = RakerRegressor(n_components=20, step=step, weight_step=step, random_state=seed)
                curve = regret(learner, X, 0.5 * y, n_points=1)  # losses stay below 1
                ratios.append(float(curve.static[0] / curve.bound[0]))
                gaps.append(float(curve.static[0]))
            rows[f"T={n} step={step:.3f}"] = [
                {
                    "ratio mean": np.mean(ratios).round(5),
                    "ratio most": np.max(ratios).round(5),
                    "regret": np.mean(gaps).round(2),
                }
            ]
            print(f"T={n} step={step:.3f}", rows[f"T={n} step={step:.3f}"], flush=True)
    for every in (None, 1000):
        for name, cls in {"Raker": RakerRegressor, "AdaRaker": AdaRakerRegressor}.items():
            sums = np.zeros((3, 4))
            for seed in range(5):
                X, y, changes = drifting_stream(16_000, every, random_state=seed)
                curve = regret(cls(random_state=seed), X, y, changes=changes, n_points=16)
                at = np.searchsorted(curve.n_rows, [2000, 4000, 8000, 16_000])
                sums += np.stack([curve.losses, curve.static, curve.dynamic])[:, at] / 5
            rows[f"{name}, changes {every}"] = sums.round(2).tolist()
            print(f"{name}, changes {every}", rows[f"{name}, changes {every}"], flush=True)
    return rows


MIXED = ("gaussian", "linear", "polynomial2", "polynomial3")


def compare_kinds():
    """Dictionaries that mix kinds of kernels, schedules of steps (tables 3.6, 3.12), bases of intervals; CPU s."""
    rows = {}
    regressors = {
        "Raker": (RakerRegressor, {}),
        "Raker .5 / sqrt(t)": (RakerRegressor, {"step": "inverse_sqrt"}),
        "Raker .1 / sqrt(t)": (RakerRegressor, {"step": lambda t: 0.1 * t**-0.5}),
        "Raker mixed": (RakerRegressor, {"kernels": MIXED}),
        "Raker l1": (RakerRegressor, {"kernels": "laplacian_l1"}),
        **{f"AdaRaker base {base}": (AdaRakerRegressor, {"base": base}) for base in (2, 3, 4, 10)},
        "AdaRaker mixed": (AdaRakerRegressor, {"kernels": MIXED}),
    }
    classifiers = {
        "Raker": (RakerClassifier, {}),
        "Raker 4 / sqrt(t)": (RakerClassifier, {"step": "inverse_sqrt"}),
        "Raker .5 / sqrt(t)": (RakerClassifier, {"step": lambda t: 0.5 * t**-0.5}),
        "Raker .1 / sqrt(t)": (RakerClassifier, {"step": lambda t: 0.1 * t**-0.5}),
        "Raker mixed": (RakerClassifier, {"kernels": MIXED}),
        **{f"AdaRaker base {base}": (AdaRakerClassifier, {"base": base}) for base in (2, 4)},
        "AdaRaker mixed": (AdaRakerClassifier, {"kernels": MIXED}),
    }
    for title, name in {**REGRESSION, **LABELS}.items():
        X, y = read_stream(name)
        for label, (cls, options) in (classifiers if title in LABELS else regressors).items():
            start = time.process_time()
            error = measure_error(lambda cls=cls, options=options, **more: cls(**options, **more), X, y)
            rows[f"{title} {label}"] = [error, round((time.process_time() - start) / len(SEEDS), 3)]
            print(f"{title} {label}", rows[f"{title} {label}"], flush=True)
    return rows


def list_label_streams():
    """Yield names and streams of labels on which step sizes were chosen: none of the streams of the source."""
    table = pd.read_parquet(STREAMS / "eeg_eye_state.parquet")
    X, y = table.drop(columns="eye").to_numpy(dtype=float), np.where(table["eye"].to_numpy() == 1, 1.0, -1.0)
    low, high = np.quantile(X, [0.001, 0.999], axis=0)
    X = (np.clip(X, low, high) - low) / (high - low)
    order = np.random.default_rng(0).permutation(len(y))
    yield "eyes", [(X, y)]
    yield "eyes, shuffled", [(X[order], y[order])]
    for noise in (0.1, 0.3):
        for every in (2000, None):
            drawn = [drifting_stream(10_000, every, noise=noise, random_state=seed) for seed in SEEDS]
            yield f"noise {noise}, {every or 'no change'}", [(one.X, np.where(one.y > 0.5, 1.0, -1.0)) for one in drawn]


def compare_steps():
    """Wrong labels by steps on streams that are not the source's, per cent; and flags of AdaRaker."""
    rows, streams = {}, dict(list_label_streams())
    for loss, full in (("logistic", 4.0), ("hinge", 2.0)):
        for cls, shares in ((RakerClassifier, (1 / 16, 1 / 4, 1 / 2, 1, 1.5)), (AdaRakerClassifier, (1 / 4, 4, 8, 16))):
            for share in shares:
                errors = []
                for parts in streams.values():
                    learners = [cls(loss=loss, step=share * full, random_state=seed) for seed in range(len(parts))]
                    wrong = [
                        np.mean(learner.predict_partial_fit(X, y, classes=[-1.0, 1.0]) != y)
                        for learner, (X, y) in zip(learners, parts, strict=True)
                    ]
                    errors.append(100.0 * float(np.mean(wrong)))
                mean = float(np.exp(np.mean(np.log(errors))))
                key = f"{cls.__name__} {loss} {share * full:g}"
                rows[key] = dict(zip([*streams, "geometric mean"], np.round([*errors, mean], 2).tolist(), strict=True))
                print(key, rows[key], flush=True)
        missed = late = false = 0
        for noise in (0.1, 0.3):
            for seed in range(10):
                X, y, changes = drifting_stream(12_000, noise=noise, random_state=seed)
                flags = AdaRakerClassifier(loss=loss).fit(X, y > 0.5).drift_.flags
                soon = (flags[:, None] >= changes) & (flags[:, None] < changes + 300)
                missed, late = missed + int((~soon.any(axis=0)).sum()), late + int((~soon.any(axis=1)).sum())
                X, y, _ = drifting_stream(10_000, None, noise=noise, random_state=seed)
                false += AdaRakerClassifier(loss=loss).fit(X, y > 0.5).drift_.n_flags
        rows[f"flags {loss}"] = {"missed of 100": missed, "others": late, "false in 200,000": false}
        print(loss, rows[f"flags {loss}"], flush=True)
    return rows


def learn_in_numpy(learner, X, y):
    """Return predictions of the same algorithm as a numpy loop over rows, all experts and kernels in one array."""
    frequencies, steps = learner.frequencies_, learner._list_steps()
    n_kernels, n_components, _ = frequencies.shape
    theta, logs = np.zeros((len(steps), n_kernels, 2 * n_components)), np.zeros((len(steps), n_kernels))
    experts, predictions, flat = 0.5 * np.log(steps), np.empty(len(y)), frequencies.reshape(-1, X.shape[1])
    for t in range(len(y)):
        n = min(len(steps), (t + 1).bit_length())
        angles = (flat @ X[t]).reshape(n_kernels, n_components)
        z = np.concatenate([np.sin(angles), np.cos(angles)], axis=1) * n_components**-0.5
        parts = np.einsum("jpi,pi->jp", theta[:n], z)
        shares = np.exp(logs[:n])
        f_j = (shares * parts).sum(axis=1) / shares.sum(axis=1)
        h = np.exp(experts[:n] - experts[:n].max())
        predictions[t] = f = h @ f_j / h.sum()
        theta[:n] -= (2.0 * steps[:n, None] * (parts - y[t]))[:, :, None] * z
        logs[:n] -= learner.weight_step * (parts - y[t]) ** 2
        logs[:n] -= logs[:n].max(axis=1, keepdims=True)
        experts[:n] += learner.weight_step * ((f - y[t]) ** 2 - (f_j - y[t]) ** 2)
        j = 0
        while len(steps) > 1 and j < len(steps) and (t + 2) % 2**j == 0:
            experts[j] = 0.5 * np.log(steps[j])
            j += 1
    return predictions


def compare_speed():
    """Rows per CPU second of the learners and of the numpy loop, in the same run."""
    rows = {}
    for title, name in REGRESSION.items():
        X, y = read_stream(name)
        for cls in (AdaRakerRegressor, RakerRegressor):
            seconds, loops = [], []
            for _ in range(5):
                learner, start = cls(), time.process_time()
                predictions = learner.predict_partial_fit(X, y)
                seconds.append(time.process_time() - start)
            for _ in range(2):
                start = time.process_time()
                expected = learn_in_numpy(learner, X[:3000], y[:3000])
                loops.append(time.process_time() - start)
            assert np.allclose(predictions[:3000], expected, rtol=1e-6, atol=1e-9)
            ours, loop = len(y) / np.median(seconds), 3000 / np.median(loops)
            rows[f"{title} {cls.__name__}"] = [round(ours), round(loop), round(float(ours / loop), 1)]
            print(title, cls.__name__, rows[f"{title} {cls.__name__}"], flush=True)
    return rows


PARTS = {
    "errors": compare_errors,
    "intervals": compare_intervals,
    "drift": compare_drift,
    "sweeps": compare_settings,
    "steps": compare_steps,
    "kinds": compare_kinds,
    "regret": compare_regret,
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
