"""Markov blankets, and sets of parents and children, by tests of conditional independence.

A row of tests answers for all candidates at once. All choices are by strength, never by the order of the variables: the
smallest p-value, then the largest effect size, then the smallest id. A set that cannot be tested (NaN) changes nothing.

References: Margaritis & Thrun (1999), Bayesian network induction via local neighborhoods, NIPS 12 (grow-shrink);
Tsamardinos, Aliferis & Statnikov (2003), Algorithms for large scale Markov blanket discovery, FLAIRS (IAMB,
inter-IAMB); Yaramakala & Margaritis (2005), Speculative Markov blanket discovery for optimal feature selection, ICDM
(Fast-IAMB); Tsamardinos, Brown & Aliferis (2006), The max-min hill-climbing Bayesian network structure learning
algorithm, Machine Learning 65, algorithms 1 and 2 (MMPC).
"""

from collections.abc import Callable, Iterable, Iterator
from itertools import combinations
from math import inf

import numpy as np
from numpy.typing import NDArray

from pgmx.search.constraint_based.skeleton import PairKnowledge
from pgmx.statistics.independence.source import IndependenceSource, TestRow

#: The algorithms by name. All find the Markov blanket, except "mmpc", which finds parents and children.
METHODS = ("iamb", "inter-iamb", "fast-iamb", "gs", "mmpc")

#: Fast-IAMB adds variables without further tests while there are so many rows per cell of the table of all of them; of
#: continuous variables, per variable.
LEAST_ROWS_PER_CELL, LEAST_ROWS_PER_VARIABLE = 5.0, 10.0


