"""Draws with replacement, each a function of a seed, the number of a resample and its own number.

The k-th 64-bit number of the counter-based generator Philox 4x64-10 with the key (seed, resample), cut to 53 bits, is
a fraction u of [0, 1), and draw k is the row whose share of the total weight holds u. Whoever knows the key makes the
same draws, so that a worker which keeps some rows counts the draws of these: no draw is ever sent.

Source: Salmon, Moraes, Dror and Shaw (2011), Parallel random numbers: as easy as 1, 2, 3, SC11.
"""

from collections.abc import Iterator

import numpy as np

#: Fewest draws that are made at once; as many as rows are counted, where these are more.
_PIECE = 1 << 16

#: Numbers that the generator makes from one value of its counter.
_NUMBERS_PER_COUNT = 4


def make_fractions(seed: int, resample: int, first: int, stop: int) -> np.ndarray:
    """Return the fractions of the draws `first` to ``stop - 1`` of a resample, multiples of 2⁻⁵³ below 1."""
    before = first % _NUMBERS_PER_COUNT
    key = np.array([seed, resample], dtype=np.uint64)
    generator = np.random.Philox(counter=first // _NUMBERS_PER_COUNT, key=key)
    numbers = generator.random_raw(stop - first + before)[before:]
    numbers >>= np.uint64(11)
    return numbers * 2.0**-53


def count_draws(seed: int, resample: int, n_rows: int, first: int = 0, stop: int | None = None) -> np.ndarray:
    """Return how often each of the rows `first` to ``stop - 1`` is among `n_rows` draws of all rows, int64.

    Draw k is the row ⌊u n⌋: probabilities of rows differ by a share of n / 2⁵³ at most. The memory is that of the
    rows counted.
    """
    stop = n_rows if stop is None else stop
    counts = np.zeros(stop - first, dtype=np.int64)
    for fractions in _make_pieces(seed, resample, n_rows, len(counts)):
        fractions *= n_rows
        rows = fractions.astype(np.int64)
        if len(counts) < n_rows:
            rows = rows[(rows >= first) & (rows < stop)] - first
        counts += np.bincount(rows, minlength=len(counts))
    return counts


def count_weighted_draws(
    seed: int, resample: int, ends: np.ndarray, begin: float = 0.0, total: float | None = None
) -> np.ndarray:
    """Return how often each of some rows is drawn in proportion to its weight, int64.

    ``ends[i]`` is the sum of the weights up to and with row i, `begin` that before the first of these rows, and `total`
    that of all rows, ``ends[-1]`` by default: there are as many draws as it rounds to, and draw k is the first row that
    ends after u times the total.
    """
    ends = np.asarray(ends, dtype=np.float64)
    counts = np.zeros(len(ends), dtype=np.int64)
    total = float(ends[-1] if total is None else total)
    for fractions in _make_pieces(seed, resample, round(total), len(counts)):
        fractions *= total
        if begin > 0 or ends[-1] < total:
            fractions = fractions[(fractions >= begin) & (fractions < ends[-1])]
        counts += np.bincount(np.searchsorted(ends, fractions, side="right"), minlength=len(counts))
    return counts


def count_many_draws(seed: int, resample: int, weights: np.ndarray) -> np.ndarray:
    """Return how often each row is drawn in proportion to its weight, int64, where draws are many times the rows.

    The counts have the multinomial distribution of as many draws as the weights add up to, and the draws no numbers.
    """
    generator = np.random.Generator(np.random.Philox(key=np.array([seed, resample], dtype=np.uint64)))
    total = weights.sum()
    return generator.multinomial(round(float(total)), weights / total)


def _make_pieces(seed: int, resample: int, n_draws: int, n_counted: int) -> Iterator[np.ndarray]:
    """Yield the fractions of all draws, about as many at a time as rows are counted; none where no row is."""
    size = max(_PIECE, n_counted)
    for first in range(0, n_draws if n_counted else 0, size):
        yield make_fractions(seed, resample, first, min(first + size, n_draws))
