"""Draws with replacement, each a function of a seed, the number of a resample and its own index.

The k-th 64-bit number of the counter-based generator Philox 4x64-10 with the key (seed, resample), cut to 53 bits, is
a fraction u of [0, 1), and draw k is the row whose share of the total weight contains u. The same key gives the same
draws, so that a worker can count the draws of its own rows, and no draw is ever sent.

Source: Salmon, Moraes, Dror and Shaw (2011), Parallel random numbers: as easy as 1, 2, 3, SC11.
"""

from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from pgmx._ext import _rows

#: Draws that are made at once: they stay in the second-level cache.
_DRAWS_AT_ONCE = 1 << 16

#: Rows whose counts come from one stream of the generator, if there are many more draws than rows.
BLOCK_ROWS = 1024

#: Random numbers that the generator makes from one value of its counter.
_NUMBERS_PER_COUNT = 4


class DrawSpan(NamedTuple):
    """The share of some rows in a resample: of the draws from [0, `total`), the draws from `begin` on and before `end`.

    The bounds are row counts, or sums of weights.
    """

    begin: float
    end: float
    total: float


def list_spans(bounds: np.ndarray) -> list[DrawSpan]:
    """Return the spans between each two neighbouring bounds."""
    return [DrawSpan(begin, end, bounds[-1].item()) for begin, end in pairwise(bounds.tolist())]


def make_fractions(seed: int, resample: int, first: int, stop: int) -> np.ndarray:
    """Return the fractions of the draws `first` to ``stop - 1`` of a resample, multiples of 2⁻⁵³ below 1."""
    numbers = _make_numbers(seed, resample, first, stop)
    return (numbers >> np.uint64(11)).view(np.int64) * 2.0**-53


def _make_numbers(seed: int, resample: int, first: int, stop: int) -> np.ndarray:
    """Return the 64-bit random numbers of the draws `first` to ``stop - 1`` of a resample."""
    before = first % _NUMBERS_PER_COUNT
    key = np.array([seed, resample], dtype=np.uint64)
    generator = np.random.Philox(counter=first // _NUMBERS_PER_COUNT, key=key)
    return generator.random_raw(stop - first + before)[before:]


def count_draws(seed: int, resample: int, n_rows: int, first: int = 0, stop: int | None = None) -> np.ndarray:
    """Return how often each of the rows `first` to ``stop - 1`` is among `n_rows` draws of all rows, int64.

    Draw k is the row ⌊u n⌋: probabilities of rows differ by a share of n / 2⁵³ at most. Memory grows with the number
    of counted rows only.
    """
    stop = n_rows if stop is None else stop
    counts = np.zeros(stop - first, dtype=np.int64)
    for begin, end in _cut_draws(n_rows if stop > first else 0):
        _rows.add_draws(_make_numbers(seed, resample, begin, end), n_rows, first, counts)
    return counts


def count_weighted_draws(
    seed: int, resample: int, ends: np.ndarray, begin: float = 0.0, total: float | None = None
) -> np.ndarray:
    """Return how often each of some rows is drawn in proportion to its weight, int64.

    ``ends[i]`` is the sum of the weights up to and including row i, `begin` the sum before the first of these rows, and
    `total` the sum of all rows, ``ends[-1]`` by default. The number of draws is the rounded total, and draw k is the
    first row that ends after u times the total.
    """
    ends = np.asarray(ends, dtype=np.float64)
    total = float(ends[-1] if total is None else total)
    drawn = [np.empty(0, dtype=np.int64)]
    for fractions in _make_fraction_chunks(seed, resample, round(total) if len(ends) else 0):
        fractions *= total
        if begin > 0 or ends[-1] < total:
            fractions = fractions[(fractions >= begin) & (fractions < ends[-1])]
        fractions.sort()  # then neighbouring draws search in the same memory
        drawn.append(np.searchsorted(ends, fractions, side="right"))
    return np.bincount(np.concatenate(drawn), minlength=len(ends))


def count_block_draws(seed: int, resample: int, weights: np.ndarray) -> np.ndarray:
    """Return how many of all draws fall into each block of `BLOCK_ROWS` rows, int64; the last one may be shorter.

    The draws, as many as the weights add up to, have no indices: the counts have their multinomial distribution.
    """
    weights = np.asarray(weights, dtype=np.float64)
    sums = np.add.reduceat(weights, np.arange(0, len(weights), BLOCK_ROWS))
    total = float(sums.sum())
    return _make_generator(seed, resample, 0).multinomial(round(total), sums / total)


def count_draws_in_blocks(
    seed: int, resample: int, weights: np.ndarray, of_blocks: np.ndarray, first: int = 0
) -> np.ndarray:
    """Return how often each row of some blocks is drawn, int64, if there are many more draws than rows.

    `weights` are the weights of the rows of the blocks `first`, ``first + 1``, ..., and `of_blocks` is the number of
    draws of each block. Counts in a block are multinomial, and depend on (seed, resample), its index and its weights.
    """
    counts = np.zeros(len(weights), dtype=np.int64)
    for number, n_draws in enumerate(of_blocks.tolist()):
        rows = slice(number * BLOCK_ROWS, (number + 1) * BLOCK_ROWS)
        of_rows = np.asarray(weights[rows], dtype=np.float64)
        if n_draws:
            generator = _make_generator(seed, resample, first + number + 1)
            counts[rows] = generator.multinomial(n_draws, of_rows / of_rows.sum())
    return counts


def count_many_draws(seed: int, resample: int, weights: np.ndarray) -> np.ndarray:
    """Return how often each row is drawn in proportion to its weight, int64, if there are many more draws than rows."""
    return count_draws_in_blocks(seed, resample, weights, count_block_draws(seed, resample, weights))


def _make_generator(seed: int, resample: int, stream: int) -> np.random.Generator:
    """Return a generator at the beginning of a stream; streams are 2⁶⁴ numbers apart."""
    key = np.array([seed, resample], dtype=np.uint64)
    counter = np.array([0, stream, 0, 0], dtype=np.uint64)
    return np.random.Generator(np.random.Philox(counter=counter, key=key))


def _make_fraction_chunks(seed: int, resample: int, n_draws: int) -> Iterator[np.ndarray]:
    """Yield the fractions of all draws, some at a time."""
    for first, stop in _cut_draws(n_draws):
        yield make_fractions(seed, resample, first, stop)


def _cut_draws(n_draws: int) -> Iterator[tuple[int, int]]:
    """Yield the bounds of chunks of all draws, the upper one exclusive."""
    for first in range(0, n_draws, _DRAWS_AT_ONCE):
        yield first, min(first + _DRAWS_AT_ONCE, n_draws)
