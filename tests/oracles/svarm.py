"""Kernel structural vector autoregressions node by node, on the kernel matrices themselves; slow and obvious.

Shen (thesis, chapter 5): objective (5.11), ½‖y − Σ K_b a_b‖² + λ Σ √(a_b' K_b a_b), and algorithm 6b.
"""

import numpy as np
from scipy.linalg import cho_factor, cho_solve

GAUSSIAN = "gaussian"


def kernel_matrix(values, kind):
    """Return the kernel matrix of the values of one series, not centred."""
    u, v = np.asarray(values)[:, None], np.asarray(values)[None, :]
    if callable(kind):
        return np.array([[kind(a, b) for b in v[0]] for a in u[:, 0]], dtype=float)
    return {"gaussian": np.exp(-((u - v) ** 2) / 2.0), "poly2": (1.0 + u * v) ** 2, "linear": u * v}[kind]


def centre(matrix):
    """Return HKH, scaled to a trace equal to its size."""
    n = len(matrix)
    h = np.eye(n) - 1.0 / n
    centred = h @ matrix @ h
    return centred * n / np.trace(centred)


def node_kernels(series, target, lags, kinds=(GAUSSIAN,), instantaneous=True):
    """Return the allowed (lag, source, kind) of a target, their kernel matrices, and the centred target.

    `series` (T, N) is standardised as given.
    """
    n_rows, n = series.shape
    blocks = [
        (lag, source, kind)
        for lag in range(0 if instantaneous else 1, lags + 1)
        for source in range(n)
        for kind in kinds
        if lag or source != target
    ]
    windows = [series[lags - lag : n_rows - lag, source] for lag, source, _ in blocks]
    matrices = [centre(kernel_matrix(window, kind)) for window, (_, _, kind) in zip(windows, blocks, strict=True)]
    y = series[lags:, target]
    return blocks, matrices, y - y.mean()


def evaluate(matrices, y, weights, lam):
    """Return the primal objective at weights a_b, and the dual one at the residual scaled into its constraints."""
    residual = y - sum(k @ a for k, a in zip(matrices, weights, strict=True))
    lengths = [np.sqrt(max(a @ k @ a, 0.0)) for k, a in zip(matrices, weights, strict=True)]
    primal = 0.5 * residual @ residual + lam * sum(lengths)
    worst = max(np.sqrt(max(residual @ k @ residual, 0.0)) for k in matrices)
    theta = residual * min(1.0, lam / worst)
    return primal, y @ theta - 0.5 * theta @ theta


def bracket(matrices, y, lam, *, tol=1e-9, max_iter=50_000):
    """Return a lower and an upper bound of the least objective of one node; they come from the matrices alone."""
    upper, lower = evaluate(matrices, y, solve(matrices, y, lam, tol=tol, max_iter=max_iter), lam)
    return lower, upper


def solve(matrices, y, lam, *, tol=1e-9, max_iter=50_000):
    """Return the weights a_b of one node, by accelerated proximal gradient steps in eigenvectors of the matrices."""
    factors, inverses = [], []
    for k in matrices:
        values, vectors = np.linalg.eigh(k)
        keep = values > 1e-13 * values.max()
        factors.append(vectors[:, keep] * np.sqrt(values[keep]))
        inverses.append(vectors[:, keep] / np.sqrt(values[keep]))
    phi = np.concatenate(factors, axis=1)
    owner = np.repeat(np.arange(len(factors)), [f.shape[1] for f in factors])
    step = 1.0 / np.linalg.norm(phi, 2) ** 2
    w = z = np.zeros(phi.shape[1])
    momentum, before = 1.0, np.inf
    for iteration in range(max_iter):
        v = z + step * (phi.T @ (y - phi @ z))
        norms = np.sqrt(np.bincount(owner, v**2, minlength=len(factors)))
        shrink = np.maximum(1.0 - step * lam / np.maximum(norms, 1e-300), 0.0)
        new = v * shrink[owner]
        following = (1.0 + np.sqrt(1.0 + 4.0 * momentum**2)) / 2.0
        if (z - new) @ (new - w) > 0:
            following, z = 1.0, new
        else:
            z = new + (momentum - 1.0) / following * (new - w)
        w, momentum = new, following
        if iteration % 200 == 199:
            weights = [inverse @ w[owner == b] for b, inverse in enumerate(inverses)]
            upper, lower = evaluate(matrices, y, weights, lam)
            if upper - lower <= tol * upper or upper > before * (1 + 1e-6):
                break
            before = upper
    return weights


