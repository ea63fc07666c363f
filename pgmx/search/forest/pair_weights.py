"""The weights of pairs for a forest search."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from math import log

import numpy as np

from pgmx._ext import _pair_weights
from pgmx.data import DiscreteTable
from pgmx.parallel.threads import THREAD_PAYS, count_threads, run_on_threads
from pgmx.scores import ScoreTerms
from pgmx.statistics.counts import arrange_planes

#: Planes of a block per thread, and column blocks per thread, so that a thread that is slowed down processes fewer.
_BLOCK_PLANES, _PIECES = 32, 4

#: Seconds per word of two planes and per cell of a table: they determine whether threads are worthwhile.
_WORD_PAIR_SECONDS, _CELL_SECONDS = 7e-11, 2e-9


#: Columns of a block that are counted before their weights are read, so that both stay in the second-level cache.
_COLUMNS = 1 << 11

Visitor = Callable[[np.ndarray, np.ndarray, np.ndarray, np.ndarray], None]


class PairWeightSource(ABC):
    """Weights of pairs of variables, by blocks of rows."""

    n: int
    #: Magnitude of the terms whose difference is a weight: rounding errors are proportional to it.
    scale: float
    #: Best number of rows per request.
    block: int

    @abstractmethod
    def write(
        self, block: np.ndarray, others: np.ndarray, weights: np.ndarray, rows: np.ndarray, columns: np.ndarray
    ) -> None:
        """Write the weight of ``block[i]``, ``others[k]`` to ``weights[rows[i], columns[k]]``, -inf for none; int64."""

    def rows(self, block: np.ndarray, others: np.ndarray) -> np.ndarray:
        """Return the weights, of shape (block, others)."""
        block, others = (np.ascontiguousarray(ids, dtype=np.int64) for ids in (block, others))
        weights = np.empty((len(block), len(others)))
        self.write(block, others, weights, np.arange(len(block)), np.arange(len(others)))
        return weights


class StoredWeights(PairWeightSource):
    """Weights in a matrix that a caller has filled, ``weights[child, parent]``."""

    def __init__(self, weights: np.ndarray, scale: float):
        self.weights = weights
        self.n = len(weights)
        self.scale = scale
        self.block = 1

    def write(
        self, block: np.ndarray, others: np.ndarray, weights: np.ndarray, rows: np.ndarray, columns: np.ndarray
    ) -> None:
        """Copy cells of the matrix."""
        weights[np.ix_(rows, columns)] = self.weights[np.ix_(block, others)]


class CountedWeights(PairWeightSource):
    r"""Weights :math:`s(j \mid i, C) - s(j \mid C)` counted from bit planes on demand, for a score-equivalent s.

    They are symmetric and not cached. C is the variable `class_node`, or empty; ids of the source are positions in
    `variables`. A weight costs (states - 1)² · N / 512 vector operations with AVX-512. A class variable needs one copy
    of the codes and planes with the rows sorted by its state.
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
        n_planes = max(int(offsets[-1]) - self.n, 1)  # the last state of each variable has no plane
        states = n_planes / self.n
        #: Estimated seconds of a thread per pair.
        self._pair_seconds = _CELL_SECONDS * (states + 1) ** 2 + _WORD_PAIR_SECONDS * states**2 * planes.shape[1]
        self._kernels = [
            make_pair_kernel(planes, offsets, bounds, marginals, terms)
            for _ in range(min(count_threads(n_jobs), self.n))  # one per thread
        ]
        self.block = max(1, len(self._kernels) * _BLOCK_PLANES * self.n // n_planes)

    def write(
        self, block: np.ndarray, others: np.ndarray, weights: np.ndarray, rows: np.ndarray, columns: np.ndarray
    ) -> None:
        """Count the rows; threads share the columns."""
        seconds = self._pair_seconds * len(block) * len(others)
        n_threads = min(len(self._kernels), max(1, int(seconds / THREAD_PAYS)))
        cuts = np.linspace(0, len(others), (_PIECES * n_threads if n_threads > 1 else 1) + 1).astype(int).tolist()
        free = self._kernels[:n_threads]

        def prepare() -> Callable[[int], None]:
            kernel = free.pop()
            return lambda k: kernel.write(
                block, others[cuts[k] : cuts[k + 1]], weights, rows, columns[cuts[k] : cuts[k + 1]]
            )

        for _ in run_on_threads(prepare, len(cuts) - 1, n_threads, at_once=True):
            pass

    def visit_pairs(self, make_visitor: Callable[[], Visitor]) -> None:
        """Count all pairs, each once, and pass them to visitors, one per thread.

        A visitor is called with the ids of rows and columns, their weights (of at least that shape), and the first
        column of each row with a new pair. Threads process blocks of rows, so that no thread waits for another.
        """
        ids, n_rows = np.arange(self.n), max(1, self.block // len(self._kernels))
        seconds = self._pair_seconds * self.n**2 / 2
        n_threads = min(len(self._kernels), max(1, int(seconds / THREAD_PAYS)))
        free = self._kernels[:n_threads]

        def prepare() -> Callable[[int], None]:
            kernel, visit, weights = free.pop(), make_visitor(), np.empty((n_rows, _COLUMNS))

            def visit_block(number: int) -> None:
                first = number * n_rows
                block = ids[first : first + n_rows]
                for begin in range(first, self.n, _COLUMNS):
                    others = ids[begin : begin + _COLUMNS]
                    kernel.write(block, others, weights, ids[: len(block)], ids[: len(others)])
                    visit(block, others, weights, np.minimum(np.maximum(block + 1 - begin, 0), len(others)))

            return visit_block

        for _ in run_on_threads(prepare, -(-self.n // n_rows), n_threads, at_once=True):
            pass


def make_pair_kernel(planes, offsets, bounds, marginals, terms: ScoreTerms) -> _pair_weights.PairWeights:
    """Return the kernel that counts pairs and computes their weights, for one thread."""
    return _pair_weights.PairWeights(
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
    """Return whether every variable has bit planes (not with too many states) and counts fit into 32 bits."""
    return int(table.plane_offsets[-1]) == int(table.cardinalities.sum()) and not table.has_wide_counts
