"""Greedy search over equivalence classes of directed acyclic graphs, phase by phase.

An operator changes the edge between `tail` and `head`. Consider the graphs of the class in which, among the neighbours
of the head (by undirected edges), exactly those in `clique` are its parents. In one of these graphs the arc
tail → head is added, deleted, or obtained by reversing head → tail. The gain is the same in all of them if equivalent
graphs have equal scores.
"""

from collections.abc import Collection, Iterable, Iterator, Sequence
from heapq import heappop, heappush, nsmallest
from math import inf
from typing import NamedTuple

import numpy as np

from pgmx._ext._dag_moves import ADD, DELETE, REVERSE
from pgmx.graphs.cycles import find_cycle
from pgmx.graphs.partial_dag import PartialDag
from pgmx.scores.gains import FamilyMessage, prefetch_families
from pgmx.search.dag.state import DagState
from pgmx.search.dag.tracker import SearchTracker

#: Operators of each phase.
KINDS = {"forward": ADD, "backward": DELETE, "turning": REVERSE}

#: Most cliques of neighbours that are listed for one head, the smallest first: there can be 2^k of k neighbours.
MOST_CLIQUES = 2048

#: Heads whose families are prefetched together if counts are remote, and operators that are expected next.
HEADS_PER_PREFETCH, OPERATORS_TO_PREFETCH = 64, 4


def search_classes(
    state: DagState, tracker: SearchTracker, *, phases: Sequence[str], repeat: bool, most_listed: float = inf
) -> None:
    """Apply the best operator of a phase until none gains, then continue with the next phase.

    With `repeat` the phases are repeated until none of them finds a better class. `state` moves from a DAG of one class
    to a DAG of the next. The search ends after the move for which more than `most_listed` cliques were listed in all.
    Reference: Chickering (2002), section 4.
    """
    memo = tracker.read_memo("phase", "idle", "moved", "listed", "truncated")
    phase = memo.integer("phase", 0, len(phases) - 1) if memo else 0
    idle = memo.integer("idle", 0, len(phases)) if memo else 0
    moved = memo.flag("moved") if memo else False
    operators = Operators(state, tracker)
    operators.n_listed = memo.integer("listed", 0) if memo else 0
    tracker.is_truncated |= memo.flag("truncated") if memo else False
    while idle < len(phases):
        queue = OperatorQueue(operators, KINDS[phases[phase]], tracker)
        while queue.make_best():
            moved = True
            tracker.record_move(state)
            counts = {"listed": operators.n_listed, "truncated": tracker.is_truncated}
            tracker.mark_safe_point(state, phase=phase, idle=idle, moved=moved, **counts)
            if operators.n_listed > most_listed:
                return
        # after a phase with moves all other phases are worthwhile again
        idle = idle + 1 if not (repeat and moved) else 1
        phase, moved = (phase + 1) % len(phases), False


class Operator(NamedTuple):
    """A change of the edge between two variables, and the neighbours of the head that are its parents."""

    gain: float
    kind: int
    tail: int
    head: int
    clique: frozenset[int]


