"""Approximate inference in a conditional linear Gaussian network by likelihood weighting."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from pgmx.inference.mixed.families import MixedFamilies, MixedRows
from pgmx.inference.mixed.posterior import Answers

#: Number of samples drawn at a time; at least all samples of one row.
_BLOCK = 1 << 16


class RowStreams:
    """Random numbers for `MixedFamilies.draw` with one stream per row, `n_samples` numbers per row at a time."""

    def __init__(self, key: int, numbers: np.ndarray, n_samples: int):
        self._generators = [np.random.Generator(np.random.Philox(key=[key, number])) for number in numbers.tolist()]
        self._n_samples = n_samples

    def random(self, size: int) -> np.ndarray:
        """Return uniform random numbers in [0, 1), contiguous per row."""
        numbers = np.empty((len(self._generators), self._n_samples))
        for generator, row in zip(self._generators, numbers, strict=True):
            generator.random(out=row)
        return numbers.ravel()

    def standard_normal(self, size: int) -> np.ndarray:
        """Return standard normal random numbers, contiguous per row."""
        numbers = np.empty((len(self._generators), self._n_samples))
        for generator, row in zip(self._generators, numbers, strict=True):
            generator.standard_normal(out=row)
        return numbers.ravel()


def make_key(seed: int | None) -> int:
    """Return 64 bits derived from a seed, or from fresh entropy."""
    return int(np.random.SeedSequence(seed).generate_state(1, np.uint64)[0])


class WeightedAnswers(NamedTuple):
    """Estimates, and the effective sample size of each row, (n_rows,)."""

    answers: Answers
    effective_sizes: np.ndarray


def weigh_samples(
    network: MixedFamilies,
    targets: list[int],
    rows: MixedRows,
    observed: np.ndarray,
    n_samples: int,
    key: int,
    row_numbers: np.ndarray,
) -> WeightedAnswers:
    r"""Estimate distributions of unobserved targets from samples weighted by the likelihood of the observed values.

    Unobserved variables are drawn given their parents. The weight w of a sample is the density of the observed values
    given their parents. The samples of a row depend on `key` and its entry of `row_numbers` only, not on other rows.
    The effective sample size is :math:`(\sum w)^2 / \sum w^2`. It is 0, and estimates are NaN, if all weights are 0.
    """
    n_rows = rows.codes.shape[1]
    answers = Answers({}, {}, {})
    for v in targets:
        if network.cards[v]:
            answers.probabilities[v] = np.empty((n_rows, network.cards[v]))
        else:
            answers.means[v], answers.variances[v] = np.empty(n_rows), np.empty(n_rows)
    sizes = np.empty(n_rows)
    for block, samples, weights in _draw_weighted(network, targets, rows, observed, n_samples, key, row_numbers, sizes):
        n = len(weights)
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


def weigh_configurations(
    network: MixedFamilies,
    groups: list[list[int]],
    rows: MixedRows,
    observed: np.ndarray,
    n_samples: int,
    key: int,
    row_numbers: np.ndarray,
) -> tuple[list[np.ndarray], np.ndarray]:
    """Return for each group of unobserved discrete variables the sampled configuration of largest total weight.

    The samples are those of `weigh_samples`. Returns codes (variables, n_rows) per group and the effective sample
    sizes, (n_rows,). Of equal totals the first configuration in the order of the states is chosen.
    """
    n_rows = rows.codes.shape[1]
    chosen = [np.zeros((len(group), n_rows), dtype=np.intp) for group in groups]
    sizes = np.empty(n_rows)
    targets = [v for group in groups for v in group]
    for block, samples, weights in _draw_weighted(network, targets, rows, observed, n_samples, key, row_numbers, sizes):
        for group, codes in zip(groups, chosen, strict=True):
            states = samples.codes[group].reshape(len(group), len(weights), n_samples)
            for k in np.flatnonzero(sizes[block] > 0.0).tolist():
                distinct, of_sample = np.unique(states[:, k], axis=1, return_inverse=True)
                best = np.bincount(of_sample.ravel(), weights[k]).argmax()
                codes[:, block.start + k] = distinct[:, best]
    return chosen, sizes


def _draw_weighted(
    network: MixedFamilies,
    targets: list[int],
    rows: MixedRows,
    observed: np.ndarray,
    n_samples: int,
    key: int,
    row_numbers: np.ndarray,
    sizes: np.ndarray,
) -> Iterator[tuple[slice, MixedRows, np.ndarray]]:
    """Yield blocks of rows with their samples and normalised weights, (rows, n_samples); set their sizes."""
    n_rows = rows.codes.shape[1]
    relevant = network.list_ancestors([*targets, *np.flatnonzero(observed).tolist()])
    step = max(1, _BLOCK // n_samples)
    for begin in range(0, n_rows, step):
        block = slice(begin, min(begin + step, n_rows))
        n = block.stop - begin
        # The samples of a row are adjacent, as the numbers of its stream.
        samples = MixedRows(*(np.repeat(values, n_samples, axis=1) for values in rows.take(block)))
        streams = RowStreams(key, row_numbers[block], n_samples)
        logs = network.draw(samples, observed, streams, relevant).reshape(n, n_samples)
        # The largest weight is 1, so that not all weights underflow.
        top = logs.max(axis=1, keepdims=True)
        weights = np.exp(logs - np.where(np.isfinite(top), top, 0.0))
        total = weights.sum(axis=1, keepdims=True)
        with np.errstate(divide="ignore", invalid="ignore"):
            weights /= total
            sizes[block] = np.where(total[:, 0] > 0.0, 1.0 / np.square(weights).sum(axis=1), 0.0)
        yield block, samples, weights
