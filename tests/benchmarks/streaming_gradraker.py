"""Gradraker on the nodes of real and growing graphs, compared with baselines that see whole graphs, and inverted codes.

    python tests/benchmarks/streaming_gradraker.py \
        labels|values|losses|settings|temperature|synthetic|adaptive|speed|options|inversion [--draws 20] [--out FILE]

Graphs: ``online`` in PGMX_BENCHMARK_DATA (``../shared/data``). Means over draws of the M labelled nodes, and over
five seeds of frequencies; all other nodes are predicted. CPU seconds; set OMP_NUM_THREADS=1.
"""

import argparse
import json
from pathlib import Path

import networkx as nx
import numpy as np
from graph_data import (
    GraphKernels,
    average_neighbors,
    compute_gaussian,
    fit_logistic,
    fit_ridge,
    list_rows,
    propagate_labels,
    read_cora,
    read_email,
    read_temperatures,
    read_words,
    spread_labels,
    sum_neighbors,
)
from graph_growth import compare_options, compare_speed, invert_codes
from scipy import sparse

from pgmx.streaming import GradrakerClassifier, GradrakerRegressor

LABELLED = {"email": (100, 200, 500), "Cora": (140, 1000)}
ROUNDS = 5  # seeds of frequencies, each with a share of the draws


def read_graphs():
    return {"email": read_email(), "Cora": read_cora()}


def learn_codes(codes, y, train, classes=None, **options):
    """Return predictions of all rows after one pass over the codes of the labelled ones."""
    if classes is None:
        return GradrakerRegressor(**options).partial_fit_encoded(codes[train], y[train]).predict_encoded(codes)
    learner = GradrakerClassifier(**options).partial_fit_encoded(codes[train], y[train], classes=classes)
    return learner.predict_encoded(codes)


def iterate_draws(n, n_labelled, n_draws):
    """Yield seeds of frequencies, labelled nodes in random order, and the others."""
    for draw in range(n_draws):
        order = np.random.default_rng(draw).permutation(n)
        yield draw % ROUNDS, order[:n_labelled], order[n_labelled:]


def average(figures):
    """Return the mean of each figure over dictionaries, and its standard error."""
    names = figures[0]
    return {
        name: [round(float(np.mean(part)), 4), round(float(np.std(part) / np.sqrt(len(part))), 4)]
        for name in names
        for part in [[figure[name] for figure in figures]]
    }


def report(rows, key, figures):
    rows[key] = average(figures)
    print(key, {name: mean for name, (mean, _) in rows[key].items()}, flush=True)


def compare_labels(n_draws):
    """Shares of right labels at unlabelled nodes."""
    rows = {}
    for title, (graph, y) in read_graphs().items():
        A = sparse.csr_array(nx.to_scipy_sparse_array(graph, dtype=float))
        Y, classes, near = np.eye(y.max() + 1)[y], np.arange(y.max() + 1), list_rows(graph)
        forms = {"Gradraker": {"graph": graph}, "Gradraker, hop 1": {"graph": graph, "hops": 1}}
        if title == "Cora":
            forms["Gradraker with words"] = {"graph": graph, "node_features": read_words()}
            forms["Gradraker, four hops"] = {"graph": graph, "hops": (1, 2, 3, 4)}
        else:
            forms["Gradraker, directed"] = {"graph": read_email(directed=True)[0]}
        codes = {
            (name, seed): GradrakerRegressor(n_components=400, random_state=seed, **form).encode_row(range(len(y)))
            for name, form in forms.items()
            for seed in range(ROUNDS)
        }
        kernels, kernel = GraphKernels(A), np.exp((near @ near.T).toarray() - 1.0)
        for n_labelled in LABELLED[title]:
            figures = []
            for seed, train, rest in iterate_draws(len(y), n_labelled, n_draws):
                scores = {
                    "propagation": propagate_labels(A, Y, train),
                    "propagation, 30 steps": propagate_labels(A, Y, train, 30),
                    "spreading .9": spread_labels(A, Y, train),
                    "one hop": average_neighbors(A, Y, train),
                    **kernels.predict(Y, train),
                    "batch kernel of rows": fit_ridge(kernel, Y, train),
                }
                labels = {name: score.argmax(axis=1) for name, score in scores.items()}
                labels["most frequent"] = np.full(len(y), np.bincount(y[train]).argmax())
                for C in (1.0, 100.0):
                    labels[f"logistic regression {C:g}"] = fit_logistic(near, y, train, C)
                for name in forms:
                    options = {"n_components": 400, "random_state": seed}
                    labels[name] = learn_codes(codes[name, seed], y, train, classes, **options)
                figures.append({name: np.mean(label[rest] == y[rest]) for name, label in labels.items()})
            report(rows, f"{title} {n_labelled}", figures)
    return rows


