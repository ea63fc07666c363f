"""CategoricalSubspace compared with offsets, alternating least squares, raw codes and the least error there can be.

    python tests/benchmarks/streaming_subspace.py PART|all [--seeds N] [--out F]

Parts: movielens, synthetic, chess, binary, tobit, tobit2, passes, speed. Tables 2.1 to 2.4 and figures 2.4, 2.6 and
2.7 of the source (Shen 2019, chapter 2). Data: ``online`` in PGMX_BENCHMARK_DATA (``../shared/data``). Errors are
means over the seeds, which draw masks, splits and subspaces. CPU seconds; set OMP_NUM_THREADS=1.
"""

import argparse
import json
import time
from pathlib import Path

import numpy as np
import pandas as pd
from data_folder import STREAMS
from scipy.sparse import csr_matrix
from sklearn.linear_model import LinearRegression
from sklearn.svm import LinearSVC

from pgmx.metrics import prequential
from pgmx.streaming import CategoricalSubspace


def keep_cells(X, p, seed):
    """Return the rows with each cell missing with probability 1 - p."""
    return np.where(np.random.default_rng(1000 + seed).random(X.shape) < p, X, np.nan)


def average(rows):
    """Return the means of the figures of several seeds, by name."""
    return {name: round(float(np.mean([row[name] for row in rows])), 4) for name in rows[0]}


# ---- MovieLens: table 2.2 ----


def read_ratings():
    """Return films, users and ratings, half stars rounded up."""
    table = pd.read_parquet(STREAMS / "movielens_small_2016.parquet")
    films, users = (pd.factorize(table[name], sort=True)[0] for name in ("movie", "user"))
    return films, users, np.ceil(table["rating"].to_numpy())


def fit_offsets(films, users, ratings, lam, sweeps=10):
    """Return the mean and the offsets of films and users that minimise the squares and lam times theirs."""
    mean = ratings.mean()
    parts = [np.zeros(films.max() + 1), np.zeros(users.max() + 1)]
    for _ in range(sweeps):
        for own, at, other, at_other in ((0, films, 1, users), (1, users, 0, films)):
            rest = ratings - mean - parts[other][at_other]
            size = len(parts[own])
            parts[own] = np.bincount(at, rest, size) / (lam + np.bincount(at, minlength=size))
    return mean, *parts


def fit_factors(rows, columns, residuals, shape, lam, d=6, sweeps=10):
    """Return factors of residuals by alternating least squares with the penalty lam."""
    rng = np.random.default_rng(0)
    sides = [0.1 * rng.standard_normal((size, d)) for size in shape]
    table = csr_matrix((residuals, (rows, columns)), shape=shape)
    for _ in range(sweeps):
        for own, matrix in ((1, table.T.tocsr()), (0, table)):
            other = sides[1 - own]
            for i in range(shape[own]):
                cells = slice(matrix.indptr[i], matrix.indptr[i + 1])
                design = other[matrix.indices[cells]]
                sides[own][i] = np.linalg.solve(design.T @ design + lam * np.eye(d), design.T @ matrix.data[cells])
    return sides


def split_ratings(p, seed):
    """Return the ratings to learn, as three arrays, those to predict, and the shape of the table."""
    films, users, ratings = read_ratings()
    train = np.random.default_rng(seed).random(len(ratings)) < p
    cells = films, users, ratings
    return [a[train] for a in cells], [a[~train] for a in cells], (films.max() + 1, users.max() + 1)


def compare_ratings(p, seed):
    """Return mean absolute errors on a share 1 - p of the ratings; the penalty of the peers is best for the test."""
    learn, (films, users, truth), shape = split_ratings(p, seed)
    table = csr_matrix((learn[2], (learn[0], learn[1])), shape=shape)
    figures = {"constant 4": np.abs(4 - truth).mean()}
    for name, options in {"defaults": {}, "lam=15, 12 passes": {"lam": 15.0, "max_iter": 12}}.items():
        learner = CategoricalSubspace(random_state=seed, **options)
        start = time.process_time()
        learner.fit(table)
        figures[f"{name}, CPU s"] = time.process_time() - start
        figures[name] = np.abs(learner.impute(table, cells=(films, users)) - truth).mean()

    def measure(numbers):
        return np.abs(np.clip(np.rint(numbers), 1, 5) - truth).mean()

    def pad(offsets, size):
        return np.r_[offsets, np.zeros(size - len(offsets))]

    both = []
    for lam in (1.0, 2.0, 4.0, 8.0):
        mean, *parts = fit_offsets(*learn, lam)
        of_films, of_users = (pad(part, size) for part, size in zip(parts, shape, strict=True))
        both.append((measure(mean + of_films[films] + of_users[users]), mean, of_films, of_users))
    figures["offsets, rounded"], mean, of_films, of_users = min(both, key=lambda entry: entry[0])
    residuals = learn[2] - mean - of_films[learn[0]] - of_users[learn[1]]
    errors = []
    for lam in (5.0, 10.0, 20.0):
        left, right = fit_factors(learn[0], learn[1], residuals, shape, lam)
        guess = mean + of_films[films] + of_users[users] + np.einsum("md,md->m", left[films], right[users])
        errors.append(measure(guess))
    return {**figures, "offsets and ALS, rounded": min(errors)}