class Operators:
    """The operators of one class, given by `graph`; `state` is at one of its DAGs.

    Insertions and deletions: Chickering (2002, Optimal structure identification with greedy search, JMLR 3, theorems 15
    and 17). Reversals: Hauser and Bühlmann (2012, Characterization and greedy learning of interventional Markov
    equivalence classes, JMLR 13, section 4). Cost: one row of gains per clique of neighbours that is new.
    """

    def __init__(self, state: DagState, tracker: SearchTracker):
        self.state, self._course = state, tracker
        self._rows = np.empty((state.n, state.n))
        self._scores: dict[tuple[int, bytes], float] = {}
        self._expected: list[dict[tuple[int, bytes], np.ndarray]] | None = None  # families of scores, and of rows
        allowed = state.unpack_allowed()
        self._forced = ~allowed.T  # arcs that may not be reversed, by child and parent
        self._required = np.zeros((state.n, state.n), dtype=bool)
        self._required[state.required[:, 1], state.required[:, 0]] = True
        self.n_listed = 0
        self.read_class()

    def read_class(self) -> None:
        """Read the class of the present graph."""
        edges = self.state.edges()
        known = (self._forced | self._required)[edges[:, 1], edges[:, 0]]
        self.graph = PartialDag.from_dag(self.state.n, edges.tolist(), edges[known].tolist())

    # ---- lists of operators ----

    def prefetch_operators(self, kind: int, heads: Sequence[int]) -> None:
        """Prefetch the families that `list_operators` needs for some heads, if counts are remote."""

        def list_messages() -> list[FamilyMessage]:
            self._expected = [{}, {}]
            for head in heads:
                self.list_operators(kind, head)
            scores, rows = ([(child, ids) for (child, _), ids in of_kind.items()] for of_kind in self._expected)
            self._expected = None
            return [(rows, len(rows), True), (scores, len(scores), False)]

        prefetch_families(self.state.source, list_messages)

    def list_operators(self, kind: int, head: int) -> list[Operator]:
        """Return the operators at a head that gain enough, the best first; paths are not checked yet."""
        listing = {ADD: self._list_insertions, DELETE: self._list_deletions, REVERSE: self._list_reversals}
        rank, least = self.state.priority, self._course.least_gain()
        # ties: by the tail, smaller cliques first, then their ids, so that the order of sets has no effect
        return sorted(
            (operator for operator in listing[kind](head) if operator.gain >= least),
            key=lambda o: (-o.gain, rank[o.tail], len(o.clique), sorted(o.clique)),
        )

    def _list_insertions(self, head: int) -> list[Operator]:
        graph, operators, least = self.graph, list[Operator](), self._course.least_gain()
        for clique in self._list_cliques(graph.neighbours[head]):
            row = self._compute_row(head, graph.parents[head] | clique)
            if row is None:
                continue
            gains = row + self.state.bonus[ADD]
            # the clique must contain all neighbours of the head that are adjacent to the tail (theorem 15)
            excluded = set().union(graph.adjacent[head], *(graph.adjacent[v] for v in graph.neighbours[head] - clique))
            for tail in np.flatnonzero(gains >= least).tolist():
                if tail not in excluded:
                    operators.append(Operator(float(gains[tail]), ADD, tail, head, clique))
        return operators

    def _list_deletions(self, head: int) -> list[Operator]:
        graph, operators = self.graph, list[Operator]()
        for tail in sorted(graph.parents[head] | graph.neighbours[head]):
            if self._required[head, tail] or self._required[tail, head]:
                continue
            for clique in self._list_cliques(graph.neighbours[head] & graph.adjacent[tail]):
                others = (graph.parents[head] | clique) - {tail}
                gain = self._score(head, others) - self._score(head, others | {tail}) + self.state.bonus[DELETE]
                operators.append(Operator(gain, DELETE, tail, head, clique))
        return operators

    def _list_reversals(self, head: int) -> list[Operator]:
        graph, operators = self.graph, list[Operator]()
        arrows, edges = graph.children[head], graph.neighbours[head]
        if not arrows and not edges:
            return operators
        for clique in self._list_cliques(graph.neighbours[head]):
            row = self._compute_row(head, graph.parents[head] | clique)
            if row is None:
                continue
            for tail in sorted(arrows | (edges - clique)):
                if self._required[tail, head]:
                    continue
                common = edges & graph.adjacent[tail]
                if tail in arrows:
                    if not common <= clique:
                        continue
                    before = graph.parents[tail]
                else:
                    if clique <= common or not self._separates(head, clique, common):
                        continue
                    before = graph.parents[tail] | (clique & common) | {head}
                gain = row[tail] + self._score(tail, before - {head}) - self._score(tail, before)
                operators.append(Operator(float(gain + self.state.bonus[REVERSE]), REVERSE, tail, head, clique))
        return operators

    def _list_cliques(self, variables: Collection[int]) -> Iterator[frozenset[int]]:
        """Yield the cliques of some variables, small ones first, at most `MOST_CLIQUES`."""
        for number, clique in enumerate(self.graph.list_cliques(variables)):
            if number == MOST_CLIQUES:
                self._course.is_truncated = True
                return
            self.n_listed += 1
            yield clique

    def _separates(self, head: int, clique: frozenset[int], common: set[int]) -> bool:
        """Return whether the head's neighbours in the clique and in `common` separate all its other neighbours."""
        inside, both = self.graph.neighbours[head], clique & common
        seen = set(clique)
        waiting = list(clique - common)
        while waiting:
            onward = (self.graph.adjacent[waiting.pop()] & inside) - seen
            if onward & (common - both):
                return False
            seen |= onward
            waiting.extend(onward)
        return True

    def _compute_row(self, head: int, parents: Collection[int]) -> np.ndarray | None:
        """Return the gain of each further parent; None if the score does not accept the family."""
        ids = _sort_ids(parents)
        if self._expected is not None:
            self._expected[1][head, ids.tobytes()] = ids
            return np.zeros(self.state.n)
        try:
            self.state.source.rescore(head, ids, self._rows)
        except ValueError:
            return None
        return self._rows[head]

    def _score(self, child: int, parents: Collection[int]) -> float:
        ids = _sort_ids(parents)
        key = child, ids.tobytes()
        if key not in self._scores:
            if self._expected is not None:
                self._expected[0][key] = ids
                return 0.0
            try:
                self._scores[key] = self.state.source.family_score(child, ids)
            except ValueError:
                # the score refuses the family, for instance collinear parents
                self._scores[key] = -np.inf
        return self._scores[key]

    # ---- resulting DAGs ----

    def keeps_acyclic(self, operator: Operator) -> bool:
        """Return whether no path would close a cycle."""
        _, kind, tail, head, clique = operator
        if kind == ADD:
            return not self.graph.has_path(head, tail, clique)
        if kind == REVERSE and tail in self.graph.children[head]:
            return not self.graph.has_path(head, tail, clique | self.graph.neighbours[tail], without=(head, tail))
        return True

    def find_edges(
        self, operator: Operator, max_indegree: int, following: Sequence[Operator] = ()
    ) -> np.ndarray | None:
        """Return the arcs of a DAG that results from an operator, by head and tail; None if no such DAG gains.

        An operator may fail here if directions are constrained, or if scores differ within a class. The families of the
        operators `following`, which may come next, are prefetched if counts are remote.
        """
        before = self._read_parents()
        after = self._extend(operator, before)
        if operator.kind == REVERSE:
            after[operator.tail].discard(operator.head)
        if operator.kind == DELETE:
            after[operator.head].discard(operator.tail)
        else:
            after[operator.head].add(operator.tail)
        changes = [v for v in range(len(after)) if after[v] != before[v]]
        if any(len(after[v]) > max(max_indegree, len(before[v])) for v in changes):
            return None

        def list_messages() -> list[FamilyMessage]:
            needed = [(v, _sort_ids(parents[v])) for parents in (after, before) for v in changes]
            later = [family for one in following for family in self._list_insertion(one)[:1]]
            return [([*needed, *self._list_insertion(operator), *later], len(needed), True)]

        prefetch_families(self.state.source, list_messages)
        gain = sum(self._score(v, after[v]) - self._score(v, before[v]) for v in changes)
        # `not >=`, since the gain is NaN if the score refuses the family before and after
        if not gain + self.state.bonus[operator.kind] >= self._course.least_gain():
            return None
        edges = [(tail, head) for head in range(len(after)) for tail in sorted(after[head])]
        if find_cycle(len(after), edges) is not None:
            return None
        return np.array(edges, dtype=np.int64).reshape(-1, 2)

    def _list_insertion(self, operator: Operator) -> list[tuple[int, np.ndarray]]:
        """Return the families of both ends of an inserted edge, each with the other as a parent."""
        _, kind, tail, head, clique = operator
        parents = self.graph.parents
        ends = [(head, parents[head] | clique | {tail}), (tail, parents[tail] | {head})] if kind == ADD else []
        return [(child, _sort_ids(of_child)) for child, of_child in ends]

    def _read_parents(self) -> list[set[int]]:
        return [set(self.state.moves.parents_of(v).tolist()) for v in range(self.state.n)]

    def _extend(self, operator: Operator, preferred: list[set[int]]) -> list[set[int]]:
        """Return the parents in a DAG of the class in which, of the head's neighbours, exactly the clique are parents.

        The tail of a reversal comes before its neighbours, but after the clique and the head.
        """
        _, kind, tail, head, clique = operator
        graph = self.graph.copy()
        earlier = clique | {tail} if kind == DELETE else clique
        for v in sorted(self.graph.neighbours[head]):
            graph.orient(*((v, head) if v in earlier else (head, v)))
        if kind == REVERSE:
            for v in sorted(self.graph.neighbours[tail]):
                is_parent = v in clique and v in self.graph.neighbours[head]
                graph.orient(*((v, tail) if is_parent else (tail, v)))
        graph.close()
        graph.extend(preferred)
        return graph.parents


