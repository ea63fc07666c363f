"""The problem and the state of every search over graphs: a graph, the gains of its moves, and its score."""

from collections.abc import Callable, Collection, Iterable
from copy import copy
from dataclasses import dataclass, field
from functools import partial
from time import perf_counter
from typing import Any

import numpy as np

from pgmx._ext._dag_moves import ADD
from pgmx._ext._scored_moves import ScoredMoves
from pgmx._ext._scorer import Scorer
from pgmx.scores.gains import FamilyBounds, GainSource, RowCache, expect_families

_NO_ARCS = np.empty((0, 2), dtype=np.int64)

#: Range of seconds that a climb in compiled code should take (then Ctrl-C and the time limit are checked), and the
#: largest number of rows of gains that it computes.
_LEAST_SECONDS, _MOST_SECONDS, _MOST_ROWS = 0.005, 0.02, 1 << 10

#: Largest number of values in the record of such a climb.
_TRACE = 1 << 17


@dataclass(frozen=True)
class ClimbLimits:
    """The limits of a search.

    A move that gains less than `epsilon` is not an improvement. `max_iter` may be infinite. The last `tabu_length`
    moves may not be undone. The tabu list is emptied if no other move improves the best graph, so that local optima are
    optimal among all moves. A climb ends after `patience` moves without a new best score, or at once if it is 0.
    """

    epsilon: float
    max_iter: int | float
    max_indegree: int
    tabu_length: int
    patience: int


