"""Weights of pairs of variables of a distributed table: blocks are counted by the workers and weighed by the driver."""

from math import log

import numpy as np

from pgmx.data import DistributedTable
from pgmx.scores import ScoreTerms
from pgmx.search.forest.pair_weights import arrange_planes, make_pair_kernel
from pgmx.statistics.counts import add_counts, narrow_counts

#: Bytes of counts that are asked for at once.
_BLOCK_BYTES = 1 << 22


class DistributedWeights:
    """The weights of `CountedWeights`, to the bit, for a table whose rows lie with workers.

    A block of rows is one message to each part: the counts of the block's states with those of all other variables.
    """

    def __init__(
        self, table: DistributedTable, terms: ScoreTerms, variables: np.ndarray, *, class_node: int | None = None
    ):
        self._table = table
        self._share = (variables.tolist(), class_node)
        self.n = len(variables)
        self.scale = table.n_rows * max(log(table.n_rows), 1.0)
        marginals = np.ascontiguousarray(table.reduce(_count_marginals, self._share, add=add_counts), dtype=np.uint32)
        offsets = np.concatenate(([0], np.cumsum(table.cardinalities[variables]))).astype(np.int64)
        n_planes = max(int(offsets[-1]) - self.n, 1)
        states = n_planes / self.n
        self.block = max(1, int(_BLOCK_BYTES / (4 * len(marginals) * n_planes * states)))
        no_rows = np.empty((int(offsets[-1]), 0), dtype=np.uint64)
        bounds = np.zeros(len(marginals) + 1, dtype=np.int64)
        self._kernel = make_pair_kernel(no_rows, offsets, bounds, marginals, terms)

    def rows(self, block: np.ndarray, others: np.ndarray) -> np.ndarray:
        """Have the block counted by the workers, and weigh the sums."""
        block, others = (np.ascontiguousarray(ids, dtype=np.int64) for ids in (block, others))
        weights = np.empty((len(block), len(others)))
        if weights.size:
            counts = self._table.reduce(_count_block, self._share, block, others, add=add_counts)
            self._kernel.weigh_block(block, others, np.ascontiguousarray(counts, dtype=np.uint32), weights)
        return weights


def _count_marginals(part, share) -> np.ndarray:
    """Return the rows in each state within each segment, and keep the kernel of the part for the blocks to come."""
    kernel, marginals = _arrange(part, share)
    with part.lock:
        part.kept["pairs"] = share, kernel
    return narrow_counts(marginals)


def _count_block(part, share, block: np.ndarray, others: np.ndarray) -> np.ndarray:
    with part.lock:
        if part.kept.get("pairs", (None,))[0] != share:  # the part was made again after a worker was lost
            part.kept["pairs"] = share, _arrange(part, share)[0]
        return narrow_counts(part.kept["pairs"][1].count_block(block, others))


def _arrange(part, share):
    variables, class_node = share
    planes, offsets, bounds, marginals = arrange_planes(part.table, np.array(variables), class_node)
    return make_pair_kernel(planes, offsets, bounds, marginals, ScoreTerms()), marginals
