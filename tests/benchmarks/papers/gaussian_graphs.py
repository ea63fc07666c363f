"""The statements of the lecture notes on Gaussian graphical models: equations and sections 1 to 4.

The notes have no experiments. Each statement is checked on sampled rows, against linear programming (SciPy's HiGHS) and
numpy. Equation numbers are those of the notes.
"""

import sys
from pathlib import Path
from time import process_time

sys.path.insert(0, str(Path(__file__).parents[1]))

import gaussian_wide
import numpy as np
from claims import Claim, judge, report
from scipy.optimize import linprog

from pgmx.datasets import gaussian_chain_network, gaussian_random_network
from pgmx.estimators import CLIME, GraphicalLasso, NeighborhoodLasso
from pgmx.metrics import skeleton_scores
from pgmx.statistics import kendall_tau_matrix, latent_correlation, spearman

BAND = np.array([[1, 6, 0, 0, 0], [6, 2, 7, 0, 0], [0, 7, 3, 8, 0], [0, 0, 8, 4, 9], [0, 0, 0, 9, 5]], dtype=float)
PRINTED = np.array(
    [
        [0.10, 0.15, -0.13, -0.08, 0.15],
        [0.15, -0.03, 0.02, 0.01, -0.03],
        [-0.13, 0.02, 0.10, 0.07, -0.12],
        [-0.08, 0.01, 0.07, -0.04, 0.07],
        [0.15, -0.03, -0.12, 0.07, 0.08],
    ]
)
QUIET = {"show_progress": False}


def draw_rows(p, n, seed=0):
    """Return a random network of mean degree 3 and standardised rows of it."""
    network = gaussian_random_network(p, mean_degree=3, random_state=seed)
    rows = network.simulate(n, random_state=seed).to_numpy()
    return network, (rows - rows.mean(0)) / rows.std(0)


def check_example():
    """Equation 4: a sparse precision has a dense covariance."""
    inverse = np.linalg.inv(BAND)
    smallest = float(np.linalg.eigvalsh(BAND).min())
    yield Claim(
        "equation 4",
        "a tridiagonal precision has a covariance without zeros",
        f"the printed inverse is right to {abs(inverse - PRINTED).max():.3f}; the least eigenvalue of the printed "
        f"matrix is {smallest:.1f}, so it is not the precision of a distribution",
        judge(
            abs(inverse).min() > 0 and abs(inverse - PRINTED).max() < 0.006,
            ", although the printed matrix is not a valid precision" if smallest <= 0 else "",
        ),
    )


def check_independence():
    """Equations 2 and 3: zeros of the covariance and of the precision."""
    chain = gaussian_chain_network(6, 0.6)
    precision = np.asarray(chain.precision)
    covariance = np.linalg.inv(precision)
    rest = [1, 2, 3, 4]
    inner = covariance[np.ix_(rest, rest)]
    partial = covariance[0, 5] - covariance[0, rest] @ np.linalg.solve(inner, covariance[rest, 5])
    yield Claim(
        "equations 2, 3",
        "a zero of the precision is conditional independence given all others",
        f"ends of a chain of six: precision {precision[0, 5]:.0f}, covariance {covariance[0, 5]:.3f}, given the others "
        f"{abs(partial):.0e}",
        judge(precision[0, 5] == 0 and abs(partial) < 1e-12 and abs(covariance[0, 5]) > 1e-3),
    )


def check_few_rows(p=200, n=100):
    """Equation 5: more variables than rows."""
    chain = gaussian_chain_network(p, 0.6)
    rows = chain.simulate(n, random_state=0)
    rank = int(np.linalg.matrix_rank(np.cov(rows.to_numpy(), rowvar=False)))
    cells, scores = [], []
    for learner, factor in ((NeighborhoodLasso, 1), (GraphicalLasso, 2), (CLIME, 1)):
        fitted = learner(lam=factor * np.sqrt(np.log(p) / n), **QUIET).fit(rows)
        scores.append(skeleton_scores(chain, fitted).f1)
        cells.append(f"{learner.__name__} {scores[-1]:.2f}")
    yield Claim(
        "equation 5, section 1.3",
        "if p > n, the maximum likelihood estimate does not exist; penalties find a sparse graph",
        f"chain of {p} variables, {n} rows: rank {rank} of the covariance; F1 at 1, 2, 1 times √(log p / n): "
        f"{', '.join(cells)}",
        judge(rank < p and min(scores) > 0.8),
    )


