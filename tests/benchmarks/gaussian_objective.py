"""The one outside judge of Gaussian graphical models: objectives, gaps, feasibility and edges from dense matrices.

It imports numpy alone and shares no code with the learners. Every tool's answer goes through the same functions.
"""

import numpy as np

HALVINGS = 40


def compute_log_determinant(matrix):
    """Return the log determinant, None where the matrix is not positive definite."""
    try:
        factor = np.linalg.cholesky(matrix)
    except np.linalg.LinAlgError:
        return None
    return 2.0 * float(np.log(factor.diagonal()).sum())


def graphical_lasso(S, theta, lam):
    """Judge a precision: objective -logdet Theta + tr(S Theta) + lam sum_{i != j} |Theta_ij|, and its duality gap.

    The dual point is the inverse put into the box |W - S| <= lam; where that is not positive definite, the first point
    that is on the way to S with its off-diagonal shrunk, which is in the box too. The gap is relative to |dual|.
    """
    p = len(S)
    asymmetry = float(np.abs(theta - theta.T).max())
    theta = 0.5 * (theta + theta.T)
    logdet = compute_log_determinant(theta)
    if logdet is None:
        return {"objective": None, "gap": None, "asymmetry": asymmetry}
    off = float(np.abs(theta).sum() - np.abs(theta.diagonal()).sum())
    objective = -logdet + float(np.vdot(S, theta)) + lam * off
    W = np.clip(np.linalg.inv(theta), S - lam, S + lam)
    np.fill_diagonal(W, S.diagonal())
    dual = compute_log_determinant(0.5 * (W + W.T))
    if dual is None:
        largest = float(np.abs(S - np.diag(S.diagonal())).max())
        safe = (1.0 - min(1.0, lam / largest)) * S
        np.fill_diagonal(safe, S.diagonal())
        for _ in range(HALVINGS):
            W = 0.5 * (W + safe)
            dual = compute_log_determinant(0.5 * (W + W.T))
            if dual is not None:
                break
    gap = None if dual is None else (objective - dual - p) / abs(dual + p)
    return {"objective": objective, "gap": gap, "asymmetry": asymmetry}


def inverse_error(theta, covariance):
    """Return max |Theta W - I| of what a tool says is the precision and the covariance."""
    return float(np.abs(theta @ covariance - np.eye(len(theta))).max())


def clime(S, Q, lam, columns):
    """Judge columns of min sum |q| such that |S q - e_j| <= lam: sum of all |q|, and how far the worst one misses."""
    residual = S @ Q
    residual[columns, np.arange(len(columns))] -= 1.0
    return {"objective": float(np.abs(Q).sum()), "excess": float(np.abs(residual).max() - lam)}


def neighborhood(S, B, lam):
    """Judge lasso regressions, one a column: sum of 1/2 S_jj - S_j'b + 1/2 b'Sb + lam |b|_1, and the largest gap.

    The dual point of a column is its residual, scaled such that no other column correlates by more than lam with it.
    """
    fitted = S @ B
    own = S.diagonal()
    linear = np.einsum("ij,ij->j", S, B)
    left = own - 2.0 * linear + np.einsum("ij,ij->j", B, fitted)  # |residual|^2 / n
    primal = 0.5 * left + lam * np.abs(B).sum(axis=0)
    slopes = np.abs(S - fitted)
    np.fill_diagonal(slopes, 0.0)
    bound = lam / np.maximum(slopes.max(axis=0), 1e-300)
    with np.errstate(divide="ignore", invalid="ignore"):
        share = np.where(left > 0, np.clip((own - linear) / left, -bound, bound), 0.0)
    dual = share * (own - linear) - 0.5 * share**2 * left
    return {"objective": float(primal.sum()), "gap": float((primal - dual).max())}


def smaller_magnitude(Q):
    """Return of each pair of entries (i, j), (j, i) the smaller in magnitude: CLIME's way to a symmetric matrix."""
    return np.where(np.abs(Q) <= np.abs(Q.T), Q, Q.T)


def edges_of(matrix, threshold=0.0):
    """Return the pairs i < j whose entry is above a threshold, as a boolean upper triangle."""
    return np.triu(np.abs(matrix) > threshold, 1)


def f1(found, true_edges):
    """Return the harmonic mean of precision and recall of a boolean upper triangle."""
    true = np.zeros_like(found)
    true[true_edges[:, 0], true_edges[:, 1]] = True
    hits, wrong = int((found & true).sum()), int((found ^ true).sum())
    return 2 * hits / max(2 * hits + wrong, 1)
