"""What a search over directed acyclic graphs is given, in a form that can be sent to another process."""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial

import numpy as np

from pgmx.scores.gains import GainSource
from pgmx.search.dag.course import ClimbLimits
from pgmx.search.dag.hill_climb import rank_by_partners
from pgmx.search.dag.state import DagState

_NO_ARCS = np.empty((0, 2), dtype=np.int64)


@dataclass(frozen=True, eq=False)
class DagProblem:
    """A score, its variables, and what is known of the graph, in a form that can be sent to another process.

    `make_source` returns a new source of gains (one per thread, see `pgmx.scores.gains`). `start`, (m, 2), are the arcs
    of the first graph, the `required` ones (k, 2) among them. `bonus` is what an addition, a deletion and a reversal
    gain by the structure prior, `offset` its logarithm without arcs. `all_moves` offers moves that lower the score.
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
        )
        if len(self.start):
            state.reset(self.start)
        return state
