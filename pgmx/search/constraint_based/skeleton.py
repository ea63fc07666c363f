"""Skeletons by tests of conditional independence of growing size (PC-stable), with knowledge and limits.

References: Spirtes, Glymour & Scheines (2000), Causation, Prediction, and Search, second edition, MIT Press, section
5.4.2; Colombo & Maathuis (2014), Order-independent constraint-based causal structure learning, JMLR 15, algorithm 4.1.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import combinations, zip_longest
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pgmx.runs.checkpoint import Snapshot
from pgmx.runs.run import Run
from pgmx.search.knowledge import EdgeConstraints
from pgmx.statistics.independence.source import Evidence, IdArray, IndependenceSource
from pgmx.statistics.symmetric import copy_upper, list_blocks

BoolMatrix = NDArray[np.bool_]


@dataclass(frozen=True)
class PairKnowledge:
    """What is known about the adjacencies of n variables.

    `possible`, bool (n, n), are the pairs that may be adjacent, `required` the pairs that stay adjacent; both are
    symmetric. `tiers`, an integer per variable or None, restricts the sets of tests.
    """

    possible: BoolMatrix
    required: BoolMatrix
    tiers: IdArray | None = None


def read_pairs(constraints: EdgeConstraints, tiers: IdArray | None = None) -> PairKnowledge:
    """Return the pairs with an allowed direction, and the required ones."""
    n = constraints.n
    if constraints.allowed is None:
        possible = ~np.eye(n, dtype=bool)
    else:
        possible = (constraints.allowed | constraints.allowed.T).astype(bool)
    required = np.zeros((n, n), dtype=bool)
    tails, heads = constraints.required.T
    required[tails, heads] = required[heads, tails] = True
    return PairKnowledge(possible, required, tiers)


@dataclass
class Skeleton:
    """Adjacencies, bool (n, n), the evidence of the tests, and the number of tests per size of the set.

    `before` are the adjacencies before a second stage of tests, None without one, and `n_later_tests` its count of
    tests per size of the set.
    """

    adjacent: BoolMatrix
    evidence: Evidence
    n_tests: list[int] = field(default_factory=list)
    before: BoolMatrix | None = None
    n_later_tests: list[int] = field(default_factory=list)

    def count_tests(self) -> list[int]:
        """Return the number of all tests per size of the set."""
        pairs = zip_longest(self.n_tests, self.n_later_tests, fillvalue=0)
        counts = [first + later for first, later in pairs]
        while len(counts) > len(self.n_tests) and not counts[-1]:  # a second stage without tests of this size
            counts.pop()
        return counts

    def list_edges(self) -> IdArray:
        """Return the adjacent pairs (x, y) with x < y, sorted."""
        low, high = np.nonzero(self.adjacent)
        is_edge = low < high
        return np.column_stack([low[is_edge], high[is_edge]])

    def can_continue(self) -> bool:
        """Return whether some variable has enough neighbours for another level."""
        return bool(self.adjacent.sum(axis=1).max(initial=0) > len(self.n_tests))

    def remove(self, significance_level: float, required: BoolMatrix) -> None:
        """Remove the pairs whose largest p-value is at least the level, unless they are required."""
        p_values = self.evidence.p_values  # entries below the diagonal are 0
        for rows in list_blocks(len(p_values)):
            self.adjacent[rows] &= (p_values[rows] < significance_level) | required[rows]
        copy_upper(self.adjacent)


def find_skeleton(
    source: IndependenceSource,
    run: Run,
    *,
    significance_level: float,
    max_size: int,
    knowledge: PairKnowledge,
    max_tests: float | None = None,
    run_level: Callable[..., int] | None = None,
    ends_run: bool = True,
) -> Skeleton:
    """Test the pairs level by level, and end the run: all neighbourhoods are frozen at the start of a level.

    `run_level` replaces the method of the source. The run stops by "max_tests" after a level if further levels would
    follow. Each level is recorded, and written to the checkpoint. Without `ends_run` a converged run continues.
    """
    skeleton = Skeleton(knowledge.possible.copy(), Evidence(source.n_variables))
    snapshot = run.restore()
    if snapshot is not None:
        _read_snapshot(skeleton, snapshot)
    is_done = skeleton.before is not None  # the checkpoint is of the second stage
    test = source.run_level if run_level is None else run_level
    with run.catch_interrupt():
        while not is_done and len(skeleton.n_tests) <= max_size and skeleton.can_continue() and not run.is_over():
            if max_tests is not None and sum(skeleton.n_tests) > max_tests:
                run.end("max_tests")
                break
            options: dict[str, Any] = {"significance_level": significance_level, "evidence": skeleton.evidence}
            options |= {"tiers": knowledge.tiers, "should_stop": run.is_over}
            n_tests = test(skeleton.adjacent, len(skeleton.n_tests), **options)
            skeleton.remove(significance_level, knowledge.required)
            skeleton.n_tests.append(n_tests)
            if not run.is_over():  # an unfinished level is not saved: it would be taken for a complete one
                run.record(n_tests=sum(skeleton.n_tests), n_edges=len(skeleton.list_edges()))
                if run.checkpoint is not None:
                    run.save(write_snapshot(skeleton))
    if ends_run and not run.stopped_by:
        run.end("converged")
    return skeleton


def run_level_in_order(source: IndependenceSource, order: IdArray) -> Callable[..., int]:
    """Return levels of the original PC: a pair is removed at its first separating set, at once.

    `order` lists the ids in the order in which pairs and sets are tested; the result depends on it.
    """
    place = np.argsort(order)

    def run_level(
        adjacent: BoolMatrix,
        size: int,
        *,
        significance_level: float,
        evidence: Evidence,
        tiers: IdArray | None,
        should_stop: Callable[[], bool],
    ) -> int:
        current, n_tests = adjacent.copy(), 0
        for i, j in np.argwhere(np.triu(adjacent[np.ix_(order, order)], 1)).tolist():
            if should_stop():
                break
            x, y = int(order[i]), int(order[j])
            for z in _list_sets(current, x, y, size, tiers, place):
                p_values = source.test_row(x, [y], z).p_value
                n_tests += int(not np.isnan(p_values[0]))
                evidence.add(x, np.array([y]), z, p_values)
                if p_values[0] >= significance_level:
                    current[x, y] = current[y, x] = False
                    break
        return n_tests

    return run_level


def _list_sets(
    adjacent: BoolMatrix, x: int, y: int, size: int, tiers: IdArray | None, place: IdArray
) -> list[tuple[int, ...]]:
    """Return the sets of `size` neighbours of one of a pair, sorted by id, each once, in the order of `place`."""
    found: dict[tuple[int, ...], None] = {}
    for a, b in ((x, y), (y, x)):
        others = sorted((v for v in np.flatnonzero(adjacent[a]).tolist() if v != b), key=place.__getitem__)
        if tiers is not None:
            others = [v for v in others if tiers[v] <= max(tiers[x], tiers[y])]
        found.update(dict.fromkeys(tuple(sorted(z)) for z in combinations(others, size)))
    return list(found)


# ---- snapshots ----


def write_snapshot(skeleton: Skeleton) -> dict[str, Any]:
    """Return the state of a search in the form of a checkpoint."""
    sets = sorted(skeleton.evidence.sets.items())
    second: dict[str, Any] = {}
    if skeleton.before is not None:
        second["edges_before"] = np.argwhere(np.triu(skeleton.before, 1)).astype(np.int64)
        second["n_later_tests"] = np.array(skeleton.n_later_tests, dtype=np.int64)
    return second | {
        "edges": skeleton.list_edges().astype(np.int64),
        "n_tests": np.array(skeleton.n_tests, dtype=np.int64),
        "p_values": skeleton.evidence.p_values,
        "pairs": np.array([pair for pair, _ in sets], dtype=np.int64).reshape(-1, 2),
        "sizes": np.array([len(members) for _, members in sets], dtype=np.int64),
        "members": np.array([v for _, members in sets for v in members], dtype=np.int64),
    }


def _read_snapshot(skeleton: Skeleton, snapshot: Snapshot) -> None:
    n = len(skeleton.adjacent)
    second = ("edges_before", "n_later_tests")
    has_second = any(name in snapshot.names for name in second)
    snapshot.check_names(("edges", "n_tests", "p_values", "pairs", "sizes", "members", *(second if has_second else ())))
    edges, pairs = snapshot.pairs("edges", n), snapshot.pairs("pairs", n)
    n_tests = snapshot.array("n_tests", np.int64, (None,), least=0)
    sizes = snapshot.array("sizes", np.int64, (len(pairs),), least=1, most=n)
    members = snapshot.array("members", np.int64, (None,), least=0, most=n - 1)
    snapshot.check(sizes.sum() == len(members), "sets of other sizes than it states")
    snapshot.check(len(n_tests) <= n and (pairs[:, 0] < pairs[:, 1]).all(), "pairs out of order")
    snapshot.check(skeleton.adjacent[edges[:, 0], edges[:, 1]].all(), "an edge that is not possible")
    skeleton.evidence.p_values[:] = snapshot.array("p_values", np.float64, (n, n), least=0.0, most=1.0)
    sets = np.split(members, np.cumsum(sizes)[:-1])
    skeleton.evidence.sets = {(x, y): tuple(z.tolist()) for (x, y), z in zip(pairs.tolist(), sets, strict=False)}
    skeleton.adjacent[:] = False
    skeleton.adjacent[edges[:, 0], edges[:, 1]] = skeleton.adjacent[edges[:, 1], edges[:, 0]] = True
    skeleton.n_tests = n_tests.tolist()
    if has_second:
        skeleton.n_later_tests = snapshot.array("n_later_tests", np.int64, (None,), least=0).tolist()
        edges = snapshot.pairs("edges_before", n)
        skeleton.before = np.zeros((n, n), dtype=bool)
        skeleton.before[edges[:, 0], edges[:, 1]] = skeleton.before[edges[:, 1], edges[:, 0]] = True
        snapshot.check((skeleton.before | ~skeleton.adjacent).all(), "an edge that was removed before")
