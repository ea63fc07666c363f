"""Greedy search over equivalence classes of directed acyclic graphs, phase by phase.

With data from experiments, the classes are interventional ones, and the search is GIES: experiments decide the
direction of some arcs, as prior knowledge does.

An operator changes the edge between `tail` and `head`. Consider the graphs of the class in which, among the neighbours
of the head (by undirected edges), exactly those in `clique` are its parents. In one of these graphs the arc
tail → head is added, deleted, or obtained by reversing head → tail. The gain is the same in all of them if equivalent
graphs have equal scores.
"""

from collections.abc import Sequence
from math import inf
from typing import Any, NamedTuple

import numpy as np

from pgmx._ext._class_operators import ClassOperators
from pgmx._ext._dag_moves import ADD, DELETE, REVERSE
from pgmx.scores.gains import FamilyMessage, prefetch_families
from pgmx.search.dag.hill_climb import climb
from pgmx.search.dag.state import DagProblem, DagState
from pgmx.search.dag.tracker import SearchTracker

#: Operators of each phase.
KINDS = {"forward": ADD, "backward": DELETE, "turning": REVERSE}

#: Most cliques of neighbours that are listed for one head, the smallest first: there can be 2^k of k neighbours.
MOST_CLIQUES = 2048

#: Edges per variable above which a graph is dense, and the number of stages of a search that also climbs if it is.
MOST_EDGES_PER_VARIABLE, N_STAGES = 1.5, 3

#: Heads whose families are prefetched together if counts are remote, and operators that are expected next.
HEADS_PER_PREFETCH, OPERATORS_TO_PREFETCH = 64, 4


def search_classes(
    state: DagState,
    tracker: SearchTracker,
    *,
    phases: Sequence[str],
    repeat: bool,
    most_listed: float = inf,
    max_degree: float | None = None,
) -> None:
    """Apply the best operator of a phase until none gains, then continue with the next phase.

    With `repeat` the phases are repeated until none of them finds a better class. `state` moves from a DAG of one class
    to a DAG of the next. Insertions give no variable more than `max_degree` edges. The search ends after more than
    `most_listed` cliques were listed. Reference: Chickering (2002), section 4.
    """
    memo = tracker.read_memo("phase", "idle", "moved", "listed", "truncated")
    phase = memo.integer("phase", 0, len(phases) - 1) if memo else 0
    idle = memo.integer("idle", 0, len(phases)) if memo else 0
    moved = memo.flag("moved") if memo else False
    operators = Operators(state, tracker, max_degree)
    operators.n_listed = memo.integer("listed", 0) if memo else 0
    tracker.is_truncated |= memo.flag("truncated") if memo else False
    while idle < len(phases):
        operators.list_all(KINDS[phases[phase]])
        while operators.make_best():
            moved = True
            tracker.record_move(state)
            counts = {"listed": operators.n_listed, "truncated": tracker.is_truncated}
            tracker.mark_safe_point(state, phase=phase, idle=idle, moved=moved, **counts)
            if operators.n_listed > most_listed:
                return
        # after a phase with moves all other phases are worthwhile again
        idle = idle + 1 if not (repeat and moved) else 1
        phase, moved = (phase + 1) % len(phases), False


def search_classes_from_two_graphs(
    problem: DagProblem, state: DagState, tracker: SearchTracker, **options: Any
) -> None:
    """Search in `N_STAGES` stages: if the result is dense, climb by single edges and search from the better graph.

    On dense data the insertions that gain most lead to graphs with far too many edges, so that a climb over DAGs from
    the first graph often ends higher.
    """
    if tracker.enter_stage(0):
        search_classes(state, tracker, **options)
    if tracker.stage == 0 and len(tracker.best_edges(state)) <= MOST_EDGES_PER_VARIABLE * problem.n:
        return
    if tracker.enter_stage(1):
        if not tracker.memo:
            tracker.set_aside(state)
            state.reset(problem.start)
            tracker.set_best(state)
        climb(state, tracker)
    if tracker.enter_stage(2):
        if not tracker.memo:
            tracker.recall()
            tracker.return_to_best(state)
        search_classes(state, tracker, **options)


class Operator(NamedTuple):
    """A change of the edge between two variables, and the neighbours of the head that are its parents."""

    gain: float
    tail: int
    head: int
    clique: tuple[int, ...]