class DagState:
    """A directed acyclic graph under search: its legal `moves`, their `gains`, and the family `scores`.

    ``gains[child, u]``, (n, n), is the gain of deleting u if it is a parent, otherwise of adding it. A move costs one
    row of gains (two for a reversal). `priority` (an array, or a function of the gains without arcs) ranks equal gains
    by head, then tail. `best` offers no addition below `least_gain`. Required arcs are not added.
    """

    def __init__(
        self,
        source: GainSource,
        n: int,
        *,
        priority: np.ndarray | Callable[[np.ndarray], np.ndarray],
        max_indegree: int,
        least_gain: float = -np.inf,
        tabu_length: int = 0,
        required: np.ndarray | None = None,
        bonus: tuple[float, float, float] = (0.0, 0.0, 0.0),
        offset: float = 0.0,
        max_candidates: int | None = None,
        groups: np.ndarray | None = None,
    ):
        self.n = n
        self.groups = groups  # see DagProblem
        self.source = source
        self.gains = np.empty((n, n))
        self.scores = np.empty(n)
        source.start(self.gains, self.scores)
        # the gains without arcs are kept, since the first temperature of annealing depends on them
        self.first_gains = self.gains.max(axis=1)
        self.priority = np.asarray(priority(self.gains) if callable(priority) else priority, dtype=np.int64)
        #: The arcs that may be added if candidates were chosen, uint8 (n, n).
        self.mask: np.ndarray | None = None
        if max_candidates is not None and max_candidates < n - 1:
            self._restrict(max_candidates, required)
        #: The arcs that may be added, as bits, (n, n / 8) by child and parent.
        self.allowed = np.packbits(self.gains > -np.inf, axis=1)
        self.required = _NO_ARCS if required is None else required
        self.bonus = bonus
        self.offset = offset
        self._options: dict[str, Any] = {
            "max_indegree": max_indegree,
            "floor": least_gain,
            "tabu_length": tabu_length,
            "required": required,
            "bonus": bonus,
        }
        self._make_moves()

    def _make_moves(self, edges: np.ndarray = _NO_ARCS) -> None:
        """Make the moves of a graph whose gains and scores are known."""
        source = self.source
        self.moves = ScoredMoves(self.gains, self.priority, **self._options)
        self.moves.follow(source, self.gains, self.scores, source.rows if isinstance(source, RowCache) else None)
        for tail, head in edges.tolist():
            self.moves.insert_edge(tail, head)
        self.moves.refresh_all()
        self._most_rows = 1  # largest number of rows of a climb in compiled code

    def _restrict(self, max_candidates: int, required: np.ndarray | None) -> None:
        allowed = choose_candidates(self.gains, self.priority, max_candidates)
        if required is not None and len(required):
            allowed[required[:, 1], required[:, 0]] = 1
        self.mask = allowed & (self.gains > -np.inf)
        self.source.restrict(self.mask)
        self.gains[allowed == 0] = -np.inf

    def copy_maker(self, make_source: Callable[[], GainSource]) -> Callable[[], "DagState"]:
        """Return a function that copies the present state on any thread, with a new source of gains.

        Nothing is scored: the copy gets the gains, 8 n² bytes, and lists the moves.
        """
        gains, scores, edges, mask = self.gains.copy(), self.scores.copy(), self.edges(), self.mask
        original = copy(self)

        def make() -> DagState:
            state = copy(original)
            state.source = make_source()
            if mask is not None:
                state.source.restrict(mask)
            state.gains, state.scores = gains.copy(), scores.copy()
            state._make_moves(edges)
            return state

        return make

    # ---- queries of a search ----

    @property
    def prior(self) -> float:
        """Log prior of the graph, computed from the number of arcs, so that it does not depend on the moves made."""
        return self.offset + self.moves.n_edges * self.bonus[ADD]

    @prior.setter
    def prior(self, log_prior: float) -> None:
        self.offset = log_prior - self.moves.n_edges * self.bonus[ADD]

    @property
    def score(self) -> float:
        """Score of the graph, structure prior included."""
        # summed again each time: a running sum would depend on the moves made
        return float(self.scores.sum()) + self.prior

    def unpack_allowed(self) -> np.ndarray:
        """Return whether each arc may be added, bool (n, n) by child and parent."""
        return np.unpackbits(self.allowed, axis=1, count=self.n).astype(bool)

    def edges(self) -> np.ndarray:
        """Return the arcs as int64 (m, 2), (tail, head), by head and tail."""
        return self.moves.edges()

    def score_graph(self, edges: np.ndarray) -> float:
        """Return the score of any graph, independent of the present one; edges are by head and tail."""
        parents = [edges[edges[:, 1] == v, 0].astype(np.int32) for v in range(self.n)]
        expect_families(self.source, list(enumerate(parents)), n_needed=self.n, has_rows=False)
        scores = [self.source.family_score(v, family) for v, family in enumerate(parents)]
        return float(np.sum(scores)) + self.offset + len(edges) * self.bonus[ADD]

    # ---- actions of a search ----

    def make(self, op: int, tail: int, head: int, least_gain: float = np.inf) -> None:
        """Make a legal move and update gains and score; additions that gain `least_gain` are expected to follow."""
        self.moves.make(op, tail, head, least_gain)

    def reverse_ties(self) -> None:
        """Break ties of gains in the reverse order from now on."""
        self.priority = self.n - 1 - self.priority
        self.moves.set_priority(self.priority)

    def reset(self, edges: np.ndarray) -> None:
        """Move to another acyclic graph; only children whose parents differ are rescored."""
        now, then = (np.sort(arcs[:, 0] * self.n + arcs[:, 1]) for arcs in (self.edges(), np.asarray(edges)))
        gone, come = np.setdiff1d(now, then, assume_unique=True), np.setdiff1d(then, now, assume_unique=True)
        self._exchange(
            *(list(zip(*map(np.ndarray.tolist, divmod(codes, self.n)), strict=True)) for codes in (gone, come))
        )

    def detach(self, nodes: Iterable[int], keep: Collection[tuple[int, int]] = ()) -> int:
        """Delete all arcs at `nodes` except those in `keep`; return their number."""
        arcs = [arc for arc in self.moves.arcs_at(nodes) if arc not in keep]
        self._exchange(arcs, [])
        return len(arcs)

    def climb(self, least_gain: float, most_moves: int) -> tuple[int, bool]:
        """Make best moves until none gains `least_gain`; return the number of moves, and whether none is left.

        It ends early after `most_moves` or after some time, so that the caller can check the time limit.
        """
        return self._climb(least_gain, most_moves, None)

    def climb_on_record(self, least_gain: float, most_moves: int | float) -> tuple[np.ndarray, np.ndarray, bool]:
        """Climb as `climb`, but return score and number of arcs after each move, and whether no move is left."""
        trace = np.empty((int(min(most_moves, max(_TRACE // (self.n + 1), 1))), self.n + 1))
        n_made, is_optimum = self._climb(least_gain, len(trace), trace)
        n_edges = trace[:n_made, -1].astype(np.int64)
        # contiguous, so that the terms are summed in the same order as in `score`
        scores = np.ascontiguousarray(trace[:n_made, :-1]).sum(axis=1)
        return scores + (self.offset + n_edges * self.bonus[ADD]), n_edges, is_optimum

    def _climb(self, least_gain: float, most_moves: int, trace: np.ndarray | None) -> tuple[int, bool]:
        began = perf_counter()
        n_made, is_optimum = self.moves.climb(least_gain, most_moves, self._most_rows, trace)
        seconds = perf_counter() - began
        if seconds > _MOST_SECONDS or not self.is_compiled:
            self._most_rows = max(self._most_rows // 2, 1)
        # doubled only if the limit of rows ended the call, not a local optimum
        elif seconds < _LEAST_SECONDS and n_made >= self._most_rows:
            self._most_rows = min(2 * self._most_rows, _MOST_ROWS)
        return n_made, is_optimum

    @property
    def is_compiled(self) -> bool:
        """Whether the source is compiled, so that climbs release Python's global interpreter lock."""
        return isinstance(self.source, Scorer)

    def mark(self) -> None:
        """Store the present graph for `undo`."""
        self.moves.mark()

    def ends_since_mark(self) -> set[int]:
        """Return the ends of all arcs touched since `mark`."""
        return self.moves.ends_since_mark()

    def undo(self) -> None:
        """Return to the graph of the last `mark`, without rescoring."""
        self.moves.undo()

    def accept(self) -> None:
        """Keep the present graph and drop the `mark`."""
        self.moves.accept()

    # ---- internal ----

    def _exchange(self, gone: list[tuple[int, int]], come: list[tuple[int, int]]) -> None:
        """Replace arcs, and rescore their heads."""
        for tail, head in gone:
            self.moves.delete_unscored(tail, head)
        for tail, head in come:
            self.moves.insert_unscored(tail, head)
        self.moves.rescore(np.array(sorted({head for _, head in gone + come}), dtype=np.int64))


@dataclass(frozen=True, eq=False)
class DagProblem:
    """A score, its variables, and knowledge about the graph, in a form that can be sent to another process.

    `make_source` returns a new source of gains (one per thread, see `pgmx.scores.gains`). `start`, (m, 2), are the arcs
    of the first graph, including the `required` arcs (k, 2). `bonus` are the gains of an addition, a deletion and a
    reversal by the structure prior, `offset` is its log without arcs. `all_moves` offers moves that lower the score.
    """

    n: int
    make_source: Callable[[], GainSource]
    limits: ClimbLimits
    permutation: np.ndarray
    start: np.ndarray = field(default_factory=_NO_ARCS.copy)
    required: np.ndarray = field(default_factory=_NO_ARCS.copy)
    bonus: tuple[float, float, float] = (0.0, 0.0, 0.0)
    offset: float = 0.0
    max_candidates: int | None = None
    all_moves: bool = False
    #: A number per variable, int64 (n,): experiments decide the direction of arcs between unequal numbers.
    groups: np.ndarray | None = None
    #: Bounds of the score for families that are not scored yet.
    bounds: FamilyBounds = field(default_factory=FamilyBounds)

    def make_state(self) -> DagState:
        """Return a new state at the first graph."""
        state = DagState(
            self.make_source(),
            self.n,
            priority=partial(rank_by_partners, permutation=self.permutation),
            max_indegree=self.limits.max_indegree,
            least_gain=-np.inf if self.all_moves else self.limits.epsilon,
            tabu_length=self.limits.tabu_length,
            required=self.required,
            bonus=self.bonus,
            offset=self.offset,
            max_candidates=self.max_candidates,
            groups=self.groups,
        )
        if len(self.start):
            state.reset(self.start)
        return state


def rank_by_partners(gains: np.ndarray, permutation: np.ndarray) -> np.ndarray:
    """Return the rank of each variable among ties: more partners first, then by `permutation`; the smaller rank wins.

    `gains` are the gains of the graph without arcs. A partner of x is a variable that gains as its only parent. Under a
    score-equivalent score the two directions of the first arc between two variables tie. The choice leads to different
    local optima: arcs into the variable with more partners give better scores and fewer arcs.
    """
    n_partners = np.count_nonzero(gains > 0, axis=1)
    priority = np.empty(len(permutation), dtype=np.int64)
    priority[np.lexsort((permutation, -n_partners))] = np.arange(len(permutation))
    return priority


def choose_candidates(gains: np.ndarray, priority: np.ndarray, k: int) -> np.ndarray:
    """Return the arcs that remain if each variable keeps its k best partners, uint8 (n, n) by child and parent.

    ``gains[child, u]`` are the gains of the graph without arcs. An arc remains in both directions, so that it can be
    reversed. This is one iteration of the sparse candidate algorithm of Friedman, Nachman and Pe'er (1999).
    """
    n = len(gains)
    allowed = np.zeros((n, n), dtype=np.uint8)
    for child in range(n):
        row = gains[child]
        # the k-th largest gain decides; equal gains at the cut are chosen by `priority`
        best = np.argpartition(-row, min(k, n - 1))[: k + 1]
        cut = np.sort(-row[best])[min(k, n) - 1] if k else -np.inf
        sure = np.flatnonzero(-row < cut)
        tied = np.flatnonzero((-row == cut) & (row > -np.inf))  # -inf: cannot be a parent
        tied = tied[np.argsort(priority[tied])][: max(k - len(sure), 0)]
        allowed[child, sure] = allowed[child, tied] = 1
    allowed |= allowed.T
    np.fill_diagonal(allowed, 0)
    return allowed
