"""What a bootstrap of blocks of rows needs from a learner of time series, and from its estimates of resamples."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np

from pgmx.models import TimeSeriesGraph
from pgmx.parallel.tasks import SharedArrays


class BlockResampler(ABC):
    """The common input of all resamples of one learner, without the arrays that workers share."""

    @abstractmethod
    def solve_all(self, arrays: SharedArrays, seed: int, numbers: range) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Yield the edges [lag, target, source] of each resample, bool, and their coefficients or strengths."""


class BlockProblem(NamedTuple):
    """A series in blocks: `arrays.sizes` counts the targets of each, `units` (n, n) those of the coefficients."""

    resampler: BlockResampler
    arrays: SharedArrays
    units: np.ndarray


class BlockLearner(ABC):
    """Base of the learners of time series that `BlockBootstrap` can run on resamples of blocks of rows."""

    lags: int

    #: Whether two series may have an edge in each direction at lag 0.
    _has_feedback = False

    @abstractmethod
    def _open_blocks(self, X: Any) -> Any:
        """Return the series, as `_fit` reads them; ValueError if blocks cannot be resampled with the options."""

    @abstractmethod
    def _divide_blocks(self, opened: Any, choose_length: Callable[[int], int]) -> BlockProblem:
        """Return the blocks of the fitted series; `choose_length` gets the number of rows that a block may have."""

    @abstractmethod
    def _graph_resamples(self, means: np.ndarray, confidence: np.ndarray) -> TimeSeriesGraph:
        """Return the graph of edges [lag, target, source] with their mean coefficients or strengths."""

    def _is_skeleton(self) -> bool:
        """Return whether edges at lag 0 are undirected in each resample."""
        return False


def cut_blocks(sizes: Iterable[int], length: int) -> np.ndarray:
    """Return the sizes of blocks of at most `length` rows; each run of rows is cut on its own."""
    return np.array([min(length, size - begin) for size in sizes for begin in range(0, size, length)])
