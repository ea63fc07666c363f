"""Where a forest search gets the weights of pairs from."""

from functools import partial
from itertools import pairwise
from math import log
from typing import Protocol

import numpy as np

from pgmx._ext import _spanning
from pgmx.data import DiscreteTable
from pgmx.parallel.threads import call_on_threads, count_threads
from pgmx.scores import ScoreTerms
from pgmx.statistics.segments import arrange_planes

#: Planes of a block: they fill about half of a first-level cache at 10,000 rows.
_BLOCK_PLANES = 32

#: Seconds that a processor takes for a word of two planes, and their share of a weight: it decides whether threads pay.
_WORD_PAIR_SECONDS = 1.5e-10


class PairWeightSource(Protocol):
    """Weights of pairs of variables, by blocks of rows."""

    n: int
    scale: float  # size of the numbers that a weight is the difference of: rounding errors are proportional to it
    block: int  # how many rows are best asked for at once

    def rows(self, block: np.ndarray, others: np.ndarray) -> np.ndarray:
        """Return ``weights[i, j]`` of the pair ``block[i]``, ``others[j]`` (int64 ids), -inf where it has no weight."""
        ...


class StoredWeights:
    """Weights in a matrix that a caller has filled, ``weights[child, parent]``."""

    def __init__(self, weights: np.ndarray, scale: float):
        self.weights = weights
        self.n = len(weights)
        self.scale = scale
        self.block = 1

    def rows(self, block: np.ndarray, others: np.ndarray) -> np.ndarray:
        """Return the rows of the matrix."""
        return self.weights[np.ix_(block, others)]


class CountedWeights:
    r"""Weights :math:`s(j \mid i, C) - s(j \mid C)` counted from bit planes on demand, for a score-equivalent s.

    They are symmetric; nothing is kept. C is the variable `class_node`, or nothing; ids of the source are positions in
    `variables`. A weight costs (states - 1)² · N / 512 vector operations with AVX-512, a class variable one copy of
    the codes and planes with the rows sorted by its state.
    """

    def __init__(
        self,
        table: DiscreteTable,
        terms: ScoreTerms,
        variables: np.ndarray,
        *,
        class_node: int | None = None,
        n_jobs: int | None = None,
    ):
        planes, offsets, bounds, marginals = arrange_planes(table, variables, class_node)
        self.n = len(variables)
        self.scale = table.n_rows * max(log(table.n_rows), 1.0)
        n_planes = max(int(offsets[-1]) - self.n, 1)  # without the last of each variable
        self.block = max(1, _BLOCK_PLANES * self.n // n_planes)
        #: What a thread takes for a row of all pairs.
        self._row_seconds = _WORD_PAIR_SECONDS * (n_planes / self.n) * n_planes * planes.shape[1]
        self._counters = [
            make_pair_kernel(planes, offsets, bounds, marginals, terms)
            for _ in range(min(count_threads(n_jobs), self.n))  # one per thread
        ]

    def rows(self, block: np.ndarray, others: np.ndarray) -> np.ndarray:
        """Count the rows, the columns shared among the threads."""
        block, others = (np.ascontiguousarray(ids, dtype=np.int64) for ids in (block, others))
        weights = np.empty((len(block), len(others)))
        cuts = np.linspace(0, len(others), len(self._counters) + 1).astype(int)
        calls = [
            partial(counter.rows, block, others[first:last], weights[:, first:last])
            for counter, (first, last) in zip(self._counters, pairwise(cuts), strict=True)
        ]
        seconds = self._row_seconds * len(block) * len(others) / self.n
        call_on_threads(calls, len(calls), seconds)
        return weights


def make_pair_kernel(planes, offsets, bounds, marginals, terms: ScoreTerms) -> _spanning.PairWeights:
    """Return the kernel that counts and weighs pairs, for one thread."""
    return _spanning.PairWeights(
        planes,
        offsets,
        bounds,
        marginals,
        dirichlet=terms.dirichlet,
        per_cell=terms.per_cell,
        prior=terms.prior,
        penalty=terms.penalty,
    )


def can_be_counted(table: DiscreteTable) -> bool:
    """Return whether every variable has bit planes: with too many states it has none."""
    return int(table.plane_offsets[-1]) == int(table.cardinalities.sum())