def check_nodewise(p=200, n=400):
    """Section 1.3.1: the lasso per node is quick and not symmetric."""
    _, rows = draw_rows(p, n)
    lam = np.sqrt(np.log(p) / n)
    start = process_time()
    nodes = NeighborhoodLasso(lam=lam, **QUIET).fit(rows)
    middle = process_time()
    GraphicalLasso(lam=lam, **QUIET).fit(rows)
    end = process_time()
    found = nodes.coefficients_ != 0
    one_sided, ratio = int((found & ~found.T).sum()), (end - middle) / (middle - start)
    yield Claim(
        "section 1.3.1",
        "the lasso per node is convenient to compute, but not symmetric",
        f"p = {p}, n = {n}: {middle - start:.3f} CPU s, the penalised likelihood (6) takes "
        f"{ratio:.1f} times as long; "
        f"{one_sided} of {int(np.triu(found | found.T, 1).sum())} pairs are found from one side only",
        judge(
            one_sided > 0 and ratio > 1.2,
            "",
            "partly: not symmetric, and not quicker" if one_sided else "not reproduced",
        ),
    )


def check_likelihood(p=100, n=200):
    """Equations 6 to 8: the penalised likelihood and its optimality."""
    _, rows = draw_rows(p, n)
    S, lam = np.corrcoef(rows, rowvar=False), np.sqrt(np.log(p) / n)
    fitted = GraphicalLasso(lam=lam, tol=1e-9, covariance="precomputed", n_samples=n, **QUIET).fit(S)
    difference = abs(np.linalg.inv(fitted.precision_) - S)
    outside = difference - np.diag(np.diag(difference))
    yield Claim(
        "equations 6 to 8",
        "at the optimum of the penalised likelihood no entry of the inverse of Q is further than lambda from S",
        f"p = {p}: the largest difference minus lambda is {outside.max() - lam:.0e}, on the diagonal, which has no "
        f"penalty, {np.diag(difference).max():.0e}; a bound on the distance from the optimum is {fitted.dual_gap_:.0e}",
        judge(max(outside.max() - lam, np.diag(difference).max(), fitted.dual_gap_) < 1e-6),
    )


def check_columns(p=60, n=120):
    """Equations 10 and 11: CLIME as one linear programme per column."""
    _, rows = draw_rows(p, n)
    S, lam = np.corrcoef(rows, rowvar=False), 0.25
    fitted = CLIME(lam=lam, ridge=0.0, solver="homotopy", covariance="precomputed", n_samples=n, **QUIET).fit(S)
    programmes = np.empty((p, p))
    for j in range(p):
        sides = np.concatenate([lam + np.eye(p)[j], lam - np.eye(p)[j]])
        both = linprog(np.ones(2 * p), A_ub=np.block([[S, -S], [-S, S]]), b_ub=sides, method="highs").x
        programmes[:, j] = both[:p] - both[p:]
    raw = np.asarray(fitted.precision_raw_)
    values = abs(abs(raw).sum(0) - abs(programmes).sum(0)).max()
    yield Claim(
        "equations 9 to 11",
        "CLIME is a linear programme, and each column one of its own",
        f"p = {p}: columns against HiGHS, the largest difference of an objective is {values:.0e}, of an entry "
        f"{abs(raw - programmes).max():.0e}; the constraint of (10) is exceeded by {max(fitted.violation_, 0):.0e}",
        judge(max(values, abs(raw - programmes).max(), fitted.violation_) < 1e-9),
    )


def check_splitting(p=100, n=200):
    """Equations 15 to 18: linearised ADMM."""
    _, rows = draw_rows(p, n)
    S, lam = np.corrcoef(rows, rowvar=False), 0.2
    common = {"lam": lam, "covariance": "precomputed", "n_samples": n, **QUIET}
    exact = CLIME(solver="homotopy", **common).fit(S)
    cells, distances, seconds = [], [], []
    for tol in (1e-2, 1e-4, 1e-6):
        start = process_time()
        split = CLIME(solver="admm", tol=tol, max_iter=100_000, **common).fit(S)
        excess = (split.objective_ - exact.objective_) / exact.objective_
        distances.append(abs(excess))
        seconds.append(process_time() - start)
        cells.append(f"{excess:.0e} ({split.n_iter_:,} iterations, {seconds[-1]:.2f} CPU s)")
    start = process_time()
    CLIME(solver="homotopy", **common).fit(S)
    seconds.append(process_time() - start)
    yield Claim(
        "sections 2, 3.1, equations 15 to 18",
        "linearised ADMM solves CLIME by closed steps; its dual variables converge",
        f"p = {p}: relative distance from the exact objective at tol 1e-2 / 1e-4 / 1e-6: {' / '.join(cells)}; the "
        f"exact path takes {seconds[-1]:.3f} CPU s",
        judge(
            distances[0] >= distances[1] >= distances[2] < 1e-6,
            ", and the exact path, the default, is faster" if seconds[-1] < min(seconds[:-1]) else "",
        ),
    )


