"""The greedy search over equivalence classes, phase by phase."""

from collections.abc import Iterable, Sequence
from heapq import heappop, heappush, nsmallest

from pgmx._ext._dag_moves import ADD, DELETE, REVERSE
from pgmx.graphs.partial_dag import PartialDag
from pgmx.search.dag.course import Course
from pgmx.search.dag.equivalence.operators import Operator, Operators
from pgmx.search.dag.state import DagState

#: Operators of each phase.
KINDS = {"forward": ADD, "backward": DELETE, "turning": REVERSE}

#: Heads whose families are prefetched together if counts are remote, and operators that are expected next.
HEADS_AHEAD, OPERATORS_AHEAD = 64, 4


def search_classes(state: DagState, course: Course, *, phases: Sequence[str], repeat: bool) -> None:
    """Apply the best operator of a phase until none gains, then continue with the next phase.

    With `repeat` the phases are repeated until none of them finds a better class. `state` moves from a DAG of one class
    to a DAG of the next. Reference: Chickering (2002), section 4.
    """
    memo = course.read_memo("phase", "idle", "moved")
    phase = memo.integer("phase", 0, len(phases) - 1) if memo else 0
    idle = memo.integer("idle", 0, len(phases)) if memo else 0
    moved = memo.flag("moved") if memo else False
    operators = Operators(state, course)
    while idle < len(phases):
        queue = OperatorQueue(operators, KINDS[phases[phase]], course)
        while queue.make_best():
            moved = True
            course.record_move(state)
            course.mark_safe(state, phase=phase, idle=idle, moved=moved)
        idle = idle + 1 if not (repeat and moved) else 1
        phase, moved = (phase + 1) % len(phases), False


class OperatorQueue:
    """The operators of one kind by gain; after an operator is applied, only operators near it are listed again.

    A heap contains the best unchecked operator of each head (the effect edges of Ramsey, Glymour, Sanchez-Romero and
    Glymour, 2017, A million variables and more, International Journal of Data Science and Analytics 3). An operator
    that a path forbids is kept, since another operator may make it possible.
    """

    def __init__(self, operators: Operators, kind: int, course: Course):
        self._operators, self._kind, self._course = operators, kind, course
        n = operators.state.n
        self._lists: list[list[Operator]] = [[] for _ in range(n)]
        self._next = [0] * n
        self._version = [0] * n
        self._rank = operators.state.priority.tolist()
        self._heap: list[tuple] = []
        for first in range(0, n, HEADS_AHEAD):
            operators.expect_operators(kind, range(first, min(first + HEADS_AHEAD, n)))
            for head in range(first, min(first + HEADS_AHEAD, n)):
                course.check()
                self._list([head])

    def make_best(self) -> bool:
        """Apply the best operator; return whether there is one."""
        waiting, made = [], False
        least = self._course.least_gain()
        while self._heap and not made:
            self._course.check()
            entry = heappop(self._heap)
            gain, _, head, version, position = entry
            if version != self._version[head]:
                continue
            if -gain < least:
                heappush(self._heap, entry)
                break
            if position == self._next[head]:
                self._next[head] += 1
                self._push(head)
            made = self._make(self._lists[head][position])
            if not made:
                waiting.append(entry)
        for entry in waiting:
            heappush(self._heap, entry)
        return made

    def _make(self, operator: Operator) -> bool:
        operators = self._operators
        if not operators.is_open(operator):
            return False
        edges = operators.find_edges(operator, self._course.limits.max_indegree, self._list_following())
        if edges is None:
            return False
        before = operators.graph
        operators.state.reset(edges)
        operators.read_class()
        changes = find_changes(before, operators.graph)
        operators.expect_operators(self._kind, changes)
        self._list(changes)
        return True

    def _list_following(self) -> list[Operator]:
        """Return the best operators of the heap, which may come next."""
        entries = nsmallest(OPERATORS_AHEAD, self._heap)
        return [self._lists[head][at] for _, _, head, version, at in entries if version == self._version[head]]

    def _list(self, heads: Iterable[int]) -> None:
        for head in heads:
            self._lists[head] = self._operators.list_operators(self._kind, head)
            self._next[head] = 0
            self._version[head] += 1
            self._push(head)

    def _push(self, head: int) -> None:
        position = self._next[head]
        if position < len(self._lists[head]):
            gain = self._lists[head][position].gain
            heappush(self._heap, (-gain, self._rank[head], head, self._version[head], position))


def find_changes(before: PartialDag, after: PartialDag) -> list[int]:
    """Return the variables whose operators may have changed: variables with changed edges, and their neighbours."""
    changes = {
        v
        for v in range(after.n)
        if before.neighbours[v] != after.neighbours[v]
        or before.parents[v] != after.parents[v]
        or before.children[v] != after.children[v]
    }
    return sorted(changes.union(*(after.adjacent[v] | before.adjacent[v] for v in changes)))
