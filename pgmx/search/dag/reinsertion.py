"""Optimal reinsertion: take nodes out of the graph with all their arcs, and let a climb put them back better.

A local optimum of single-arc moves often holds wrong arcs that only a joint change can mend: a node whose parents
matter together, or siblings tied to each other in place of their parents. Detaching a few nodes and climbing again
crosses such barriers. A trial that does not raise the score is undone.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from pgmx._ext._dag_moves import REVERSE
from pgmx.search.dag.course import Course, Stopped
from pgmx.search.dag.hill_climb import climb_quietly
from pgmx.search.dag.state import DagState

#: Nodes of the small blocks, which are tried at every node.
BLOCK_SIZES = (1, 2)

#: Nodes of the larger blocks, which are tried at random: from, to.
REGION_SIZES = (3, 6)

#: Walks inside the equivalence class of an optimum, each followed by another round of small blocks.
N_WALKS = 1


class Reinsertion:
    """Trials on one state; what it has left to do is what a run taken up again needs.

    Parameters
    ----------
    state : DagState
        A local optimum, and the best graph so far; holds a better one, or the same, after each method.
    course : Course
        Keeps the best graph, and the memo of the stage.
    seed : int
        Draws the order of the nodes, their companions and the walks.
    required : ndarray of shape (k, 2), optional
        Arcs (tail, head) that stay when their nodes are detached.

    Notes
    -----
    Cost: about two rows of gains for each arc of a block. Nine in ten of them have been computed before: give `state` a
    source that keeps its rows (:class:`pgmx.scores.gains.RowCache`).

    References
    ----------
    .. [1] Moore, A. and Wong, W.-K. (2003). Optimal reinsertion: a new search operator for accelerated and more
       accurate Bayesian network structure learning. ICML. (Here the best reinsertion is sought by climbing, and blocks
       of several nodes are reinserted as well.)
    .. [2] Castelo, R. and Kocka, T. (2003). On inclusion-driven learning of Bayesian networks. JMLR 4, 527-574,
       section 5 (repeated covered arc reversals).
    """

    def __init__(self, state: DagState, course: Course, *, seed: int, required: np.ndarray | None = None):
        memo = course.memo
        shape = (len(BLOCK_SIZES), state.n)
        self.state = state
        self.course = course
        self.seed = seed
        self._keep = set() if required is None else {(int(tail), int(head)) for tail, head in required}
        self._waiting = np.array(memo["waiting"], dtype=bool) if "waiting" in memo else np.zeros(shape, dtype=bool)
        self._n_sweeps = int(memo.get("n_sweeps", 0))
        self._position = int(memo.get("position", 0))
        self._size = int(memo.get("size", 0))  # of the sweep that is under way, as a position in BLOCK_SIZES

    # ---- the two stages ----

    def small_blocks(self) -> None:
        """Reinsert single nodes, then pairs of neighbours, until none is left that goes in better.

        A node is tried again after an arc at it or at one of its neighbours changed. When nothing is left to try,
        covered arcs are reversed at random, which leads to a Markov equivalent graph with other neighbours in the space
        of graphs, and the trials begin again where a climb from there succeeds.
        """
        walks_left = int(self.course.memo.get("walks_left", N_WALKS))
        if "waiting" not in self.course.memo:
            self._waiting[:] = True
        while True:
            self._sweep(walks_left=walks_left)
            if walks_left == 0:
                return
            self._safe(walks_left=walks_left)
            walks_left -= 1
            self._try(partial(self._walk, np.random.default_rng([self.seed, 1, self._n_sweeps])))

    def regions(self) -> None:
        """Reinsert connected blocks of three to six nodes, drawn at random.

        After each success the small blocks around it are tried; as many failures in a row as there are nodes end it.
        """
        n_tries, idle = (int(self.course.memo.get(name, 0)) for name in ("n_tries", "idle_tries"))
        while True:
            self._sweep(n_tries=n_tries, idle_tries=idle)
            if idle >= self.state.n:
                return
            self._safe(n_tries=n_tries, idle_tries=idle)
            rng = np.random.default_rng([self.seed, 2, n_tries])
            size = int(rng.integers(REGION_SIZES[0], REGION_SIZES[1] + 1))
            idle = 0 if self._try(self._detach(self._region(rng, size))) else idle + 1
            n_tries += 1

    # ---- trials ----

    def _sweep(self, **memo: Any) -> None:
        """Try all nodes that wait, the smallest block first, in drawn orders."""
        n = self.state.n
        while self._waiting.any():
            if self._position == 0:
                self._size = int(np.flatnonzero(self._waiting.any(axis=1))[0])
            size = self._size
            rng = np.random.default_rng([self.seed, 0, self._n_sweeps])
            order = rng.permutation(n).tolist()
            draws = rng.random((n, BLOCK_SIZES[size])).tolist()
            while self._position < n:
                v = order[self._position]
                if self._waiting[size, v]:
                    self._safe(**memo)
                    self._waiting[size, v] = False
                    self._try(self._detach(self._block(v, draws[self._position])))
                self._position += 1
            self._n_sweeps += 1
            self._position = 0

    def _try(self, change: Callable[[], int]) -> bool:
        """Change the graph and climb; stay there if the graph is better than the best one, else go back."""
        state, course = self.state, self.course
        course.keep_best(state)
        state.mark()
        if change():
            try:
                climb_quietly(state, course)
            except Stopped:
                state.undo()
                state.moves.clear_tabu()
                raise
            if course.is_better(state.score):
                changed = state.changed()
                state.accept()
                self._wait(changed)
                course.record_graph(state)
                return True
        state.undo()
        return False

    def _detach(self, block: list[int]) -> Callable[[], int]:
        return partial(self.state.detach, block, self._keep)

    def _walk(self, rng: np.random.Generator) -> int:
        """Reverse covered arcs drawn at random, half as many times as there are nodes; return how many were."""
        turned = 0
        for _ in range(self.state.n // 2):
            covered = self.state.moves.covered_edges()
            if not len(covered):
                break
            tail, head = covered[rng.integers(len(covered))].tolist()
            if self.state.moves.is_legal(REVERSE, tail, head):
                self.state.make(REVERSE, tail, head)
                turned += 1
        return turned

    # ---- blocks ----

    def _neighbours(self, v: int) -> list[int]:
        return [*self.state.moves.parents_of(v).tolist(), *self.state.moves.children_of(v)]

    def _block(self, v: int, draws: list[float]) -> list[int]:
        """Return a node and drawn neighbours of it, one fewer than there are draws."""
        others = self._neighbours(v) if len(draws) > 1 else []
        block = [v]
        for draw in draws[1:]:
            if others:
                block.append(others.pop(int(draw * len(others))))
        return block

    def _region(self, rng: np.random.Generator, size: int) -> list[int]:
        """Grow a block of `size` nodes from a drawn node along drawn arcs."""
        block = [int(rng.integers(self.state.n))]
        rim = self._neighbours(block[0])
        while rim and len(block) < size:
            v = rim.pop(int(rng.integers(len(rim))))
            if v not in block:
                block.append(v)
                rim += [u for u in self._neighbours(v) if u not in block]
        return block

    # ---- what is left to do ----

    def _wait(self, changed: set[int]) -> None:
        for v in changed:
            self._waiting[:, v] = True
            self._waiting[:, self._neighbours(v)] = True

    def _safe(self, **memo: Any) -> None:
        memo.update(n_sweeps=self._n_sweeps, position=self._position, size=self._size)
        self.course.mark_safe(self.state, waiting=self._waiting.copy(), **memo)