class Operators:
    """The operators of one kind on a class; `state` is at one of its DAGs.

    Insertions and deletions: Chickering (2002, Optimal structure identification with greedy search, JMLR 3, theorems 15
    and 17). Reversals: Hauser and Bühlmann (2012, Characterization and greedy learning of interventional Markov
    equivalence classes, JMLR 13, section 4). Cost: one row of gains per clique of neighbours that is new.
    """

    def __init__(self, state: DagState, tracker: SearchTracker, max_degree: float | None = None):
        self.state, self._course, self.kind = state, tracker, ADD
        required = np.zeros((state.n, state.n), dtype=np.uint8)
        required[state.required[:, 1], state.required[:, 0]] = 1
        forced = ~state.unpack_allowed().T  # arcs that may not be reversed, by child and parent
        if state.groups is not None:
            forced = forced | (state.groups[:, None] != state.groups)
        self.compiled = ClassOperators(
            state.source,
            np.empty((state.n, state.n)),
            state.priority,
            compelled=(forced | (required > 0)).astype(np.uint8),
            required=required,
            bonus=state.bonus,
            most_cliques=MOST_CLIQUES,
            max_degree=state.n if max_degree is None else int(max_degree),
        )
        self.read_class()

    @property
    def n_listed(self) -> int:
        """Number of cliques that were listed since the search began."""
        return self.compiled.n_listed

    @n_listed.setter
    def n_listed(self, n_listed: int) -> None:
        self.compiled.n_listed = n_listed

    def read_class(self) -> list[int]:
        """Read the class of the present graph; return the heads whose operators may have changed."""
        return self.compiled.read_class(self.state.edges(), self.kind == REVERSE)

    # ---- lists of operators ----

    def list_all(self, kind: int) -> None:
        """List the operators of a kind at all heads."""
        self.kind = kind
        n, n_listed = self.state.n, self.n_listed
        for first in range(0, n, HEADS_PER_PREFETCH):
            self.list_heads(range(first, min(first + HEADS_PER_PREFETCH, n)))
        # a resumed search lists all heads again: these lists must not count
        self.n_listed = n_listed

    def list_heads(self, heads: Sequence[int]) -> None:
        """List the operators at some heads."""
        compiled, least = self.compiled, self._course.least_gain()

        def list_messages() -> list[FamilyMessage]:
            compiled.wanted = [{}, {}]
            for head in heads:
                compiled.list_operators(self.kind, head, least)
            scores, rows = ([(v, np.frombuffer(ids, np.int32)) for v, ids in wanted] for wanted in compiled.wanted)
            compiled.wanted = None
            return [(rows, len(rows), True), (scores, len(scores), False)]

        prefetch_families(self.state.source, list_messages)
        for head in heads:
            self._course.check()
            compiled.list_operators(self.kind, head, least)
        self._course.is_truncated |= compiled.is_truncated

    def make_best(self) -> bool:
        """Apply the best operator; return whether there is one.

        An operator that a path forbids stays in its list, since another operator may make it possible.
        """
        self.compiled.restart()
        while found := self.compiled.next_operator(self.kind, self._course.least_gain()):
            self._course.check()
            edges = self.find_edges(Operator(*found), self._course.limits.max_indegree)
            if edges is not None:
                self.state.reset(edges)
                self.list_heads(self.read_class())
                return True
        return False

    # ---- resulting DAGs ----

    def find_edges(self, operator: Operator, max_indegree: int) -> np.ndarray | None:
        """Return the arcs of a DAG that results from an operator, by head and tail; None if no such DAG gains.

        An operator may fail here if directions are constrained, or if scores differ within a class. The families of the
        operators that may come next are prefetched if counts are remote.
        """
        extended = self.compiled.extend(self.kind, *operator[1:])
        if extended is None:
            return None
        edges, changes = extended
        if any(len(after) > max(max_indegree, len(before)) for _, before, after in changes):
            return None

        def list_messages() -> list[FamilyMessage]:
            needed = [(v, after) for v, _, after in changes] + [(v, before) for v, before, _ in changes]
            following = self.compiled.following(OPERATORS_TO_PREFETCH)
            ends = self.compiled.ends_of_addition(*operator[1:])
            later = [family for one in following for family in self.compiled.ends_of_addition(*one[1:])[:1]]
            return [([*needed, *(ends + later if self.kind == ADD else [])], len(needed), True)]

        prefetch_families(self.state.source, list_messages)
        score = self.compiled.family_score
        gain = sum(score(v, after) - score(v, before) for v, before, after in changes)
        # `not >=`, since the gain is NaN if the score refuses the family before and after
        if not gain + self.state.bonus[self.kind] >= self._course.least_gain():
            return None
        return edges