class ThesisADMM:
    """Algorithm 6b as it is written: one factorisation per node, of all its weights, and one solution per iteration.

    The kernel matrices are singular after centring; `jitter` times the trace is added to each, as any code of it must.
    """

    def __init__(self, series, lags=1, kinds=(GAUSSIAN,), rho=10.0, jitter=1e-8, nodes=None):
        self.rho, self.nodes = rho, []
        for target in range(series.shape[1]) if nodes is None else nodes:
            blocks, matrices, y = node_kernels(series, target, lags, kinds)
            n = len(y)
            matrices = [k + jitter * n * np.eye(n) for k in matrices]
            wide = np.concatenate(matrices, axis=1)
            normal = wide.T @ wide
            roots = []
            for b, k in enumerate(matrices):
                normal[b * n : (b + 1) * n, b * n : (b + 1) * n] += rho * k
                values, vectors = np.linalg.eigh(k)
                roots.append((vectors * np.sqrt(np.maximum(values, 0.0))) @ vectors.T)
            state = {
                "matrices": matrices,
                "roots": roots,
                "y": y,
                "product": wide.T @ y,
                "factor": cho_factor(normal, lower=True, overwrite_a=True),
                "gamma": np.zeros((len(blocks), n)),
                "xi": np.zeros((len(blocks), n)),
            }
            self.nodes.append(state)

    def iterate(self, lam):
        """Take one step of every node."""
        for node in self.nodes:
            roots, gamma, xi = node["roots"], node["gamma"], node["xi"]
            moved = np.concatenate([r @ (self.rho * g - x) for r, g, x in zip(roots, gamma, xi, strict=True)])
            alpha = cho_solve(node["factor"], node["product"] + moved).reshape(gamma.shape)
            images = np.stack([r @ a for r, a in zip(roots, alpha, strict=True)])
            v = images + xi / self.rho
            norms = np.linalg.norm(v, axis=1, keepdims=True)
            node["gamma"] = v * np.maximum(1.0 - lam / (self.rho * np.maximum(norms, 1e-300)), 0.0)
            node["xi"] = xi + self.rho * (images - node["gamma"])

    def bounds(self, lam):
        """Return upper and lower bounds of the objective of each node."""
        rows = []
        for node in self.nodes:
            weights = [np.linalg.solve(r, g) for r, g in zip(node["roots"], node["gamma"], strict=True)]
            rows.append(evaluate(node["matrices"], node["y"], weights, lam))
        return np.array(rows)


def weighted_ridge(series, lags, lam, forgetting, *, kind="linear", instantaneous=True):
    """Return the norms (L + 1, N, N) of weighted kernel ridge regression of all targets, from kernel matrices.

    Weights of the targets are forgetting^(T' - 1 - s). Kernel matrices and targets are centred by weighted means, of
    weighted trace and variance 1; ½‖r‖² + λ Σ a_b'K_b a_b.
    """
    n_rows, n = series.shape
    w = forgetting ** np.arange(n_rows - lags - 1, -1, -1.0)
    centre = np.eye(len(w)) - np.outer(np.ones(len(w)), w) / w.sum()
    root = np.sqrt(w)
    norms = np.zeros((lags + 1, n, n))
    for target in range(n):
        blocks, matrices = [], []
        for lag in range(0 if instantaneous else 1, lags + 1):
            for source in range(n):
                if lag or source != target:
                    matrix = centre @ kernel_matrix(series[lags - lag : n_rows - lag, source], kind) @ centre.T
                    matrix = root[:, None] * matrix * root
                    blocks.append((lag, source))
                    matrices.append(matrix * w.sum() / np.trace(matrix))
        y = root * (centre @ series[lags:, target])
        y *= np.sqrt(w.sum()) / np.linalg.norm(y)
        a = np.linalg.solve(sum(matrices) + 2.0 * lam * np.eye(len(y)), y)
        for (lag, source), matrix in zip(blocks, matrices, strict=True):
            norms[lag, target, source] = np.sqrt(a @ matrix @ a)
    return norms