def compare_movielens(seeds):
    """Table 2.2, with offsets and alternating least squares."""
    return {f"p={p}": average([compare_ratings(p, seed) for seed in seeds]) for p in (0.7, 0.8, 0.9)}


def measure_speed(seeds):
    """CPU seconds of a pass over 70,000 ratings at d = 6: the median of 21 passes."""
    films, users, ratings = read_ratings()
    chosen = np.random.default_rng(0).permutation(len(ratings))[:70_000]
    table = csr_matrix((ratings[chosen], (films[chosen], users[chosen])), shape=(films.max() + 1, users.max() + 1))
    figures = {}
    for model in ("probit", "logit"):
        for sketch in ("newton", "gradient"):
            learner, times = CategoricalSubspace(model=model, sketch=sketch, levels=range(1, 6)), []
            for _ in range(21 if model == "probit" else 3):
                start = time.process_time()
                learner.partial_fit(table)
                times.append(time.process_time() - start)
            figures[f"{model} {sketch}"] = round(float(np.median(times)), 4)
    return figures


# ---- two classes of rows: tables 2.1 and 2.3, figure 2.4 ----


def draw_classes(seed, n_columns=25, n_rows=5000, d=5):
    """Return x = U psi, psi ~ N(+-1, .04), the classes, and U."""
    rng = np.random.default_rng(seed)
    classes = rng.integers(2, size=n_rows)
    sketches = (2 * classes - 1)[:, None] + 0.2 * rng.standard_normal((n_rows, d))
    directions = rng.standard_normal((n_columns, d))
    return sketches @ directions.T, classes, directions


def measure_margin(Z, classes):
    """Return the per cent of wrong classes in the second half by a linear support vector machine of the first."""
    half = len(classes) // 2
    machine = LinearSVC(dual=False).fit(Z[:half], classes[:half])
    return 100 * np.mean(machine.predict(Z[half:]) != classes[half:])


