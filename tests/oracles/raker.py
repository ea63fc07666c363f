"""Raker and AdaRaker written down row by row in numpy, as in the equations; frequencies and sketches are given."""

import numpy as np

LOSSES = {
    "square": lambda f, y: (f - y) ** 2,
    "logistic": lambda f, y: np.logaddexp(0.0, -y * f),
    "hinge": lambda f, y: np.maximum(0.0, 1.0 - y * f),
}
SLOPES = {
    "square": lambda f, y: 2.0 * (f - y),
    "logistic": lambda f, y: -y * np.exp(-np.logaddexp(0.0, y * f)),
    "hinge": lambda f, y: -y * (y * f < 1.0),
}


def softmax(logs):
    weights = np.exp(logs - np.max(logs))
    return weights / weights.sum()


def sketch_polynomial(x, buckets, signs, n_buckets):
    """Return the tensor sketch of (1, x): the circular convolution of its count sketches, by Fourier transforms."""
    x, product = np.r_[1.0, x] / np.sqrt(1 + len(x)), 1.0
    for places, sign in zip(buckets, signs, strict=True):
        product = product * np.fft.fft(np.bincount(places, sign * x, n_buckets))
    return np.fft.ifft(product).real


class RakerTwin:
    """One output of Raker (a `step`) or AdaRaker (`adaptive`), learned by dictionaries of experts.

    `step` may be a function of the row; `features` maps x to the list of features of all kernels.
    """

    def __init__(
        self,
        frequencies,
        *,
        step,
        loss="square",
        weight_step=2.0,
        penalty=0.0,
        adaptive=False,
        restart=False,
        base=2,
        features=None,
    ):
        self.base, self.features = base, features or self.wave
        self.frequencies, self.step, self.loss = frequencies, step, loss
        self.weight_step, self.penalty, self.adaptive, self.restart = weight_step, penalty, adaptive, restart
        self.t, self.coefficients, self.kernel_logs, self.expert_logs = 0, {}, {}, {}
        self.losses, self.outputs = [], []  # by row, those of all experts

    def get_step(self, j):
        curvature = {"square": 2.0, "logistic": 0.25, "hinge": 0.5}[self.loss]
        if self.adaptive:
            return min(1.0 / (curvature + 2.0 * self.penalty), self.step * self.base ** (-j / 2))
        return self.step(self.t) if callable(self.step) else self.step

    def wave(self, x):
        angles = self.frequencies @ x
        return list(np.hstack([np.sin(angles), np.cos(angles)]) / np.sqrt(angles.shape[1]))

    def open_intervals(self, t):
        """Renew the experts whose intervals begin at row t, counted from 1."""
        n_open = sum(self.base**j <= t for j in range(40))
        for j in range(n_open) if self.adaptive else [0] * (t == 1):
            if t % self.base**j == 0:
                self.expert_logs[j] = np.log(self.get_step(j)) * (1.0 if self.restart else 0.5)
                if self.restart or j not in self.coefficients:
                    self.coefficients[j] = [0.0 * z for z in self.z]
                    self.kernel_logs[j] = np.zeros(len(self.z))

    def learn(self, x, y):
        """Return the prediction before the row, then learn it."""
        self.t += 1
        self.z = self.features(x)
        self.open_intervals(self.t)
        parts = {
            j: np.array([a @ z for a, z in zip(theta, self.z, strict=True)]) for j, theta in self.coefficients.items()
        }
        experts = {j: softmax(self.kernel_logs[j]) @ part for j, part in parts.items()}
        order = sorted(experts)
        f = softmax(np.array([self.expert_logs[j] for j in order])) @ [experts[j] for j in order]
        loss, slope = LOSSES[self.loss], SLOPES[self.loss]
        for j in order:
            step = self.get_step(j)
            self.coefficients[j] = [
                a - step / max(1.0, z @ z) * (s * z + 2.0 * self.penalty * a)
                for a, s, z in zip(self.coefficients[j], slope(parts[j], y), self.z, strict=True)
            ]
            self.kernel_logs[j] = self.kernel_logs[j] - self.weight_step * loss(parts[j], y)
            self.expert_logs[j] += (step if self.restart else self.weight_step) * (loss(f, y) - loss(experts[j], y))
        self.losses.append({j: float(loss(experts[j], y)) for j in order})
        self.outputs.append(experts)
        return f


