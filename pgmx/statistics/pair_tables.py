"""Joint distributions of pairs of variables in the data: all pairs, or the requested pairs."""

from contextlib import contextmanager
from time import perf_counter
from typing import Self

import numpy as np
from numpy.typing import ArrayLike

from pgmx._ext import _pair_tables
from pgmx.checks import as_reals, check_natural, join_names
from pgmx.data import DiscreteTable
from pgmx.data.distributed.tables import WIDE_ROWS
from pgmx.statistics.counts import marginal_counts, marginal_weights
from pgmx.statistics.pair_cells import Arena, DistributedPairs, PairCounter, Triangle, open_counter


class PairTables:
    r"""Joint distributions of pairs of variables in a coded table.

    .. math:: p_D(x_i = a, x_j = b) = \frac{\sum_m w_m [x_i^m = a, x_j^m = b]}{\sum_m w_m}

    Parameters
    ----------
    table : DiscreteTable
        Coded table of n variables and N rows, in memory or mapped from a plane file. The workers of a distributed table
        count their partitions.
    weights : array_like of float, shape (N,), optional
        Row weights w, finite, nonnegative, not all zero. Default: 1 for every row.
    memory : int, default=2**28
        Maximum bytes of the stored tables. If all pairs fit, they are kept once counted. Otherwise the store is emptied
        whenever it is full. A single table must not be larger.
    n_jobs : int or None, default=None
        Number of threads. The result does not depend on it.

    Attributes
    ----------
    n_variables : int
        n.
    cardinalities : ndarray of int64, shape (n,)
        Number of states of each variable.
    fits : bool
        Whether all pairs fit within `memory`.
    counted_all : bool
        Whether all pairs have been counted and are stored.
    n_counted : int
        Number of tables counted so far; a table that was removed and counted again counts twice.
    seconds : float
        Wall-clock seconds spent on counting.
    n_rows : int
        Number of rows: N plus the rows of :meth:`update`.
    total_weight : float
        Sum of the weights of the rows; `n_rows` without weights.

    Raises
    ------
    ValueError
        If there is not one weight per row, a weight is negative, infinite or NaN, all weights are zero, `memory` is not
        positive, or there are 2**32 or more unweighted rows in a table that is not distributed.

    Notes
    -----
    A table is counted with the bit planes of all states except the last: (s - 1)² population counts over N rows, about
    0.3 µs with AVX-512 at 5 states and 20,000 rows. The last row and column follow from the marginals. Variables with
    many states and weighted rows are counted by histograms over the codes, 0.6 ns per row. All tables together need n²
    / 2 · ((s - 1)² · 4 + 1) bytes, weighted tables n² / 2 · (8 s² + 1). An object must be used by one thread at a time.
    For a distributed table the pairs of one request, or blocks of all pairs, are one message to each partition. The
    counts are returned in the smallest integer type. They are identical to the counts of the whole table; with weights
    the sums agree up to rounding.

    References
    ----------
    .. [1] Chaabene, W. and Huang, B. (2017). Best-choice edge grafting for efficient structure learning of Markov
       random fields, section 2.2: the statistics that learning needs.

    Examples
    --------
    >>> from pgmx.data import DiscreteTable
    >>> table = DiscreteTable(["a", "b"], [("x", "y"), (0, 1)], [[0, 0, 1, 1], [0, 1, 1, 1]])
    >>> tables = PairTables(table)
    >>> tables.get([(0, 1)])[0].tolist()
    [[0.25, 0.25], [0.0, 0.5]]
    >>> tables.margin(1).tolist()
    [0.25, 0.75]
    """

    def __init__(
        self,
        table: DiscreteTable,
        *,
        weights: ArrayLike | None = None,
        memory: int = 1 << 28,
        n_jobs: int | None = None,
    ):
        check_natural(memory, "memory", 1)
        self.n_variables = table.n_variables
        self.cardinalities = table.cardinalities
        self.n_counted = 0
        self.seconds = 0.0
        self.n_rows = 0
        self.total_weight = 0.0
        self._memory = memory
        self._columns, self._states = table.columns, table.states
        self._weighted = weights is not None
        self._is_wide = table.has_wide_counts  # counts are float64, like sums of weights
        # counts of the last state follow from the marginals; as a difference of sums, its weight would lose digits
        self._n_cells = self.cardinalities - (0 if self._weighted or self._is_wide else 1)
        self._first_state = np.concatenate(([0], np.cumsum(self.cardinalities)))
        self._marginals = np.zeros(int(self._first_state[-1]))
        self._n_jobs = n_jobs
        self._counters: list[PairCounter | DistributedPairs] = []
        dtype = np.dtype(np.float64 if self._weighted or self._is_wide else np.uint32)
        self.fits = Triangle.size(self._n_cells, dtype.itemsize) <= memory
        self._store = Triangle(self._n_cells, dtype) if self.fits else Arena(self._n_cells, dtype, memory)
        self.counted_all = self.n_variables < 2
        self._add_rows(table, weights)

    def margin(self, variable: int) -> np.ndarray:
        """Return the distribution of a variable.

        Parameters
        ----------
        variable : int
            Its position in the table.

        Returns
        -------
        ndarray of shape (s,), float64
            Shares of the states; they add up to 1.
        """
        first, end = self._first_state[variable], self._first_state[variable + 1]
        return self._marginals[first:end] / self.total_weight

    def margins(self) -> list[np.ndarray]:
        """Return the distributions of all variables.

        Returns
        -------
        list of ndarray
            As returned by :meth:`margin`.
        """
        return [self.margin(v) for v in range(self.n_variables)]

    def get(self, pairs: ArrayLike) -> list[np.ndarray]:
        """Return the joint distributions of pairs of variables.

        Parameters
        ----------
        pairs : array_like of int, shape (k, 2)
            Positions (i, j) of the variables, in either order, i != j.

        Returns
        -------
        list of ndarray
            One float64 array of shape (s_i, s_j) per pair, a view of one new array.

        Raises
        ------
        ValueError
            If a position is out of range, a variable is paired with itself, or a table exceeds `memory`.
        """
        values, begins = self.flat(pairs)
        shapes = self.cardinalities[np.asarray(pairs, dtype=np.int64).reshape(-1, 2)]
        return [values[begins[e] : begins[e + 1]].reshape(shape) for e, shape in enumerate(map(tuple, shapes.tolist()))]

    def flat(self, pairs: ArrayLike) -> tuple[np.ndarray, np.ndarray]:
        """Return the joint distributions of pairs in one flat array.

        Parameters
        ----------
        pairs : array_like of int, shape (k, 2)
            As for :meth:`get`.

        Returns
        -------
        tables : ndarray of float64
            A new array of row-major tables.
        begins : ndarray of int64, shape (k + 1,)
            Table e is ``tables[begins[e] : begins[e + 1]]``.
        """
        pairs = self._check_pairs(pairs)
        is_reversed = pairs[:, 0] > pairs[:, 1]
        stored = np.ascontiguousarray(np.where(is_reversed[:, None], pairs[:, ::-1], pairs))
        begins = np.concatenate(([0], np.cumsum(self.cardinalities[pairs].prod(axis=1))))
        tables = np.empty(int(begins[-1]))
        done = 0
        while done < len(stored):
            rest = stored[done:]
            served, where, stride, missing = self._store.claim(rest)
            # the store is full; an empty one has room for any table
            if not served:
                self._store.clear()
                continue
            if missing.any():
                self._count(rest[:served][missing], where[missing], stride[missing])
            _pair_tables.fill_tables(
                self._store.values,
                rest[:served],
                is_reversed[done : done + served].view(np.uint8),
                where,
                stride,
                self.cardinalities,
                self._n_cells,
                self._marginals,
                self._first_state,
                self.total_weight,
                begins[done : done + served],
                tables,
            )
            done += served
        return tables, begins

    def prepare(self) -> bool:
        """Count all pairs now, if they fit in memory.

        Returns
        -------
        bool
            Whether all pairs are stored. If `memory` is too small for them, nothing is counted and the result is False.

        Notes
        -----
        Faster than requests for single pairs, since blocks stay in the cache. The rows are no longer referenced
        afterwards.
        """
        if not self.counted_all and isinstance(self._store, Triangle):
            begin = perf_counter()
            self._store.clear()
            with self._forget_if_interrupted():
                for counter in self._counters:
                    counter.add_all()
            self._store.known[:] = True
            self.n_counted += len(self._store.known)
            self.counted_all = True
            self.seconds += perf_counter() - begin
        if self.counted_all:
            self._counters = []
        return self.counted_all

    def update(self, table: DiscreteTable, *, weights: ArrayLike | None = None) -> Self:
        """Add rows to the distributions.

        Parameters
        ----------
        table : DiscreteTable
            Further rows of the same variables with the same states in the same order.
        weights : array_like of float, shape (rows,), optional
            Weights of the rows; required if and only if the first rows had weights.

        Returns
        -------
        PairTables
            self, equal to tables of all rows together.

        Raises
        ------
        ValueError
            If variables or states differ, or weights are wrong or missing.

        Notes
        -----
        Stored tables are counted only over the new rows. Unless all pairs are stored, the rows are kept for pairs that
        are requested later.
        """
        self._check_same_variables(table)
        if self._weighted != (weights is not None):
            raise ValueError("weights are given for some rows only: give weights for all rows or for none")
        self._add_rows(table, weights)
        begin = perf_counter()
        if self.counted_all:
            # once counted, the new rows are not needed any more
            self._counters.pop().add_all()
        else:
            with self._forget_if_interrupted():
                self._counters[-1].add_pairs(*self._store.list_pairs())
        self.seconds += perf_counter() - begin
        return self

    def _check_same_variables(self, table):
        """Refuse rows with other variables or states."""
        if len(table.columns) != self.n_variables:
            raise ValueError(f"the rows have {table.n_variables} variables, the first rows had {self.n_variables}")
        ours = zip(self._columns, self._states, strict=True)
        for (old_name, old), new_name, new in zip(ours, table.columns, table.states, strict=True):
            if old_name != new_name:
                raise ValueError(
                    f"the rows have {new_name!r} in place of {old_name!r}: use the column order of the first rows"
                )
            if old != new or [type(state) for state in old] != [type(state) for state in new]:
                raise ValueError(
                    f"variable {old_name!r} has the states {join_names(new)}, the first rows had {join_names(old)}: "
                    "code all rows with the same state names"
                )

    def _add_rows(self, table, weights):
        """Add rows to the marginals, and keep the rows for pairs that are counted later."""
        if weights is not None:
            weights = _check_row_weights(weights, table.n_rows)
        table, weights = table.keep_weights(weights)
        counter = open_counter(table, weights, self._n_cells, self._store, self._n_jobs)
        marginals = marginal_counts(table) if weights is None else marginal_weights(table, weights)
        total = float(table.n_rows) if weights is None else float(weights.sum())
        # kernels count rows on this machine in 32 bits; only sums of partitions may have more
        if self.n_rows + table.n_rows >= WIDE_ROWS and not (self._is_wide or self._weighted):
            raise ValueError(f"counts are 32 bits wide: at most {WIDE_ROWS - 1} rows, got {self.n_rows + table.n_rows}")
        if not self.total_weight + total > 0:
            raise ValueError("all weights are zero: at least one weight must be positive")
        self._marginals = self._marginals + marginals
        self.total_weight += total
        self.n_rows += table.n_rows
        self._counters.append(counter)

    def _check_pairs(self, pairs: ArrayLike) -> np.ndarray:
        """Return the pairs as int64, after checking them."""
        positions = np.asarray(pairs)
        if not positions.size:
            return np.empty((0, 2), dtype=np.int64)
        if positions.ndim != 2 or positions.shape[1] != 2 or positions.dtype.kind not in "iu":
            raise ValueError(
                f"pairs must be integers of shape (k, 2), got {positions.dtype} of shape {positions.shape}"
            )
        positions = positions.astype(np.int64)
        wrong = (positions < 0) | (positions >= self.n_variables)
        if wrong.any():
            raise ValueError(
                f"no variable {positions[wrong][0]}: there are {self.n_variables} variables, counted from 0"
            )
        if (positions[:, 0] == positions[:, 1]).any():
            v = positions[positions[:, 0] == positions[:, 1]][0, 0]
            raise ValueError(f"variable {self._columns[v]!r} is paired with itself: its distribution is margin({v})")
        sizes = 8 * self.cardinalities[positions].prod(axis=1)
        if sizes.max() > self._memory:
            names = [self._columns[v] for v in positions[sizes.argmax()]]
            raise ValueError(
                f"the table of {names[0]!r} and {names[1]!r} needs {sizes.max()} bytes, more than "
                f"memory={self._memory}: merge rare states, or raise memory"
            )
        return positions

    @contextmanager
    def _forget_if_interrupted(self):
        """Remove all pairs if counting is interrupted, since some have cells without counts."""
        try:
            yield
        except BaseException:
            self._store.clear()
            raise

    def _count(self, pairs, where, stride):
        """Count pairs over all rows."""
        begin = perf_counter()
        with self._forget_if_interrupted():
            for counter in self._counters:
                counter.add_pairs(pairs, where, stride)
        self.n_counted += len(pairs)
        self.seconds += perf_counter() - begin


def _check_row_weights(weights, n_rows):
    """Return row weights as a float64 copy, after checking them."""
    weights = as_reals(weights, "weights").astype(np.float64)
    if weights.shape != (n_rows,):
        raise ValueError(f"weights must have one value for each of the {n_rows} rows, got shape {weights.shape}")
    wrong = np.flatnonzero(~(np.isfinite(weights) & (weights >= 0)))
    if wrong.size:
        raise ValueError(f"weights must be finite and not negative, got {weights[wrong[0]]} in row {wrong[0]}")
    return weights