class BlanketSearch:
    """Searches for the blankets of variables; all of them share the options and the number of tests.

    `max_size` limits the sets of "mmpc". `cells` has the cardinalities of the variables for "fast-iamb", None if
    they are continuous. `should_stop` is asked before each row of tests; a search that it ends keeps what it has found.
    """

    def __init__(
        self,
        source: IndependenceSource,
        method: str,
        *,
        significance_level: float,
        knowledge: PairKnowledge,
        max_size: int,
        n_rows: float = inf,
        cells: NDArray[np.int64] | None = None,
        should_stop: Callable[[], bool] = lambda: False,
    ) -> None:
        self.source, self.method, self.level, self.knowledge = source, method, significance_level, knowledge
        self.max_size, self.n_rows, self.cells, self.should_stop = max_size, n_rows, cells, should_stop
        self.n_tests = 0
        self._found: dict[int, list[int]] = {}
        self._sets: dict[tuple[int, int], tuple[int, ...]] = {}  # of MMPC, the set that separates a pair

    def find_blanket(self, target: int) -> list[int]:
        """Return the Markov blanket of a variable, ascending ids."""
        if self.method != "mmpc":
            return self._find_once(target)
        members = self.find_neighbours(target)
        return sorted({*members, *self._find_spouses(target, members)})

    def find_neighbours(self, target: int) -> list[int]:
        """Return the variables in the set of the target that have the target in their set (symmetry correction)."""
        return [v for v in self._find_once(target) if target in self._find_once(v)]

    def find_pairs(self, report: Callable[[int], object] | None = None) -> NDArray[np.bool_]:
        """Return the pairs in each other's sets, a symmetric matrix; `report` receives the number of members so far."""
        n = self.source.n_variables
        chosen = np.zeros((n, n), dtype=bool)
        for v in range(n):
            chosen[v, self._find_once(v)] = True
            if report is not None:
                report(int(chosen.sum()))
        return chosen & chosen.T & self.knowledge.possible

    def _find_once(self, target: int) -> list[int]:
        if target not in self._found:
            search = {"gs": self._grow_and_shrink, "mmpc": self._find_parents_and_children}
            self._found[target] = sorted(search.get(self.method, self._add_and_remove)(target))
        return self._found[target]

    # ---- tests ----

    def _test(self, target: int, ys: list[int], z: Iterable[int]) -> TestRow:
        row = self.source.test_row(target, np.array(ys, dtype=np.intp), sorted(z))
        self.n_tests += int(np.count_nonzero(~np.isnan(row.p_value)))
        return row

    def _rank(self, target: int, ys: list[int], z: Iterable[int]) -> list[tuple[int, float]]:
        """Return variables with their p-values given a set, the strongest first."""
        if not ys or self.should_stop():
            return []
        row = self._test(target, ys, z)
        effects = np.nan_to_num(row.effect_size, nan=0.0)
        order = np.lexsort((np.array(ys), -effects, row.p_value)).tolist()  # NaN last
        return [(ys[i], float(row.p_value[i])) for i in order]

    def _rank_dependent(self, target: int, ys: list[int], z: Iterable[int]) -> list[int]:
        """Return the variables that depend on the target given a set, the strongest first."""
        return [v for v, p_value in self._rank(target, ys, z) if p_value < self.level]

    def _list_candidates(self, target: int) -> list[int]:
        if self.method == "mmpc":
            return np.flatnonzero(self.knowledge.possible[target]).tolist()
        # variables that may not be adjacent may have a common child
        return [v for v in range(self.source.n_variables) if v != target]

    # ---- blankets ----

    def _grow_and_shrink(self, target: int) -> list[int]:
        members = np.flatnonzero(self.knowledge.required[target]).tolist()
        order = [v for v, _ in self._rank(target, self._list_candidates(target), ())]
        is_growing = True
        while is_growing:
            is_growing, waiting = False, [v for v in order if v not in members]
            while waiting:
                dependent = self._rank_dependent(target, waiting, members)
                first = next((i for i, v in enumerate(waiting) if v in dependent), None)
                if first is None:
                    break
                members, waiting, is_growing = [*members, waiting[first]], waiting[first + 1 :], True
        return self._shrink(target, members)

    def _add_and_remove(self, target: int) -> list[int]:
        """Add the strongest variable until none depends, and remove; the other variants repeat this."""
        members = np.flatnonzero(self.knowledge.required[target]).tolist()
        candidates, seen = self._list_candidates(target), {frozenset(members)}
        while True:
            found = self._rank_dependent(target, [v for v in candidates if v not in members], members)
            if not found:
                # IAMB shrinks once; the others have shrunk after each addition
                return self._shrink(target, members)
            members += found[:1] if self.method != "fast-iamb" else self._take_supported(target, members, found)
            if self.method != "iamb":
                members = self._shrink(target, members)
                if frozenset(members) in seen:  # additions and removals form a cycle
                    return members
                seen.add(frozenset(members))

    def _take_supported(self, target: int, members: list[int], found: list[int]) -> list[int]:
        """Return the first variables, at least one, that the rows support together with the members."""
        taken = found[:1]
        for v in found[1:]:
            if not self._has_rows_for([target, *members, *taken, v]):
                break
            taken.append(v)
        return taken

    def _has_rows_for(self, variables: list[int]) -> bool:
        if self.cells is None:
            return self.n_rows >= LEAST_ROWS_PER_VARIABLE * len(variables)
        return self.n_rows >= LEAST_ROWS_PER_CELL * float(np.prod(self.cells[variables], dtype=float))

    def _shrink(self, target: int, members: list[int]) -> list[int]:
        """Remove the member that is most independent given the others, until all depend."""
        while not self.should_stop():
            p_values = {}
            for v in members:
                if not self.knowledge.required[target, v]:
                    p_values[v] = float(self._test(target, [v], [u for u in members if u != v]).p_value[0])
            weakest = max(p_values, key=lambda v: (np.nan_to_num(p_values[v], nan=-1.0), v), default=None)
            if weakest is None or not p_values[weakest] >= self.level:
                break
            members = [v for v in members if v != weakest]
        return members

    # ---- parents and children ----

    def _find_parents_and_children(self, target: int) -> list[int]:
        """Add the variable whose weakest dependence given subsets of the members is strongest; then remove."""
        required = np.flatnonzero(self.knowledge.required[target]).tolist()
        weakest: dict[int, tuple[float, float]] = {}  # largest p-value and minus the smallest effect
        members: list[int] = []
        self._update_weakest(target, weakest, self._list_candidates(target), [()])
        for v in required:
            members = self._add_member(target, weakest, members, v, required)
        while not self.should_stop():
            open_ones = [v for v in weakest if v not in members and weakest[v][0] < self.level]
            if not open_ones:
                break
            best = min(open_ones, key=lambda v: (*weakest[v], v))
            members = self._add_member(target, weakest, members, best, required)
        for v in sorted(members, key=lambda v: (*weakest[v], v), reverse=True):
            others = [u for u in members if u != v]
            if v not in required and self._find_separating_set(target, v, self._list_subsets(others)) is not None:
                members.remove(v)
        return members

    def _add_member(
        self, target: int, weakest: dict[int, tuple[float, float]], members: list[int], v: int, required: list[int]
    ) -> list[int]:
        """Add a member, and test the others given the sets that contain it."""
        sets = [
            tuple(sorted((*others, v)))
            for size in range(min(len(members), self.max_size - 1) + 1)
            for others in combinations(members, size)
        ]
        members = [*members, v]
        still_open = [u for u in weakest if u not in members and weakest[u][0] < self.level and u not in required]
        self._update_weakest(target, weakest, still_open, sets if self.max_size > 0 else [])
        return members

    def _update_weakest(
        self, target: int, weakest: dict[int, tuple[float, float]], ys: list[int], sets: list[tuple[int, ...]]
    ) -> None:
        for z in sets:
            asked = [v for v in ys if v not in weakest or weakest[v][0] < self.level]
            if not asked or self.should_stop():
                return
            row = self._test(target, asked, z)
            for i, v in enumerate(asked):
                p_value, effect = float(row.p_value[i]), float(np.nan_to_num(row.effect_size[i], nan=0.0))
                if np.isnan(p_value):
                    weakest.setdefault(v, (0.0, -inf))
                    continue
                before = weakest.get(v, (-1.0, -inf))
                weakest[v] = max(before[0], p_value), max(before[1], -effect)
                if p_value >= self.level:
                    self._sets.setdefault((target, v), z)

    def _find_separating_set(self, target: int, v: int, sets: Iterable[tuple[int, ...]]) -> tuple[int, ...] | None:
        for z in sets:
            if self.should_stop():
                return None
            if float(self._test(target, [v], z).p_value[0]) >= self.level:
                self._sets.setdefault((target, v), tuple(sorted(z)))
                return z
        return None

    def _list_subsets(self, members: list[int]) -> Iterator[tuple[int, ...]]:
        return (z for size in range(min(len(members), self.max_size) + 1) for z in combinations(members, size))

    def _find_spouses(self, target: int, members: list[int]) -> set[int]:
        """Return neighbours of the members that depend on the target given its separating set and the member."""
        spouses: set[int] = set()
        for child in members:
            for v in self.find_neighbours(child):
                if v == target or v in members or v in spouses:
                    continue
                z = self._sets.get((target, v), self._sets.get((v, target)))
                if z is None:  # a pair that may not be adjacent
                    z = self._find_separating_set(target, v, self._list_subsets(members))
                if self.should_stop():
                    return spouses
                given = sorted({*z, child}) if z is not None else [child]
                if z is None or float(self._test(target, [v], given).p_value[0]) < self.level:
                    spouses.add(v)
        return spouses
