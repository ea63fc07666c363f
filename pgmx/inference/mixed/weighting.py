"""Answers of a conditional linear Gaussian network by likelihood weighting."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from pgmx.inference.mixed.families import MixedFamilies, MixedRows
from pgmx.inference.mixed.posterior import Answers

#: Samples drawn at a time, those of one row at least.
_BLOCK = 1 << 16


class WeightedAnswers(NamedTuple):
    """Estimates, and the effective sample size behind those of each row, (n_rows,)."""

    answers: Answers
    effective_sizes: np.ndarray


def weigh_samples(
    network: MixedFamilies,
    targets: list[int],
    rows: MixedRows,
    observed: np.ndarray,
    n_samples: int,
    rng: np.random.Generator,
) -> WeightedAnswers:
    r"""Estimate distributions of unobserved targets from samples weighted by the likelihood of what is observed.

    What is not observed is drawn given its parents; the weight w of a sample is the density of what is observed given
    its parents. The effective sample size is :math:`(\sum w)^2 / \sum w^2`, 0 for rows that no sample explains: NaN.
    """
    n_rows = rows.codes.shape[1]
    answers = Answers({}, {}, {})
    for v in targets:
        if network.cards[v]:
            answers.probabilities[v] = np.empty((n_rows, network.cards[v]))
        else:
            answers.means[v], answers.variances[v] = np.empty(n_rows), np.empty(n_rows)
    sizes = np.empty(n_rows)
    relevant = network.list_ancestors([*targets, *np.flatnonzero(observed).tolist()])
    step = max(1, _BLOCK // n_samples)
    for begin in range(0, n_rows, step):
        block = slice(begin, min(begin + step, n_rows))
        n = block.stop - begin
        samples = MixedRows(*(np.repeat(part, n_samples, axis=1) for part in rows.take(block)))
        logs = network.draw(samples, observed, rng, relevant).reshape(n, n_samples)
        top = logs.max(axis=1, keepdims=True)
        weights = np.exp(logs - np.where(np.isfinite(top), top, 0.0))
        total = weights.sum(axis=1, keepdims=True)
        with np.errstate(divide="ignore", invalid="ignore"):
            weights /= total
            sizes[block] = np.where(total[:, 0] > 0.0, 1.0 / np.square(weights).sum(axis=1), 0.0)
        for v in targets:
            if network.cards[v]:
                states = samples.codes[v].reshape(n, n_samples)
                shares = [(weights * (states == state)).sum(axis=1) for state in range(network.cards[v])]
                answers.probabilities[v][block] = np.stack(shares, axis=1)
            else:
                numbers = samples.numbers[v].reshape(n, n_samples)
                mean = (weights * numbers).sum(axis=1)
                answers.means[v][block] = mean
                answers.variances[v][block] = (weights * np.square(numbers - mean[:, None])).sum(axis=1)
    return WeightedAnswers(answers, sizes)
