"""Additions of two parents that gain only jointly, if no single-arc move gains."""

from math import inf
from typing import Any, NamedTuple

import numpy as np

from pgmx._ext._dag_moves import ADD
from pgmx._ext._families import FamilyScorer
from pgmx.scores.gains import LIKELIHOOD, FamilyBounds, FamilyMessage, prefetch_families, source_of_rows
from pgmx.search.dag.hill_climb import climb
from pgmx.search.dag.state import DagState
from pgmx.search.dag.tracker import SearchTracker

#: Largest number of variables for pairs: a pass needs one row of gains per pair of variables.
MOST_VARIABLES = 100

#: Largest number of cells of a family that gets a second parent: larger ones are slow and heavily penalised. On barley
#: (10,000 rows, BDeu) the pairs take 0.009 s with this limit and 3.2 s without, for the same score; on win95pts
#: (10,000 rows, BDeu) 3 nats are lost (tests/benchmarks/README.md).
MOST_CELLS = 32


def climb_by_pairs(state: DagState, tracker: SearchTracker, bounds: FamilyBounds) -> None:
    """Climb, add the pair of parents with the largest gain, and repeat until neither single arcs nor pairs gain."""
    climb(state, tracker)
    if not state.is_compiled or state.n > MOST_VARIABLES:
        return
    pairs = PairAdditions(state, tracker, bounds)
    while pairs.add_best():
        tracker.mark_safe_point(state, idle=0)
        climb(state, tracker)


class Pair(NamedTuple):
    """Two parents to add, and their joint gain."""

    gain: float
    parents: tuple[int, int]


class PairAdditions:
    """The best pair of parents of each variable in the graph of a state whose source is compiled.

    A result is cached while the variable keeps its parents and its possible parents. Cost: one row of gains per
    variable and candidate, except candidates that bounds of the score exclude.
    """

    def __init__(self, state: DagState, tracker: SearchTracker, bounds: FamilyBounds):
        self.state, self.tracker, self._bounds = state, tracker, bounds
        self._source: Any = source_of_rows(state.source)
        self._known: dict[tuple, Pair | None] = {}
        self._gains = np.empty((state.n, state.n))

    def add_best(self) -> bool:
        """Add the best pair; return whether one gains. The graph must be a local optimum of single-arc moves."""
        state, tracker = self.state, self.tracker
        offers = [(self._find_pair(child), child) for child in np.argsort(state.priority).tolist()]
        # `max` keeps the first of equal gains, that is the variable of smallest priority
        pair, child = max(
            ((pair, child) for pair, child in offers if pair is not None),
            key=lambda offer: offer[0].gain,
            default=(None, -1),
        )
        if pair is None:
            return False
        tracker.keep_best(state)
        for parent in pair.parents:
            tracker.count_trial_move()
            state.make(ADD, parent, child)
        tracker.record_graph(state)
        return True

    def _find_pair(self, child: int) -> Pair | None:
        state = self.state
        row, parents = state.gains[child], state.moves.parents_of(child).tolist()
        others = [
            u for u in np.flatnonzero(row > -inf).tolist() if u not in parents and state.moves.is_legal(ADD, u, child)
        ]
        key = (child, *parents, -1, *others)
        if key not in self._known:
            self.tracker.check()
            self._known[key] = self._search(child, parents, others)
        return self._known[key]

    def _search(self, child: int, parents: list[int], others: list[int]) -> Pair | None:
        """Return the best pair of `others` that gains; the row of each first parent gives its best second parent."""
        state, source, best = self.state, self._source, None
        least = self.tracker.least_gain()
        candidates, limits = np.array(others), self._limit_gains(child, parents, others)
        self._prefetch_rows(child, parents, [u for u, most in zip(others[:-1], limits, strict=False) if most >= least])
        for u, most in zip(others, limits, strict=True):
            # each pair once: the second parent has a larger id than the first
            first, later = state.gains[child, u] + state.bonus[ADD], candidates[candidates > u]
            if most < least or not len(later):
                continue
            if isinstance(source, FamilyScorer):
                # the scorer may skip additions that cannot make the pair gain enough
                source.least_gain = least - first - state.bonus[ADD]
            family = np.array(sorted([*parents, u]), dtype=np.int32)
            try:
                source.rescore(child, family, self._gains)
            finally:
                if isinstance(source, FamilyScorer):
                    source.least_gain = -inf
            w = int(later[np.argmax(self._gains[child, later])])
            gain = float(first + self._gains[child, w] + state.bonus[ADD])
            if gain >= least:
                least, best = gain, Pair(gain, (u, w))
        return best

    def _prefetch_rows(self, child: int, parents: list[int], firsts: list[int]) -> None:
        """Prefetch the rows after adding each of `firsts`, if counts are remote."""
        source = self._source

        def list_messages() -> list[FamilyMessage]:
            if isinstance(source, FamilyScorer):
                most = float(self.state.gains[child, firsts].max()) + 2 * self.state.bonus[ADD]
                source.least_gain = self.tracker.least_gain() - most
            return [([(child, np.array(sorted([*parents, u]), dtype=np.int32)) for u in firsts], 1, True)]

        if not firsts:
            return
        try:
            prefetch_families(source, list_messages)
        finally:
            if isinstance(source, FamilyScorer):
                source.least_gain = -inf

    def _limit_gains(self, child: int, parents: list[int], others: list[int]) -> list[float]:
        """Return an upper bound on the gain of each of `others` with a second parent, -inf if it is not tried.

        A discrete log-likelihood is at most 0, and the pair costs its parameters.
        """
        bounds, likely = self._bounds, [inf] * len(others)
        if bounds.cards is not None:
            cells = float(np.prod(bounds.cards[[child, *parents]], dtype=float))
            likely = [inf if cells * bounds.cards[u] <= MOST_CELLS else -inf for u in others]
        if bounds.kind != LIKELIHOOD or bounds.cards is None or len(others) < 2:
            return likely
        cards = bounds.cards
        cost = bounds.cost * float(np.prod(cards[parents], dtype=float)) * (cards[child] - 1)
        smallest = sorted(int(cards[u]) for u in others)[:2]
        k = len(parents)
        likelihood = self.state.scores[child] + cost + bounds.size_cost(k)
        bonus = 2 * self.state.bonus[ADD] - (bounds.size_cost(k + 2) - bounds.size_cost(k))
        return [
            min(most, bonus - likelihood - cost * (cards[u] * smallest[int(cards[u] == smallest[0])] - 1))
            for most, u in zip(likely, others, strict=True)
        ]