KERNELS = {
    "gaussian": lambda x, z, v: np.exp(-((x - z) ** 2).sum() / (2 * v)),
    "laplacian": lambda x, z, v: np.exp(-np.sqrt(((x - z) ** 2).sum() / v)),
    "cauchy": lambda x, z, v: 1 / (1 + ((x - z) ** 2).sum() / v),
    "laplacian_l1": lambda x, z, v: np.exp(-np.abs(x - z).sum() / np.sqrt(v)),
    "linear": lambda x, z, v: x @ z / len(x),
    "polynomial2": lambda x, z, v: ((1 + x @ z) / (1 + len(x))) ** 2,
    "polynomial3": lambda x, z, v: ((1 + x @ z) / (1 + len(x))) ** 3,
}


class ExactTwin:
    """One output of OMKL, or with a `budget` OMKL-B, as lists of supports."""

    def __init__(self, kernels, *, step, loss="square", weight_step=0.5, penalty=0.0, budget=None):
        self.kernels, self.step, self.loss = kernels, step, loss
        self.weight_step, self.penalty, self.budget = weight_step, penalty, budget
        self.supports, self.a, self.logs = [], [], np.zeros(len(kernels))

    def evaluate(self, x, z):
        return np.array([KERNELS[name](x, z, number) for name, number in self.kernels])

    def learn(self, x, y):
        """Return the prediction before the row, then learn it."""
        parts = sum((a * self.evaluate(x, z) for a, z in zip(self.a, self.supports, strict=True)), 0 * self.logs)
        f = softmax(self.logs) @ parts
        step = self.step / np.maximum(1.0, self.evaluate(x, x))
        self.a = [a * (1 - 2 * step * self.penalty) for a in self.a]
        self.a.append(-step * SLOPES[self.loss](parts, y))
        self.supports.append(x)
        if self.budget:
            self.a, self.supports = self.a[-self.budget :], self.supports[-self.budget :]
        self.logs = self.logs - self.weight_step * LOSSES[self.loss](parts, y)
        return f


def track_intervals(errors, coverage, rate=0.05, memory=0.05):
    """Return the half-widths before each of the errors."""
    widths, log_ratio, mean = [np.inf], 0.0, abs(errors[0])
    for t, error in enumerate(np.abs(errors[1:]), start=1):
        widths.append(np.exp(log_ratio) * mean)
        log_ratio += rate * (coverage - (error <= widths[-1]))
        mean += max(memory, 1.0 / (t + 1)) * (error - mean)
    return np.array(widths)


def flag_changes(sizes, ratio=1.5, limit=14.0, cut=3.5, forgetting=0.005, settling=100):
    """Return the positions where the CUSUM of likelihood ratios of larger errors passes its limit."""
    flags, start, total, scale = [], 0, 0.0, 0.0
    for t, size in enumerate(sizes):
        if t - start >= settling:
            u = min(size / (np.sqrt(np.pi / 2) * scale), cut)
            total = max(0.0, total - np.log(ratio) + 0.5 * u**2 * (1.0 - ratio**-2))
            if total > limit:
                flags.append(t)
                start, total, scale = t, 0.0, 0.0
        scale += max(1.0 / (t - start + 1), forgetting) * (size - scale)
    return flags


def flag_mistakes(mistakes, ratio=2.0, limit=7.0, memory=200, settling=100):
    """Return the positions where the CUSUM of likelihood ratios of more frequent mistakes passes its limit."""
    flags, start, total, share = [], 0, 0.0, 0.0
    for t, mistake in enumerate(mistakes):
        n = t - start
        if n >= settling:
            rate = (min(n, memory) * share + 1) / (min(n, memory) + 2)
            more = min(ratio * rate, (1 + rate) / 2)
            total = max(0.0, total + np.log(more / rate if mistake else (1 - more) / (1 - rate)))
            if total > limit:
                flags.append(t)
                start, total, share = t, 0.0, 0.0
        share += max(1.0 / (t - start + 1), 1.0 / memory) * (mistake - share)
    return flags
