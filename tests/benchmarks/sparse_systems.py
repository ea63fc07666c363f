"""Measure the learners of sparse linear dynamical systems: recall, errors, CPU seconds and memory.

Run it from the checkout, with pgmx installed and one thread of BLAS:

    OMP_NUM_THREADS=1 python tests/benchmarks/sparse_systems.py --question screened

A question prints a row per setting; `QUESTIONS` lists them. Times are CPU seconds of the process, memory is the growth
of its peak over that with the data loaded.
"""

import argparse
import resource
from time import process_time

import numpy as np

from pgmx.datasets import gridded_counts, sparse_system, system_transitions
from pgmx.estimators import DenseLDS, ScalableLDS, SparsityInducingLDS
from pgmx.metrics import coefficient_error, one_step_predictions, prediction_error, structure_recall

BURN_IN = 200


def draw_series(coef, n_times, seed):
    """Return rows of a system with noise N(0, I)."""
    rng = np.random.default_rng(seed)
    state, rows = np.zeros(coef.shape[0]), np.empty((n_times, coef.shape[0]))
    for t in range(-BURN_IN, n_times):
        state = coef @ state + rng.standard_normal(len(state))
        rows[max(t, 0)] = state
    return rows


def measure(learner, rows):
    """Return the fitted learner, its CPU seconds and the growth of the peak of memory in MB."""
    before, start = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, process_time()
    learner.fit(rows)
    seconds = process_time() - start
    return learner, seconds, (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1e3


def list_parents(coef):
    """Return the parents of each node."""
    return np.split(coef.indices, coef.indptr[1:-1])


def compute_recalls(learner, coef, k):
    """Return the share of the parents that were found, at most k of them, per node."""
    pairs = zip(list_parents(learner.coef_), list_parents(coef), strict=True)
    return np.array([len(np.intersect1d(*pair)) / max(1, min(k, len(pair[1]))) for pair in pairs])


def ask_screened(n=20_000):
    """The screened lasso of very many series."""
    coef = sparse_system(n, 4, 0.9)
    rows = draw_series(coef, 500, 1)
    learner, seconds, megabytes = measure(SparsityInducingLDS(lam=0.1, k=4, screen=40), rows)
    hits = (learner.coef_ != 0).multiply(coef != 0).sum()
    yield {
        "n": n,
        "recall": structure_recall(learner, coef),
        "precision": hits / learner.coef_.nnz,
        "CPU s": seconds,
        "MB": megabytes,
        "left out": learner.kkt_residual_,
    }


def ask_scalable_cost():
    """Cost and memory of 100 seeds against the number of series."""
    for n in (2000, 4000, 8000):
        rows = draw_series(sparse_system(n, 4, 0.9), 400, 1)
        _, seconds, megabytes = measure(ScalableLDS(n_seeds=100), rows)
        yield {"n": n, "CPU s": seconds, "MB": megabytes}


def ask_scalable_recall():
    """What seeds find of the parents of seeds, of other nodes, and of those of them that feed a seed."""
    for kind in ("random", "block", "hub", "small-world"):
        coef = sparse_system(500, 4, 0.9, kind)
        rows = draw_series(coef, 1000, 1)
        lasso = structure_recall(SparsityInducingLDS(k=10).fit(rows), coef)
        scaled = rows / rows.std(axis=0)
        correlations = scaled[1:].T @ scaled[:-1]
        plain = structure_recall(correlations, coef, k=10) if (np.diff(coef.indptr) <= 10).all() else np.nan
        for share in (0.1, 0.3, 0.5):
            learner, seconds, _ = measure(ScalableLDS(seed_fraction=share), rows)
            recalls = compute_recalls(learner, coef, 10)
            is_seed = np.isin(np.arange(500), [int(name[1:]) for name in learner.seeds_])
            has_evidence = ~is_seed & (np.diff(learner.coef_.indptr) > 0)
            yield {
                "kind": kind,
                "seeds": share,
                "recall of seeds": recalls[is_seed].mean(),
                "of others": recalls[~is_seed].mean(),
                "of others with evidence": recalls[has_evidence].mean(),
                "share with evidence": has_evidence.sum() / (~is_seed).sum(),
                "lasso": lasso,
                "correlation": plain,
                "CPU s": seconds,
            }


#: The source's predictors have unit variance; unobserved rows separate its pairs of rows.
UNITS = {"standardize": False, "missing": "drop"}
METHODS = {
    "dense (SVD)": lambda: DenseLDS(solver="svd", **UNITS),
    "dense (Gram)": lambda: DenseLDS(**UNITS),
    "inducing (lasso)": lambda: SparsityInducingLDS(k=15, lam_ratio=0.01, **UNITS),
    "inducing (SGD)": lambda: SparsityInducingLDS(k=15, lam=1e-3, solver="sgd", **UNITS),
    "scalable, 10 %": lambda: ScalableLDS(k=15, seed_fraction=0.1, **UNITS),
    "scalable, 20 %": lambda: ScalableLDS(k=15, seed_fraction=0.2, **UNITS),
    "scalable, 30 %": lambda: ScalableLDS(k=15, seed_fraction=0.3, **UNITS),
    "scalable, 50 %": lambda: ScalableLDS(k=15, seed_fraction=0.5, **UNITS),
}


def draw_source_problem(n, n_targets, noise, seed):
    """Return a matrix with a tenth of its entries, training rows in threes separated by NaN, and pairs of test rows.

    The noise is that of the training rows, in standard deviations of A x.
    """
    rng = np.random.default_rng(seed)
    coef = rng.standard_normal((n, n)) * (rng.permutation(n * n).reshape(n, n) < n * n // 10)
    coef /= np.abs(np.linalg.eigvals(coef)).max()
    drawn = system_transitions(coef, n_targets // 2, noise=noise, random_state=seed)
    rows = drawn.train.drop(columns="series").to_numpy().reshape(-1, 3, n)
    train = np.pad(rows, ((0, 0), (0, 1), (0, 0)), constant_values=np.nan).reshape(-1, n)
    return coef, train, (drawn.test, drawn.targets)


def ask_noise(n=100, n_targets=12_500, draws=2):
    """Figures 2.3 to 2.5 of the source: structure, coefficients and predictions against the noise."""
    for noise in (0.0, 0.5, 1.0, 2.0):
        for name, make in METHODS.items():
            rows = []
            for seed in range(draws):
                coef, train, test = draw_source_problem(n, n_targets, noise, seed)
                learner, seconds, _ = measure(make(), train)
                errors = coefficient_error(learner, coef), prediction_error(learner.coef_, *test)
                rows.append([structure_recall(learner, coef, k=15), *errors, seconds])
            recall, of_coefficients, of_predictions, seconds = np.mean(rows, axis=0)
            yield {
                "T": n_targets,
                "noise": noise,
                "method": name,
                "recall": recall,
                "coefficient error": of_coefficients,
                "prediction error": of_predictions,
                "CPU s": seconds,
            }


def ask_few_rows():
    """The same with little more rows than series, where least squares over-fit."""
    yield from ask_noise(n_targets=300)


def ask_time(sizes=(100, 200, 400, 800)):
    """Figure 2.2 of the source: CPU seconds against the number of series, a tenth of the entries, T = 12,500."""
    for n in sizes:
        rng = np.random.default_rng(n)
        coef = rng.standard_normal((n, n)) * (rng.random((n, n)) < 0.1)
        coef *= 0.9 / np.abs(np.linalg.eigvals(coef)).max()
        rows = draw_series(coef, 12_500, n)
        row = {"n": n}
        for name in ("dense (SVD)", "dense (Gram)", "inducing (lasso)", "inducing (SGD)", "scalable, 10 %"):
            row[name] = measure(METHODS[name](), rows)[1]
        yield row


def ask_counts(side=24, n_hours=840):
    """Figures 2.6 and 2.7 of the source: errors of prediction on a grid's counts, two weeks after the training rows."""
    counts = gridded_counts(side, side, n_hours, mean_count=8.0)
    train, test = counts.iloc[:-336], counts.iloc[-336:]
    naive = np.sqrt(((test.to_numpy()[1:] - test.to_numpy()[:-1]) ** 2).sum() / (test.to_numpy()[1:] ** 2).sum())
    yield {"method": f"last hour again, {counts.shape[1]} cells, {len(train)} rows", "error": naive}
    settings = {"dense": lambda: DenseLDS()}
    for k in (2, 5, 10, 25, 50):
        settings[f"inducing, k = {k}"] = lambda k=k: SparsityInducingLDS(k=k, lam_ratio=0.03)
    for share in (0.05, 0.1, 0.2, 0.3, 0.5):
        settings[f"scalable, k = 50, {share:.0%}"] = lambda share=share: ScalableLDS(k=50, seed_fraction=share)
    for k in (5, 10, 25):
        settings[f"scalable, k = {k}, 20%"] = lambda k=k: ScalableLDS(k=k, seed_fraction=0.2)
    for name, make in settings.items():
        learner, seconds, _ = measure(make(), train)
        coefs = learner.coef_
        n_edges = np.count_nonzero(coefs) if isinstance(coefs, np.ndarray) else coefs.nnz
        row = {
            "method": name,
            "error": prediction_error(learner, test),
            "on training rows": prediction_error(learner, train),
        }
        yield {**row, "edges per cell": n_edges / counts.shape[1], "CPU s": seconds}


def ask_cells(side=24, n_hours=840):
    """Figure 2.8 of the source: a week of four busy cells by hour: correlations, hours inside 90 % intervals."""
    counts = gridded_counts(side, side, n_hours, mean_count=8.0)
    train, week = counts.iloc[:-168], counts.iloc[-169:]
    busiest = (counts > 0).sum().nlargest(4).index
    for name, learner in {"dense": DenseLDS(), "scalable, k = 50, 20%": ScalableLDS(k=50)}.items():
        found = one_step_predictions(learner.fit(train), week).summary()
        yield {"method": name, **found["correlation"][busiest], "inside": float(found["inside"].mean())}


QUESTIONS = {
    "screened": ask_screened,
    "scalable_cost": ask_scalable_cost,
    "scalable_recall": ask_scalable_recall,
    "time": ask_time,
    "noise": ask_noise,
    "few_rows": ask_few_rows,
    "counts": ask_counts,
    "cells": ask_cells,
}


def main():
    """Print the table of a question."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--question", choices=QUESTIONS, required=True)
    question = parser.parse_args().question
    print(f"\n{QUESTIONS[question].__doc__}\n")
    columns = None
    for row in QUESTIONS[question]():
        if columns is None or len(row) > len(columns):
            columns = list(row)
            print("| " + " | ".join(columns) + " |\n|" + " --- |" * len(columns))
        cells = (row.get(column, "") for column in columns)
        print(
            "| " + " | ".join(f"{cell:.3f}" if isinstance(cell, float) else str(cell) for cell in cells) + " |",
            flush=True,
        )


if __name__ == "__main__":
    main()