def _sort_ids(variables: Collection[int]) -> np.ndarray:
    return np.array(sorted(variables), dtype=np.int32)


class OperatorQueue:
    """The operators of one kind by gain; after an operator is applied, only operators near it are listed again.

    A heap contains the best unchecked operator of each head (the effect edges of Ramsey, Glymour, Sanchez-Romero and
    Glymour, 2017, A million variables and more, International Journal of Data Science and Analytics 3). An operator
    that a path forbids is kept, since another operator may make it possible.
    """

    def __init__(self, operators: Operators, kind: int, tracker: SearchTracker):
        self._operators, self._kind, self._course = operators, kind, tracker
        n = operators.state.n
        self._lists: list[list[Operator]] = [[] for _ in range(n)]
        self._next = [0] * n
        self._version = [0] * n
        self._rank = operators.state.priority.tolist()
        self._heap: list[tuple] = []
        # A resumed search lists all heads again: these lists must not count.
        n_listed = operators.n_listed
        for first in range(0, n, HEADS_PER_PREFETCH):
            operators.prefetch_operators(kind, range(first, min(first + HEADS_PER_PREFETCH, n)))
            for head in range(first, min(first + HEADS_PER_PREFETCH, n)):
                tracker.check()
                self._list([head])
        operators.n_listed = n_listed

    def make_best(self) -> bool:
        """Apply the best operator; return whether there is one."""
        waiting, made = [], False
        least = self._course.least_gain()
        while self._heap and not made:
            self._course.check()
            entry = heappop(self._heap)
            gain, _, head, version, position = entry
            # an entry of an older list, which stays in the heap until it is reached
            if version != self._version[head]:
                continue
            if -gain < least:
                heappush(self._heap, entry)
                break
            # the list of a head is sorted, so that one entry at a time represents it in the heap
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
        if not operators.keeps_acyclic(operator):
            return False
        edges = operators.find_edges(operator, self._course.limits.max_indegree, self._list_following())
        if edges is None:
            return False
        before = operators.graph
        operators.state.reset(edges)
        operators.read_class()
        changes = find_changes(before, operators.graph)
        operators.prefetch_operators(self._kind, changes)
        self._list(changes)
        return True

    def _list_following(self) -> list[Operator]:
        """Return the best operators of the heap, which may come next."""
        entries = nsmallest(OPERATORS_TO_PREFETCH, self._heap)
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