def check_structure(p=2000, n=100):
    """Section 3.2: products with A in place of S."""
    rows = gaussian_wide.draw_chains(n, p, 100)
    A = (rows - rows.mean(0)).T / np.sqrt(n)
    S, Q = A @ A.T, np.random.default_rng(1).standard_normal((p, 128))
    seconds = []
    for multiply in (lambda: S @ Q, lambda: A @ (A.T @ Q)):
        multiply()
        start = process_time()
        for _ in range(5):
            multiply()
        seconds.append((process_time() - start) / 5)
    yield Claim(
        "section 3.2",
        "A (A'Q) in place of SQ saves time if p >> n",
        f"p = {p:,}, n = {n}, 128 columns: {seconds[0] / seconds[1]:.0f} times as fast (p / 2n = {p / 2 / n:.0f})",
        judge(seconds[0] > 1.2 * seconds[1]),
    )


def check_blocks(p=1000, n=500):
    """Section 3.3: columns in parallel."""
    rows = gaussian_wide.draw_chains(n, p, 50)
    fits = [CLIME(lam=0.25, n_jobs=n_jobs, **QUIET).fit(rows).precision_raw_ for n_jobs in (1, 2, 5)]
    same = all(np.array_equal(fits[0], other) for other in fits[1:])
    yield Claim(
        "section 3.3",
        "columns are solved in parallel; where A does not fit in memory, it is cut into blocks on several machines "
        "(block-cyclic, Wang 2013)",
        f"p = {p:,}: {'the same bits' if same else 'other bits'} for 1, 2 and 5 workers",
        judge(same, " for columns; no block-cyclic A, see below"),
    )


def check_ranks(n=200_000):
    """Equations 22 and 23: the correlation behind monotone transformations."""
    rng = np.random.default_rng(0)
    rho = 0.6
    first = rng.standard_normal(n)
    second = rho * first + np.sqrt(1 - rho**2) * rng.standard_normal(n)
    columns = np.column_stack([np.exp(first), second**3])
    tau = kendall_tau_matrix(columns[:20_000])[0, 1]
    rank = spearman(columns)[0, 1]
    printed = 2 * np.sin(np.pi / 6 * tau)
    of_ranks = 2 * np.sin(np.pi / 6 * rank)
    ours = [latent_correlation(columns[:20_000], name)[0, 1] for name in ("kendall", "spearman")]
    yield Claim(
        "equations 22, 23",
        "the correlation of the hidden normal variables is 2 sin(pi tau / 6) of Kendall's tau",
        f"correlation {rho}: the printed formula gives {printed:.3f}, sin(pi tau / 2) {np.sin(np.pi / 2 * tau):.3f}, "
        f"2 sin(pi rho / 6) of Spearman's rho {of_ranks:.3f}; `latent_correlation` {ours[0]:.3f}, "
        f"{ours[1]:.3f}",
        judge(
            abs(printed - rho) < 0.01,
            otherwise="not reproduced"
            + (": the constant belongs to Spearman's rho" if abs(of_ranks - rho) < 0.01 else ""),
        ),
    )


FUNCTIONS = {
    "equations 2, 3": check_independence,
    "equation 4": check_example,
    "equation 5": check_few_rows,
    "section 1.3.1": check_nodewise,
    "equations 6 to 8": check_likelihood,
    "equations 9 to 11": check_columns,
    "equations 15 to 18": check_splitting,
    "section 3.2": check_structure,
    "section 3.3": check_blocks,
    "equations 22, 23": check_ranks,
}

if __name__ == "__main__":
    report(__file__, FUNCTIONS, __doc__)
