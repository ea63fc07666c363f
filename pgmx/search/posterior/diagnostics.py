"""Diagnostics of Markov chains: r-hat of arcs and of log-scores, differences of chains, effective sample sizes."""

import warnings
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from pgmx.checks import caller_level

#: Least variance of an arc within a chain: r-hat of arcs of probability 0 or 1 is not defined.
LEAST_VARIANCE = 1e-3

#: Least variance of a log-score, in squared nats: smaller ones are rounding errors.
LEAST_SCORE_VARIANCE = 1e-6

#: Number of arcs with the largest r-hat whose effective sample size is computed.
SLOWEST_ARCS = 20

#: Number of arcs that a warning names.
NAMED_ARCS = 3


class Agreement(NamedTuple):
    """How well chains agree: arrays of shape (n, K) by child and candidate, and r-hat of the log-score."""

    shares: np.ndarray
    r_hats: np.ndarray
    differences: np.ndarray
    score_r_hat: float

    @property
    def r_hat(self) -> float:
        """The largest r-hat of an arc or of the log-score."""
        return max(self.score_r_hat, float(self.r_hats.max(initial=1.0)))

    @property
    def max_difference(self) -> float:
        """The largest difference of two chains in the probability of an arc."""
        return float(self.differences.max(initial=0.0))


def compare_chains(arcs: Sequence[np.ndarray], traces: Sequence[np.ndarray]) -> Agreement:
    """Return how well chains agree; ``arcs[c]``, (blocks, n, K), are shares of arcs in the blocks of chain c.

    A single chain is compared by its halves. ``traces[c]`` are its log-scores.
    """
    halves = [half for chain in arcs for half in _split(chain)]
    means = np.array([half.mean(axis=0) for half in halves])
    chains = np.array([chain.mean(axis=0) for chain in arcs]) if len(arcs) > 1 else means
    lengths = np.array([len(chain) for chain in arcs], dtype=float)
    shares = np.tensordot(lengths / lengths.sum(), np.array([chain.mean(axis=0) for chain in arcs]), axes=1)
    return Agreement(shares, compute_arc_r_hats(means), np.ptp(chains, axis=0), compute_split_r_hat(traces))


def _split(values: np.ndarray) -> list[np.ndarray]:
    middle = len(values) // 2
    return [values[:middle], values[middle:]] if middle else [values]


def compute_arc_r_hats(means: np.ndarray) -> np.ndarray:
    r"""Return r-hat of each arc from its shares in half-chains, (halves, ...): :math:`\sqrt{1 + B / W}`.

    B is the variance between half-chains, W the mean of P (1 - P) within them, at least 0.001.
    """
    if len(means) < 2:
        return np.ones(means.shape[1:])
    within = np.maximum((means * (1 - means)).mean(axis=0), LEAST_VARIANCE)
    return np.sqrt(1.0 + means.var(axis=0, ddof=1) / within)


def compute_split_r_hat(traces: Sequence[np.ndarray]) -> float:
    """Return the split r-hat of the last log-scores of chains, of equal length (Gelman et al. 2013, equation 11.4)."""
    length = min(len(trace) for trace in traces) // 2
    if length < 2:
        return 1.0
    halves = np.array([half for trace in traces for half in (trace[-2 * length : -length], trace[-length:])])
    within = max(float(halves.var(axis=1, ddof=1).mean()), LEAST_SCORE_VARIANCE)
    between = float(halves.mean(axis=1).var(ddof=1))
    return float(np.sqrt((length - 1) / length + between / within))


def estimate_sample_size(series: Sequence[np.ndarray]) -> float:
    """Return the effective sample size of a quantity from its values in each chain.

    Autocorrelations about the mean of all chains are summed in pairs until a pair is not positive (Geyer 1992).
    """
    length = min(len(values) for values in series)
    values = np.array([values[-length:] for values in series], dtype=float)
    total = values.size
    values = values - values.mean()
    if length < 4 or not values.any():
        return float(total)
    spectrum = np.fft.rfft(values, 2 * length, axis=1)
    correlations = np.fft.irfft(spectrum * spectrum.conj(), axis=1)[:, :length].mean(axis=0) / length
    correlations /= correlations[0]
    pairs = correlations[: length // 2 * 2].reshape(-1, 2).sum(axis=1)
    n_positive = int(np.argmax(pairs <= 0)) if (pairs <= 0).any() else len(pairs)
    return float(min(total, total / max(2.0 * pairs[:n_positive].sum() - 1.0, 1.0)))


def estimate_least_sample_size(traces: Sequence[np.ndarray], graphs: Sequence[np.ndarray], r_hats: np.ndarray) -> float:
    """Return the smallest effective sample size of the log-score and of the slowest arcs.

    ``graphs[c]``, (records, n), holds the masks of the parents in the graphs of a chain.
    """
    sizes = [estimate_sample_size(traces)]
    slowest = np.argsort(-r_hats, axis=None, kind="stable")[:SLOWEST_ARCS]
    for child, bit in zip(*np.unravel_index(slowest, r_hats.shape), strict=True):
        sizes.append(estimate_sample_size([chain[:, child] >> bit & 1 for chain in graphs]))
    return min(sizes)


def warn_of_disagreement(agreement: Agreement, candidates: Sequence[np.ndarray], names: Sequence, reason: str) -> None:
    """Warn that chains have not converged, and name the arcs in which they differ most."""
    worst = np.argsort(-agreement.differences, axis=None, kind="stable")[:NAMED_ARCS]
    arcs = [
        f"{names[candidates[child][bit]]!r} -> {names[child]!r} ({agreement.differences[child, bit]:.2f})"
        for child, bit in zip(*np.unravel_index(worst, agreement.differences.shape), strict=True)
        if bit < len(candidates[child])
    ]
    warnings.warn(
        f"the chains have not converged (stopped by {reason}, r_hat_={agreement.r_hat:.3f}, largest difference "
        f"{agreement.max_difference:.2f}): probabilities differ most between chains for {', '.join(arcs)}. Give a "
        "larger n_steps or more time; the sum of the two directions is often settled earlier",
        ConvergenceWarning,
        stacklevel=caller_level(),
    )
