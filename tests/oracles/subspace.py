"""Categorical subspaces, slowly: every row of the subspace shrinks, and normal tails come from scipy."""

import numpy as np
from scipy.special import log_ndtr, softmax

LEARN_STEPS, DESCENT, LEARN_TOL, EARLY, PRIOR = 8, 40, 1e-3, 1000, 10


def log_mass(low, high):
    """Return log(Phi(high) - Phi(low)) by the logarithms of the nearer tail."""
    if low + high > 0:
        low, high = -high, -low
    top, rest = log_ndtr(high), log_ndtr(low)
    return top + np.log1p(-np.exp(rest - top)) if np.isfinite(low) else top


def log_likelihood(model, x, code, value, edges):
    """Return log p of a value at predictors x (c,), by (2.3) to (2.8): the record of x + v, and its probability."""
    if model == "logit":
        return np.log(softmax(np.r_[0.0, x])[code])
    if is_exact(model, code):
        return -((value - x[0]) ** 2) / 2 - np.log(2 * np.pi) / 2
    return log_mass(edges[code] - x[0], edges[code + 1] - x[0])


def is_exact(model, code):
    """Return whether the value of a tobit is not censored: inside the bounds for type I, beyond them for type II."""
    return code == 1 if model == "tobit" else model == "tobit2" and code != 1


def differentiate_cell(model, x, code, value, edges):
    """Return score (c,), curvature (c, c) and the derivatives by the two thresholds of log p at predictors x (c,)."""
    if model == "logit":
        p = softmax(np.r_[0.0, x])[1:]
        return np.eye(len(p) + 1)[code][1:] - p, np.diag(p) - np.outer(p, p), (0, 0)
    if is_exact(model, code):
        return value - x, np.eye(1), (0, 0)
    low, high = edges[code] - x[0], edges[code + 1] - x[0]
    mass = log_mass(low, high)
    at = [np.exp(-(t**2) / 2 - mass) / np.sqrt(2 * np.pi) for t in (low, high)]
    score = at[0] - at[1]
    bend = score**2 - sum(s * t * a for s, t, a in ((1, low, at[0]), (-1, high, at[1])) if np.isfinite(t))
    return np.array([score]), np.array([[bend]]), (-at[0], at[1])


class Twin:
    """The learner's updates with a dense subspace (D, c, d) and no scale."""

    def __init__(self, learner, start):
        self.options, self.edges = learner, start["_thresholds"].copy()
        self.u, self.b = start["_progress"][0] * start["_subspace"], start["_offsets"].copy()
        self.counts, self.centre = start["_counts"].copy(), start["_centre"].copy()
        self.rows = self.cells = 0
        self.exact = [[], []]  # values that the two bounds of a tobit may not pass

    def differentiate(self, z, columns, codes, values):
        o, (_, c, d) = self.options, self.u.shape
        penalty = np.r_[np.full(d, o.lam), np.full(len(z) - d, o.lam_offsets)]
        gradient, hessian, slopes, scores = -penalty * z, np.diag(penalty), np.zeros(len(self.edges)), []
        for i, code, value in zip(columns, codes, values, strict=True):
            design = np.column_stack([self.u[i], np.eye(c)]) if o.offsets else self.u[i]
            x = self.centre + self.b[i] + design @ z
            score, bend, at = differentiate_cell(o.model, x, code, value, self.edges)
            gradient = gradient + design.T @ score
            hessian = hessian + design.T @ bend @ design
            if o.model != "logit":
                slopes[code : code + 2] += at
            scores.append(score)
        return gradient, hessian, np.array(scores).reshape(-1, c), slopes

    def sketch(self, columns, codes, values):
        """Return the sketch of a row by the steps of Newton's method, or of gradient descent, and the scores there."""
        o, (_, c, d) = self.options, self.u.shape
        z, before, move = np.zeros(d + c * o.offsets), np.inf, None
        is_newton = o.sketch == "newton"
        squares = sum((self.u[i] ** 2).sum() + c * o.offsets for i in columns)
        bound = max(o.lam, o.lam_offsets) + squares * (0.25 if o.model == "logit" and c == 1 else 1)
        for step in range(LEARN_STEPS * (1 if is_newton else DESCENT) + 1):
            gradient, hessian, scores, slopes = self.differentiate(z, columns, codes, values)
            largest = np.abs(gradient).max()
            if largest <= LEARN_TOL or step == LEARN_STEPS * (1 if is_newton else DESCENT):
                return z, scores, slopes
            if not is_newton:
                z = z + gradient / bound
            elif largest > before:
                move = move / 2
                z = z - move
            else:
                before, move = largest, np.linalg.solve(hessian, gradient)
                z = z + move

    def learn(self, columns, codes, values):
        o, (n_columns, _, d) = self.options, self.u.shape
        z, scores, slopes = self.sketch(columns, codes, values)
        rate = o.step / (1 + o.decay * self.cells / n_columns)
        self.rows += 1
        self.cells += len(columns)
        self.u /= 1 + rate * o.lam / max(self.rows, EARLY)
        bend = 0.25 if o.model == "logit" else 1
        for i, score in zip(columns, scores, strict=True):
            self.counts[i] += 1
            self.u[i] += o.step / (1 + o.decay * self.counts[i]) * np.outer(score, z[:d])
            if o.offsets:
                self.b[i] += score / (o.lam_offsets + bend * self.counts[i])
        share = 1 / (PRIOR + self.cells)
        if o.learn_thresholds and o.model == "probit":
            inner = slopes[1:-1]
            gaps = np.diff(self.edges[1:-1])
            totals = np.cumsum(inner[::-1])[::-1]
            gaps = gaps * np.exp(np.clip(share * totals[1:] * gaps, -1, 1))
            self.edges[1:-1] = self.edges[1] + share * totals[0] + np.r_[0, np.cumsum(gaps)]
        elif o.learn_thresholds and o.model in ("tobit", "tobit2"):
            self.step_bounds(codes, values, slopes[1:-1])
        if (o.offsets and (o.model != "probit" or not o.learn_thresholds)) or (o.learn_thresholds and bend < 1):
            self.centre = self.centre + share / bend * scores.sum(axis=0)
        return z

    def step_bounds(self, codes, values, slopes):
        """Move the bounds of a tobit by the gradient, within the exact values: type I inwards, type II outwards."""
        inwards = self.options.model == "tobit"
        for code, value in zip(codes, values, strict=True):
            if is_exact(self.options.model, code):
                for j in (0, 1) if inwards else (code // 2,):
                    self.exact[j].append(value)
        for j, nearest in enumerate((min, max) if inwards else (max, min)):
            if self.exact[j]:
                moved = self.edges[j + 1] + slopes[j] / (PRIOR + self.cells)
                self.edges[j + 1] = nearest(moved, nearest(self.exact[j]))
