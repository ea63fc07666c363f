"""Search over orders for linear Gaussian scores: climbs under falling costs of a parent, and local kicks."""

from collections.abc import Callable
from math import inf
from typing import Any, Self

import numpy as np

from pgmx._ext._dag_moves import ADD
from pgmx._ext._gaussian import GaussianScorer
from pgmx._ext._gaussian_orders import GaussianOrders
from pgmx.runs.checkpoint import Snapshot
from pgmx.scores.gains import LIKELIHOOD, source_of_rows
from pgmx.search.dag.orders.kicks import draw_order, sort_topologically
from pgmx.search.dag.state import DagProblem, DagState
from pgmx.search.dag.tracker import SearchTracker

#: Multiples of the costs under which an order is climbed in turn. Under high costs families stay small, which keeps the
#: last climb away from optima with far too many edges.
COST_FACTORS = (4.0, 2.0, 1.0)

#: Largest size of the stored families in bytes; results do not depend on it.
FAMILY_MEMORY = 1 << 28

#: Kicks without a better graph that end a start: a constant, and the number added per variable.
KICK_PATIENCE, KICK_PATIENCE_PER_VARIABLE = 200, 6

#: Smallest `max_indegree`, unless it allows all predecessors. The search exchanges no parents, and loses if the limit
#: binds: 220 nats on 40 variables of degree 6 with at most 3 parents.
LEAST_INDEGREE = 24

#: Starts of kicks: the best graph, then climbs from random orders.
N_STARTS = 3

#: Limit on the searches for parents that all kicks make.
MOST_WALKS = 1_200_000

#: Kicks per call of the kernel; better graphs are recorded between calls.
KICKS_PER_CALL = 32

#: Moves per call of the kernel if `max_iter` is infinite.
_MOST_MOVES = 1 << 60


