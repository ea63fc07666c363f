"""Weights of pairs of variables of distributed data: workers count blocks, the driver computes the weights."""

from math import log

import numpy as np

from pgmx.data import DistributedTable
from pgmx.scores import ScoreTerms
from pgmx.search.forest_weights import PairWeightSource, make_pair_kernel
from pgmx.statistics.counts import add_counts, count_block, count_segments

#: Bytes of counts that are requested at once.
_BLOCK_BYTES = 1 << 22


class DistributedWeights(PairWeightSource):
    """The weights of `CountedWeights`, identical to the bit, for distributed data.

    A block of rows of the weight matrix is one message per partition: the joint counts with all other variables.
    """

    def __init__(
        self, table: DistributedTable, terms: ScoreTerms, variables: np.ndarray, *, class_node: int | None = None
    ):
        self._table = table
        self._share = (variables.tolist(), class_node)
        self.n = len(variables)
        self.scale = table.n_rows * max(log(table.n_rows), 1.0)
        marginals = np.ascontiguousarray(table.reduce(count_segments, self._share, add=add_counts), dtype=np.uint32)
        offsets = np.concatenate(([0], np.cumsum(table.cardinalities[variables]))).astype(np.int64)
        n_planes = max(int(offsets[-1]) - self.n, 1)
        states = n_planes / self.n
        self.block = max(1, int(_BLOCK_BYTES / (4 * len(marginals) * n_planes * states)))
        no_rows = np.empty((int(offsets[-1]), 0), dtype=np.uint64)
        bounds = np.zeros(len(marginals) + 1, dtype=np.int64)
        self._kernel = make_pair_kernel(no_rows, offsets, bounds, marginals, terms)

    def write(
        self, block: np.ndarray, others: np.ndarray, weights: np.ndarray, rows: np.ndarray, columns: np.ndarray
    ) -> None:
        """Let the workers count the block, and compute the weights from the sums."""
        if len(block) and len(others):
            counts = self._table.reduce(count_block, self._share, block, others, add=add_counts)
            counts = np.ascontiguousarray(counts, dtype=np.uint32)
            self._kernel.weigh_block(block, others, counts, weights, rows, columns)