def measure_errors(predictions, y, rest):
    """Return the mean squared error over the mean squared value, of unlabelled nodes."""
    return {name: np.sum((part[rest] - y[rest]) ** 2) / np.sum(y[rest] ** 2) for name, part in predictions.items()}


def predict_values(A, y, train, kernels, gaussian=None):
    """Return predictions of the baselines, by name; `gaussian` is a kernel of rows without random features."""
    Y = y[:, None]
    scores = {
        "training mean": np.tile(Y[train].mean(axis=0), (len(y), 1)),
        "one hop": average_neighbors(A, Y, train),
        "nearest neighbours of the source": sum_neighbors(A, Y, train),
        "propagation": propagate_labels(A, Y, train),
        **kernels.predict(Y, train),
        **kernels.predict(Y, train, False),
    }
    if gaussian is not None:
        scores["Gaussian kernel"] = fit_ridge(gaussian, Y, train)
        scores["Gaussian kernel, not centred"] = fit_ridge(gaussian, Y, train, False)
    return {name: score[:, 0] for name, score in scores.items()}


def compare_values(n_draws):
    """Errors of numbers of classes, taken for quantities as in figures 6.4 and 6.5 of the source."""
    rows = {}
    for title, (graph, labels) in read_graphs().items():
        y, A = labels.astype(float), sparse.csr_array(nx.to_scipy_sparse_array(graph, dtype=float))
        kernels, gaussian = GraphKernels(A), compute_gaussian(A)
        codes = [
            GradrakerRegressor(graph=graph, n_components=400, random_state=seed).encode_row(range(len(y)))
            for seed in range(ROUNDS)
        ]
        source = 10 if title == "email" else 20
        for n_labelled in LABELLED[title]:
            figures = []
            for seed, train, rest in iterate_draws(len(y), n_labelled, n_draws):
                predictions = predict_values(A, y, train, kernels, gaussian)
                predictions["Gradraker"] = learn_codes(codes[seed], y, train, n_components=400, random_state=seed)
                bare = learn_codes(encode_raw(A, source, (1.0, 10.0), seed), y, train, **as_source(source, n_labelled))
                predictions["as the source"] = bare
                figures.append(measure_errors(predictions, y, rest))
            report(rows, f"{title} {n_labelled}", figures)
    return rows


def encode_raw(A, n_components, variances, seed):
    """Return the features of rows that are not scaled, (n, P 2 D), as the source has them."""
    V = np.random.default_rng(seed).normal(size=(A.shape[1], n_components))
    angles = [A @ V / np.sqrt(s) for s in variances]
    parts = [part for angle in angles for part in (np.sin(angle), np.cos(angle))]
    return np.hstack(parts) / np.sqrt(n_components)


def as_source(n_components, n_labelled):
    """Return the options of the source: the step 1 / sqrt(M) of its theorem."""
    step = 1.0 / np.sqrt(n_labelled)
    return {"n_components": n_components, "variances": (1.0, 10.0), "step": step, "weight_step": step}


def compare_losses(n_draws):
    """Right labels of the three losses, email and Cora."""
    rows = {}
    for title, (graph, y) in read_graphs().items():
        codes = [
            GradrakerRegressor(graph=graph, n_components=400, random_state=seed).encode_row(range(len(y)))
            for seed in range(ROUNDS)
        ]
        for n_labelled in LABELLED[title]:
            figures = []
            for seed, train, rest in iterate_draws(len(y), n_labelled, n_draws):
                options = {"n_components": 400, "random_state": seed}
                figure = {}
                for loss in ("square", "logistic", "hinge"):
                    labels = learn_codes(codes[seed], y, train, np.arange(y.max() + 1), loss=loss, **options)
                    figure[loss] = np.mean(labels[rest] == y[rest])
                figures.append(figure)
            report(rows, f"{title} {n_labelled}", figures)
    return rows