class GaussianOrderSearch:
    """A search over orders on the correlation matrix of a linear Gaussian score; `state` stays at its graph.

    `tracker` gets the best graph, scored again by the state. The result depends on the seed and on the limits of moves,
    not on time, threads or memory.
    """

    def __init__(
        self,
        problem: DagProblem,
        state: DagState,
        tracker: SearchTracker,
        moments: tuple[np.ndarray, float],
        costs: np.ndarray,
        seed: int,
    ):
        self.problem, self.state, self.tracker, self.seed, self._costs = problem, state, tracker, seed, costs
        correlation, n_rows = moments
        self._least_gain = max(tracker.limits.epsilon, 1e-11 * n_rows * state.n)
        self._offered = -inf
        self._orders = GaussianOrders(
            correlation,
            n_rows,
            costs,
            # fewer parents than rows, so that a residual variance is left
            int(max(min(tracker.limits.max_indegree, state.n - 1, n_rows - 2), 0)),
            priority=state.priority,
            required=problem.required,
            allowed=_pack_allowed(state),
            least_gain=self._least_gain,
            memory=FAMILY_MEMORY,
        )

    @classmethod
    def make(cls, problem: DagProblem, state: DagState, tracker: SearchTracker, seed: int) -> Self | None:
        """Return a search, or None unless the score is a Gaussian likelihood minus a cost of each parent."""
        source = source_of_rows(state.source)
        moments: Any = getattr(source, "moments", None) if isinstance(source, GaussianScorer) else None
        bounds = problem.bounds
        if moments is None or bounds.kind != LIKELIHOOD or bounds.cards is not None or state.n < 3:
            return None
        if tracker.limits.max_indegree < min(LEAST_INDEGREE, state.n - 1):
            return None
        costs = bounds.cost - state.bonus[ADD] + np.diff([bounds.size_cost(k) for k in range(state.n)])
        return cls(problem, state, tracker, moments, costs, seed) if costs[0] > 0 else None

    def climb(self, number: int) -> None:
        """Climb from the random order with index `number` under falling costs."""
        order = draw_order(self.state.n, self.problem.required, self.seed, number)
        for factor in COST_FACTORS:
            self._orders.set_costs(self._costs * factor)
            self._orders.set_order(order)
            self._offered = -inf if factor == COST_FACTORS[-1] else inf  # scores under other costs are no scores
            while not self._run(self._orders.climb):
                pass
            order = self._orders.order()

    def kick_starts(self) -> None:
        """Kick from the best graph, then from climbs from random orders, until their limits end them."""
        tracker, n = self.tracker, self.state.n
        patience = KICK_PATIENCE + KICK_PATIENCE_PER_VARIABLE * n
        memo = tracker.read_memo("start", "order", "edges", "n_kicks", "idle", "walks_left", "offered")
        walks_left = memo.integer("walks_left", -MOST_WALKS, MOST_WALKS) if memo else MOST_WALKS
        tracker.keep_best(self.state)
        for number in range(memo.integer("start", 0, N_STARTS - 1) if memo else 0, N_STARTS):
            n_kicks = idle = 0
            if memo:
                n_kicks, idle = memo.integer("n_kicks", 0), memo.integer("idle", 0, patience)
                self._return_to(memo)
            elif number == 0:
                edges = tracker.best_edges(self.state)
                self._orders.set_graph(sort_topologically(n, edges, self.state.priority), edges)
                self._offered = -inf
                self._offer()
            elif walks_left > 0:
                self.climb(number)
            memo = tracker.memo = None
            while idle < patience and walks_left > 0:
                self._mark(start=number, n_kicks=n_kicks, idle=idle, walks_left=walks_left)
                n_walks = self._orders.n_walks
                done, idle = self._run(
                    self._orders.kick, KICKS_PER_CALL, self._seed_of(number, n_kicks), idle, patience
                )
                n_kicks += done
                walks_left -= self._orders.n_walks - n_walks

    def _seed_of(self, number: int, n_kicks: int) -> int:
        # kick j of a start has the seed of the start plus j: a resumed search makes the same kicks
        seed = int(np.random.SeedSequence([self.seed, 6, number]).generate_state(1, np.uint64)[0])
        return (seed + n_kicks) % 2**64

    def _run(self, search: Callable, *arguments: int) -> Any:
        """Call the kernel with the number of moves that are left; adopt its best graph, even if a limit ends it."""
        tracker, before = self.tracker, self._orders.n_moves
        tracker.check()
        try:
            result = search(*arguments, int(min(tracker.limits.max_iter - tracker.n_iter, _MOST_MOVES)), tracker.check)
        finally:
            tracker.n_iter += self._orders.n_moves - before
            self._offer()
        tracker.check()  # before the next safe point: the limit of moves may have cut a kick
        return result

    def _offer(self) -> None:
        """Adopt the best graph of the kernel if it improved."""
        if self._orders.score > self._offered + self._least_gain:
            self._offered = self._orders.score
            edges = self._orders.edges()
            # scored again by the state: the sum of the kernel has other rounding errors
            self.tracker.offer(edges, self.state.score_graph(edges), 0)

    def _mark(self, **memo: Any) -> None:
        if self.tracker.run.checkpoint is not None:
            memo.update(order=self._orders.order(), edges=self._orders.edges(), offered=self._offered)
            self.tracker.mark_safe_point(self.state, **memo)

    def _return_to(self, memo: Snapshot) -> None:
        """Set the order and the graph of a memo."""
        n, checker = self.state.n, self.tracker.checker
        assert checker is not None
        order, edges = memo.array("order", np.int64, (n,), least=0, most=n - 1), checker.read(memo, "edges")
        memo.check(len(set(order.tolist())) == n, "an order with a variable twice")
        rank = np.argsort(order)
        memo.check((rank[edges[:, 0]] < rank[edges[:, 1]]).all(), "an order against arcs of the graph")
        self._offered = memo.number("offered")
        self._orders.set_graph(order, edges, improves=False)


def _pack_allowed(state: DagState) -> np.ndarray:
    """Return the arcs that may be added as words of 64 bits, by child."""
    bits = np.zeros((state.n, (state.n + 63) // 64 * 8), dtype=np.uint8)
    packed = np.packbits(state.unpack_allowed(), axis=1, bitorder="little")
    bits[:, : packed.shape[1]] = packed
    return bits.view("<u8").astype(np.uint64)
