"""What a search over directed acyclic graphs is given, in a form that can be sent to another process."""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

from pgmx.search.dag.course import ClimbLimits
from pgmx.search.dag.hill_climb import partners_first
from pgmx.search.dag.state import DagState

_NO_ARCS = np.empty((0, 2), dtype=np.int64)


@dataclass(frozen=True, eq=False)
class DagProblem:
    """A score, its variables, and what is known of the graph.

    Attributes
    ----------
    n : int
        Number of variables.
    make_source : callable
        Returns a new source of gains (one serves one thread), see :mod:`pgmx.scores.gains`.
    limits : ClimbLimits
        When to end.
    permutation : ndarray of shape (n,)
        Decides among equal gains of variables with equally many partners.
    start : ndarray of shape (m, 2)
        Arcs (tail, head) of the first graph, acyclic, the required ones among them.
    required : ndarray of shape (k, 2)
        Arcs that stay.
    bonus : tuple of float
        Structure prior: what an addition, a deletion and a reversal gain on top of the families.
    offset : float
        Log prior of the graph without arcs.
    max_candidates : int or None
        Each child is left with so many candidate parents, see :class:`pgmx.search.dag.state.DagState`.
    all_moves : bool
        Whether moves that lower the score are offered too.
    """

    n: int
    make_source: Callable[[], Any]
    limits: ClimbLimits
    permutation: np.ndarray
    start: np.ndarray = field(default_factory=_NO_ARCS.copy)
    required: np.ndarray = field(default_factory=_NO_ARCS.copy)
    bonus: tuple[float, float, float] = (0.0, 0.0, 0.0)
    offset: float = 0.0
    max_candidates: int | None = None
    all_moves: bool = False

    def make_state(self) -> DagState:
        """Return a new state at the first graph."""
        state = DagState(
            self.make_source(),
            self.n,
            priority=partial(partners_first, permutation=self.permutation),
            max_indegree=self.limits.max_indegree,
            least_gain=-np.inf if self.all_moves else self.limits.epsilon,
            tabu_length=self.limits.tabu_length,
            required=self.required,
            bonus=self.bonus,
            offset=self.offset,
            max_candidates=self.max_candidates,
        )
        if len(self.start):
            state.reset(self.start)
        return state