def compare_settings(n_draws):
    """Right labels by frequencies, widths, steps and hops: the smallest M of each graph and the largest."""
    rows = {}
    defaults = {"n_components": 400}
    changes = [
        {},
        *({"n_components": d} for d in (10, 50, 100)),
        *({"variances": v} for v in (0.1, 0.3, 1.0, (1.0, 10.0))),
        *({"step": s} for s in (0.05, 0.1, 0.5)),
        *({"hops": h} for h in (1, 2, (1, 2, 3), (1, 2, 3, 4))),
    ]
    for title, (graph, y) in read_graphs().items():
        for change in changes:
            options, figures = {**defaults, **change}, []
            codes = [
                GradrakerRegressor(graph=graph, random_state=seed, **options).encode_row(range(len(y)))
                for seed in range(ROUNDS)
            ]
            for draw in range(n_draws):
                figure = {}
                for n_labelled in (LABELLED[title][0], LABELLED[title][-1]):
                    order = np.random.default_rng(draw).permutation(len(y))
                    train, rest, seed = order[:n_labelled], order[n_labelled:], draw % ROUNDS
                    classes = np.arange(y.max() + 1)
                    labels = learn_codes(codes[seed], y, train, classes, random_state=seed, **options)
                    figure[n_labelled] = np.mean(labels[rest] == y[rest])
                figures.append(figure)
            report(rows, f"{title} {change or 'defaults'}", figures)
    return rows


def compare_temperatures(n_draws):
    """Errors at stations without a thermometer, of the highest and lowest temperature of three days."""
    rows, days = {}, list(read_temperatures())
    matrices = [sparse.csr_array(nx.to_scipy_sparse_array(graph, dtype=float)) for graph, _ in days]
    kernels = [(GraphKernels(A, (1.0, 5.0, 20.0, 100.0), (10, 50)), compute_gaussian(A)) for A in matrices]
    forms = {
        "Gradraker": {},
        "Gradraker, four hops": {"hops": (1, 2, 3, 4)},
        "Gradraker, hop 1, widths of the source": {"hops": 1, "variances": (1.0, 5.0, 10.0)},
    }
    for n_labelled in (50, 100, 200):
        figures = []
        for (graph, temperatures), A, (laplacian, gaussian) in zip(days, matrices, kernels, strict=True):
            for seed, train, rest in iterate_draws(len(graph), n_labelled, n_draws):
                learners = {
                    name: GradrakerRegressor(graph=graph, n_components=100, random_state=seed, **form)
                    for name, form in forms.items()
                }
                for y in temperatures.T:
                    predictions = predict_values(A, y, train, laplacian, gaussian)
                    for name, learner in learners.items():
                        predictions[name] = learner.fit(train, y[train]).predict(range(len(y)))
                    figures.append(measure_errors(predictions, y, rest))
        report(rows, f"stations {n_labelled}", figures)
    return rows


def draw_graph(n, rng):
    """Return the adjacency A0 + A0' of the source: each entry of A0 is 1 with probability .2."""
    A0 = (rng.random((n, n)) < 0.2).astype(float)
    return sparse.csr_array(A0 + A0.T)


def compare_synthetic(n_draws, sizes=(500, 1000)):
    """Figures 6.1 and 6.2: values K a with a diffusion kernel, or a Gaussian kernel of rows, 5 % labelled."""
    rows = {}
    for title in ("diffusion", "Gaussian"):
        for n in sizes:
            figures = []
            for draw in range(n_draws):
                rng = np.random.default_rng(draw)
                A = draw_graph(n, rng)
                laplacian, gaussian = GraphKernels(A, (1.0, 5.0), (10,)), compute_gaussian(A)
                kernel = laplacian.kernels["diffusion 5"] if title == "diffusion" else gaussian
                y = kernel @ rng.uniform(0.5, 1.0, n)
                observed, n_labelled = y + 0.1 * rng.normal(size=n), n // 20
                order = rng.permutation(n)
                train, rest = order[:n_labelled], order[n_labelled:]
                predictions = predict_values(A, observed, train, laplacian, gaussian)
                learner = GradrakerRegressor(n_components=400, random_state=draw)
                predictions["Gradraker"] = learner.fit(A[train], observed[train]).predict(A)
                codes = encode_raw(A, 10, (1.0, 5.0), draw)
                predictions["as the source"] = learn_codes(codes, observed, train, **as_source(10, n_labelled))
                figures.append(measure_errors(predictions, y, rest))
            report(rows, f"synthetic, {title} {n}", figures)
    return rows