def measure_floor(X, edges, directions, classes, n_draws=40_000):
    """Return the per cent of wrong classes of the second half by Bayes' rule with the true law, by simulation."""
    rng = np.random.default_rng(0)
    draws = 0.2 * rng.standard_normal((n_draws, directions.shape[1]))
    rows, likelihoods = X[len(X) // 2 :], []
    for sign in (-1, 1):
        codes = np.digitize((sign + draws) @ directions.T, edges)
        tables = [np.equal.outer(np.arange(len(edges) + 1), codes[:, i]) for i in range(X.shape[1])]
        for row in rows:
            agree = np.ones(n_draws, bool)
            for i in np.flatnonzero(~np.isnan(row)):
                agree &= tables[i][int(row[i]) - 1]
            likelihoods.append(agree.mean())
    low, high = np.reshape(likelihoods, (2, -1))
    wrong = np.where(classes[len(X) // 2 :] == 1, low > high, high > low)
    return 100 * np.mean(np.where(low == high, 0.5, wrong))


def compare_synthetic(seeds):
    """Table 2.1: classes from sketches of 25 columns of five levels, d = 8, from raw codes, and by Bayes' rule."""
    settings = {
        "defaults": {},
        "lam=1": {"lam": 1.0},
        "lam=1, no offsets": {"lam": 1.0, "offsets": False},
        "lam=1, 18 passes": {"lam": 1.0, "max_iter": 18},
        "lam=1, learned thresholds": {"lam": 1.0, "learn_thresholds": True},
        "lam=1, step .05": {"lam": 1.0, "step": 0.05},
        "logit, lam=1": {"lam": 1.0, "model": "logit"},
    }
    figures = {}
    for p in (0.1, 0.3, 0.5, 0.7):
        rows = []
        for seed in seeds:
            x, classes, directions = draw_classes(seed)
            edges = (2 * np.arange(1, 5) / 5 - 1) * np.abs(x).max()
            X = keep_cells(1.0 + np.digitize(x, edges), p, seed)
            row = {"raw codes": measure_margin(np.nan_to_num(X - 3), classes)}
            if p < 0.5:  # beyond, too few of the draws agree with a row
                row["Bayes"] = measure_floor(X, edges, directions, classes)
            for name, options in settings.items():
                learner = CategoricalSubspace(n_components=8, levels=range(1, 6), random_state=seed, **options)
                start = time.process_time()
                row[name] = measure_margin(learner.fit_transform(X), classes)
                if name == "defaults":
                    row["defaults, CPU s"] = time.process_time() - start
            rows.append(row)
        figures[f"p={p}"] = average(rows)
    return figures


def compare_thresholds(X, classes, measure, seeds, ways, **options):
    """Errors of missing values, twice the share of wrong ones, and wrong classes in per cent, for several options."""
    figures = {}
    for p in (0.6, 0.7, 0.8, 0.9):
        rows = []
        for seed in seeds:
            truth = X(seed)
            cells = keep_cells(truth, p, seed)
            missing = np.isnan(cells)
            commonest = np.broadcast_to(np.nanmean(cells, axis=0) > 0.5, cells.shape)
            row = {"commonest level": 2 * np.mean(commonest[missing] != truth[missing])}
            row["raw codes, classes"] = measure(np.nan_to_num(2 * cells - 1), classes(seed), seed)
            for name, more in ways.items():
                learner = CategoricalSubspace(levels=(0, 1), random_state=seed, **options, **more).fit(cells)
                row[name] = 2 * np.mean(learner.impute(cells)[missing] != truth[missing])
                row[f"{name}, classes"] = measure(learner.transform(cells), classes(seed), seed)
                row[f"{name}, threshold"] = learner.thresholds_[0]
            rows.append(row)
        figures[f"p={p}"] = average(rows)
    return figures


def compare_binary(seeds):
    """Table 2.3: twenty signs of x, d = 5; the threshold begins half a noise away from the truth, .5."""
    wrong = {"offsets": False, "thresholds": (1.0,)}
    return compare_thresholds(
        lambda seed: (draw_classes(seed, 20)[0] > 0).astype(float),
        lambda seed: draw_classes(seed, 20)[1],
        lambda Z, classes, seed: measure_margin(Z, classes),
        seeds,
        {"fixed at 1": wrong, "learned from 1": {**wrong, "learn_thresholds": True}, "offsets": {}},
        n_components=5,
        lam=1.0,
    )


def measure_squares(Z, classes, seed):
    """Return the per cent of wrong classes in a random half by least squares on the other."""
    order = np.random.default_rng(seed).permutation(len(classes))
    a, b = np.split(order, [len(order) // 2])
    return 100 * np.mean((LinearRegression().fit(Z[a], 2.0 * classes[a] - 1).predict(Z[b]) > 0) != classes[b])


def compare_chess(seeds):
    """Table 2.4: 34 binary attributes of positions, d = 5 as in the source, and d = 15."""
    table = pd.read_parquet(STREAMS / "kr_vs_kp.parquet")
    classes = pd.factorize(table.iloc[:, -1], sort=True)[0] == 0
    columns = [name for name in table.columns[:-1] if table[name].nunique() == 2]
    X = np.column_stack([pd.factorize(table[name], sort=True)[0] for name in columns]).astype(float)
    ways = {
        "threshold .5": {"offsets": False},
        "learned": {"offsets": False, "learn_thresholds": True},
        "offsets": {},
    }
    return {
        f"d={d}, {n} passes": compare_thresholds(
            lambda seed: X, lambda seed: classes, measure_squares, seeds, ways, n_components=d, max_iter=n
        )
        for d, n in ((5, 1), (5, 6), (15, 6), (15, 10))
    }


def fill_by_components(cells, n_components, sweeps=50):
    """Return the table of least squares of a rank, with missing values imputed by it in turn."""
    missing = np.isnan(cells)
    filled = np.where(missing, np.nanmean(cells, axis=0), cells)
    for _ in range(sweeps):
        left, sizes, right = np.linalg.svd(filled, full_matrices=False)
        filled[missing] = ((left[:, :n_components] * sizes[:n_components]) @ right[:n_components])[missing]
    return filled, left[:, :n_components] * sizes[:n_components]


def compare_tobit(seeds):
    """Figure 2.4: 200 rows of 100 values cut off at -1 and 1, d = 20; the error of missing values and of classes."""
    figures = {}
    for p in (0.2, 0.4, 0.6, 0.8):
        rows = []
        for seed in seeds:
            rng = np.random.default_rng(seed)
            classes = rng.integers(2, size=200)
            means = rng.standard_normal((100, 20)).sum(axis=1)
            truth = np.clip(np.outer(2 * classes - 1, means) + rng.standard_normal((200, 100)), -1, 1)
            cells = keep_cells(truth, p, seed)
            missing = np.isnan(cells)
            row = {"column means": np.abs(np.nanmean(cells, axis=0) - truth)[missing].mean()}
            for d in (1, 20):
                guess, scores = fill_by_components(cells, d)
                row[f"{d} principal components"] = np.abs(np.clip(guess, -1, 1) - truth)[missing].mean()
                row[f"{d} principal components, classes"] = measure_margin(scores, classes)
            learner = CategoricalSubspace(model="tobit", levels=(-1, 1), n_components=20, random_state=seed).fit(cells)
            for how in ("level", "expectation"):
                row[f"tobit, {how}"] = np.abs(learner.impute(cells, how=how) - truth)[missing].mean()
            row["tobit, classes"] = measure_margin(learner.transform(cells), classes)
            rows.append(row)
        figures[f"p={p}"] = average(rows)
    return figures


def compare_tobit_ii(seeds):
    """Figure 2.4 for type II: values between -1 and 1 are not recorded; bounds known, and learned from -.5 and .5."""
    figures = {}
    for p in (0.2, 0.4, 0.6, 0.8):
        rows = []
        for seed in seeds:
            rng = np.random.default_rng(seed)
            classes = rng.integers(2, size=200)
            means = rng.standard_normal(100)
            truth = np.outer(2 * classes - 1, means) + rng.standard_normal((200, 100))
            truth = np.where(np.abs(truth) < 1, 0.0, truth)
            cells = keep_cells(truth, p, seed)
            missing = np.isnan(cells)
            row = {"column means": np.abs(np.nanmean(cells, axis=0) - truth)[missing].mean()}
            for d in (1, 20):
                row[f"{d} principal components"] = np.abs(fill_by_components(cells, d)[0] - truth)[missing].mean()
            ways = {"known": {"levels": (-1, 1)}, "learned": {"levels": (-0.5, 0.5), "learn_thresholds": True}}
            for name, options in ways.items():
                learner = CategoricalSubspace(model="tobit2", n_components=20, random_state=seed, **options).fit(cells)
                row[f"bounds {name}"] = np.abs(learner.impute(cells) - truth)[missing].mean()
                row[f"bounds {name}, upper"] = learner.thresholds_[1]
            rows.append(row)
        figures[f"p={p}"] = average(rows)
    return figures


def compare_passes(seeds):
    """Figures 2.6 and 2.7: error of hidden ratings per pass by steps, and the paths of learned thresholds."""
    table = read_ratings()
    films, users, ratings = (np.asarray(column) for column in table)
    X = csr_matrix((ratings, (films, users)))
    figures = {}
    for name, options in {
        "defaults": {},
        "step .05": {"step": 0.05},
        "constant step .05": {"step": 0.05, "decay": 0.0},
    }.items():
        curve = prequential(CategoricalSubspace(max_iter=12, levels=range(1, 6), **options), X, window=9066)
        figures[name] = curve.passes.round(4).tolist()
    figures["baselines"] = curve.means
    figures["threshold from 1, .5 in truth"] = follow_threshold()
    return figures


def follow_threshold():
    """Return the threshold of twenty signs, learned from 1, at the end of every 1,000 rows; .5 is the truth."""
    signs = (draw_classes(0, 20)[0] > 0).astype(float)
    wrong = {"offsets": False, "thresholds": (1.0,), "n_components": 5, "lam": 1.0, "learn_thresholds": True}
    curve = prequential(CategoricalSubspace(levels=(0, 1), **wrong), signs, window=1000)
    return curve.thresholds[:, 0].round(3).tolist()


PARTS = {
    "movielens": compare_movielens,
    "synthetic": compare_synthetic,
    "chess": compare_chess,
    "binary": compare_binary,
    "tobit": compare_tobit,
    "tobit2": compare_tobit_ii,
    "passes": compare_passes,
    "speed": measure_speed,
}


def main():
    """Measure one experiment, or all, and print it as JSON."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("part", choices=[*PARTS, "all"])
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--out", type=Path, help="write the figures as JSON")
    options = parser.parse_args()
    names = list(PARTS) if options.part == "all" else [options.part]
    figures = {name: PARTS[name](range(options.seeds)) for name in names}
    text = json.dumps(figures, indent=1)
    print(text)
    if options.out:
        options.out.write_text(text + "\n")


if __name__ == "__main__":
    main()
