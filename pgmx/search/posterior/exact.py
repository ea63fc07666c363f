"""Exact sums over all structures of at most 30 variables, by dynamic programming over subsets of the variables.

Over DAGs each structure counts once; over orders it counts once per topological order, which takes less time.
"""

from collections.abc import Callable

import numpy as np

from pgmx._ext._exact_posterior import DagSums, OrderSums
from pgmx._ext._subsets import SubsetTotals
from pgmx.search.posterior.families import FamilyTables, ParentChoices, find_best_sets
from pgmx.search.posterior.sampled import SampledDags

#: Largest number of variables: a subset is 30 bits.
MOST_VARIABLES = 30

#: Largest distance from 1 of the sum of the probabilities of the sets that precede a variable.
LAW_TOLERANCE = 1e-9

#: DAGs that are drawn between two looks at the clock.
DRAWN_AT_ONCE = 64


class ExactPosterior:
    """The posterior over DAGs, ``over="dags"``, or over orders, ``over="orders"``, of tables of parent sets.

    `solve` computes `log_total`, the log sum of the weights of all structures, and `arc_probability`, float64 (n, n)
    ``[tail, head]``.
    """

    log_total: float
    arc_probability: np.ndarray

    def __init__(self, tables: FamilyTables, over: str):
        self.tables, self.over = tables, over
        choices = tables.choices
        kind = DagSums if over == "dags" else OrderSums
        self._sums = kind(tables.first, tables.sums, _to_bits(choices.candidates), _to_bits(choices.required))

    def solve(self, is_over: Callable[[], bool] = lambda: False) -> bool:
        """Compute the sums; return False if `is_over` ended them. Raises ArithmeticError if rounding errors are large.

        Raises ValueError if no structure has all required arcs.
        """
        while self._sums.advance():
            if is_over():
                return False
        self.log_total = self._sums.log_total + self.tables.offsets.sum()
        if self.log_total == -np.inf:
            raise ValueError("no DAG has the required parents of each variable and a score: require fewer edges")
        error = self._sums.law_error()
        if not error <= LAW_TOLERANCE:
            raise ArithmeticError(
                f"the probabilities of the sets of variables before a variable sum to 1 only within {error:.1g}: "
                "rounding errors are too large for method='exact'. Choose over='orders' or method='mcmc'"
            )
        self.arc_probability = self._sums.arc_probabilities()
        return True

    def sample(self, n_dags: int, seed: int) -> SampledDags:
        """Return independent DAGs. Draw k depends on the seed and k only."""
        tables, parts = self.tables, []
        for first in range(0, n_dags, DRAWN_AT_ONCE):
            size = min(DRAWN_AT_ONCE, n_dags - first)
            parts.append(self._sums.sample(size, first, seed, tables.start, tables.sets, tables.weights))
        drawn = np.concatenate([np.empty((0, tables.n), dtype=np.uint32), *parts])
        return SampledDags.from_sets(drawn, tables.choices)

    def find_best(self) -> tuple[np.ndarray, float]:
        """Return a DAG of the largest weight, arcs int64 (m, 2) by head and tail, and its log weight."""
        return find_best_dag(self.tables)


def count_bytes(choices: ParentChoices, over: str) -> float:
    """Return the bytes of the exact posterior: two tables per variable, and two or three arrays of all subsets."""
    n_subsets = 2.0 ** min(choices.n, 1000)
    return 2.0 * choices.n_bytes + (24.0 if over == "dags" else 16.0) * n_subsets


def find_best_dag(tables: FamilyTables) -> tuple[np.ndarray, float]:
    """Return the arcs (tail, head) of a DAG of the largest weight, int64 (m, 2), and its log weight."""
    sets, weights = find_best_sets(tables)
    totals = SubsetTotals(sets, weights)
    while totals.advance():
        pass
    arcs = [
        (u, v)
        for v, parents in enumerate(totals.best_parents().tolist())
        for u in range(parents.bit_length())
        if parents >> u & 1
    ]
    return np.array(arcs, dtype=np.int64).reshape(-1, 2), totals.best_score() + tables.offsets.sum()


def _to_bits(ids: list[np.ndarray]) -> np.ndarray:
    """Return sets of variables as bits, uint32."""
    return np.array([sum(1 << v for v in part.tolist()) for part in ids], dtype=np.uint32)