def learn_targets(Z, y, steps, is_adaptive, weight_step=2.0):
    """Return predictions before each row: Gradraker with a step, or AdaRaker's interval learners on its features."""
    theta, logs = np.zeros((len(steps), *Z.shape[1:])), np.zeros((len(steps), Z.shape[1]))
    experts, f, mean, squares = 0.5 * np.log(steps), np.empty(len(y)), 0.0, 0.0
    for t, target in enumerate(y):
        k = min(len(steps), (t + 1).bit_length())
        parts = (theta[:k] * Z[t]).sum(axis=2)
        shares = np.exp(logs[:k] - logs[:k].max(axis=1, keepdims=True))
        outputs = (shares * parts).sum(axis=1) / shares.sum(axis=1)
        h = np.exp(experts[:k] - experts[:k].max())
        mixture = h @ outputs / h.sum()
        f[t] = mean + mixture
        error = target - mean
        mean += error / (t + 1)
        own = target - mean
        squares += error * own
        scale = (t + 1) / squares if squares > 0.0 else 1.0
        logs[:k] -= weight_step * scale * (parts - own) ** 2
        theta[:k] -= 2.0 * np.array(steps)[:k, None, None] * (parts - own)[:, :, None] * Z[t]
        experts[:k] += weight_step * scale * ((mixture - own) ** 2 - (outputs - own) ** 2)
        for j in range(len(steps) if is_adaptive else 0):
            if (t + 2) % 2**j:
                break
            experts[j] = 0.5 * np.log(steps[j])
    return f


def compare_adaptive(n_draws):
    """Wins of interval learners over every fixed step in the 200 nodes after two changes, 1,000 nodes in 20 groups."""
    wins, rows = {1.0: [], 2.0: []}, {}
    for seed in range(max(n_draws, 10)):
        rng = np.random.default_rng(seed)
        graph = nx.planted_partition_graph(20, 50, 0.3, 0.01, seed=seed)
        order, y = rng.permutation(1000), np.empty(1000)
        codes = GradrakerRegressor(graph=graph, n_components=100, random_state=seed).encode_row(range(1000))
        Z, groups = codes.reshape(1000, 2, -1)[order], np.repeat(np.arange(20), 50)[order]
        for first, last in ((0, 350), (350, 700), (700, 1000)):
            y[first:last] = rng.normal(size=20)[groups[first:last]] + 0.3 * rng.normal(size=last - first)
        after = np.r_[350:550, 700:900]
        steps = (0.02, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45)
        fixed = min(np.mean((learn_targets(Z, y, [step], False) - y)[after] ** 2) for step in steps)
        for first in wins:
            intervals = np.minimum(0.5, first * 2.0 ** (-0.5 * np.arange(10)))
            wins[first].append(np.mean((learn_targets(Z, y, intervals, True) - y)[after] ** 2) < fixed)
    for first, won in wins.items():
        rows[f"first step {first}"] = [int(np.sum(won)), len(won)]
    print(rows, flush=True)
    return rows


PARTS = {
    "adaptive": compare_adaptive,
    "labels": compare_labels,
    "values": compare_values,
    "losses": compare_losses,
    "settings": compare_settings,
    "temperature": compare_temperatures,
    "synthetic": compare_synthetic,
    "speed": compare_speed,
    "options": compare_options,
    "inversion": invert_codes,
}

if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("part", choices=[*PARTS, "all"])
    parser.add_argument("--draws", type=int, default=20, help="draws of the labelled nodes")
    parser.add_argument("--out", type=Path)
    arguments = parser.parse_args()
    parts = PARTS if arguments.part == "all" else [arguments.part]
    result = {part: {"draws": arguments.draws, "rows": PARTS[part](arguments.draws)} for part in parts}
    if arguments.out:
        arguments.out.write_text(json.dumps(result, indent=1))
