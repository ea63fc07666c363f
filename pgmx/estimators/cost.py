"""Memory required for learning, counted from shapes. Each family of learners has a module `cost`."""

from typing import NamedTuple


class LearningCost(NamedTuple):
    """Memory of a learner, in bytes.

    Attributes
    ----------
    codes, planes : int
        The coded table. For a table that is mapped from a plane file, this memory is file cache of the operating
        system.
    gains, pair_counts, kept_counts, kept_rows, scratch : int
        The working memory of a learner. Learners of Gaussian graphs and of time series report all of it in `scratch`.
    numbers : int
        Continuous columns and their copies.
    total : int
        The sum of all these.
    """

    codes: int
    planes: int
    gains: int
    pair_counts: int
    kept_counts: int
    kept_rows: int
    scratch: int
    numbers: int
    total: int

    @classmethod
    def from_bytes(
        cls,
        *,
        codes: int = 0,
        planes: int = 0,
        gains: int = 0,
        pair_counts: int = 0,
        kept_counts: int = 0,
        kept_rows: int = 0,
        scratch: int = 0,
        numbers: int = 0,
    ) -> "LearningCost":
        """Return the cost with the sum of its entries as `total`."""
        entries = (codes, planes, gains, pair_counts, kept_counts, kept_rows, scratch, numbers)
        return cls(*entries, sum(entries))

    def add(self, *, scratch: int) -> "LearningCost":
        """Return the cost with more working memory."""
        return self._replace(scratch=self.scratch + scratch, total=self.total + scratch)

    def multiply(self, workers: int) -> "LearningCost":
        """Return the cost of several simultaneous workers, which share one table and draw rows from it."""
        shared = self.codes + self.planes + self.numbers
        return self.from_bytes(
            codes=self.codes,
            planes=self.planes,
            gains=workers * self.gains,
            pair_counts=workers * self.pair_counts,
            kept_counts=workers * self.kept_counts,
            kept_rows=workers * self.kept_rows,
            # each worker has a resample of the shared table of its own
            scratch=workers * (self.scratch + shared),
            numbers=self.numbers,
        )
