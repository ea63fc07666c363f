"""Rules R0 to R10 that orient the edges of a partial ancestral graph.

J. Zhang. On the completeness of orientation rules for causal discovery in the presence of latent confounders and
selection bias. Artificial Intelligence 172, 2008, sections 3.1 and 4. The rules have the same names there.
"""

from collections.abc import Callable, Collection, Iterable, Sequence, Set
from functools import partial
from itertools import pairwise

from pgmx.graphs.partial_ancestral import ARROW, CIRCLE, TAIL, PartialAncestralGraph

Triple = tuple[int, int, int]


#: The set that separates two variables that are not adjacent, None if none is known.
FindSeparatingSet = Callable[[int, int], Collection[int] | None]


def orient_colliders(graph: PartialAncestralGraph, colliders: Iterable[Triple]) -> None:
    """Apply R0: draw both arrowheads of the colliders (x, z, y)."""
    for x, z, y in colliders:
        graph.orient(x, z, ARROW)
        graph.orient(y, z, ARROW)


def find_colliders_by_sets(graph: PartialAncestralGraph, find_separating_set: FindSeparatingSet) -> list[Triple]:
    """Return the unshielded triples (x, z, y) with z outside of the separating set of x and y."""
    triples = []
    for x, z, y in graph.list_unshielded_triples():
        separating_set = find_separating_set(x, y)
        if separating_set is not None and z not in separating_set:
            triples.append((x, z, y))
    return triples


class PagRules:
    """Rules R1 to R10, applied to a graph until none of them applies.

    `ambiguous` holds unshielded triples (x, z, y), x < y, of which it is unknown whether z is a collider. R5 to R7
    apply with `selection_bias` only. `break_path` is asked about each discriminating path before R4 uses the path; if
    true, it has removed an edge of the path.
    """

    def __init__(
        self,
        graph: PartialAncestralGraph,
        find_separating_set: FindSeparatingSet,
        *,
        ambiguous: Set[Triple] = frozenset(),
        selection_bias: bool = True,
        break_path: Callable[[Sequence[int]], bool] | None = None,
    ) -> None:
        self._graph = graph
        self._find_separating_set = find_separating_set
        self._ambiguous = ambiguous
        self._selection_bias = selection_bias
        self._break_path = break_path

    def close(self) -> None:
        """Apply all rules until none applies: arrowheads first, then tails."""
        graph = self._graph
        graph.relist_marks()
        while True:
            self._apply_local_rules()
            self._apply_discriminating_paths()
            if not graph.new_marks and self._selection_bias:
                self._apply_circle_cycles()
            if not graph.new_marks:
                self._apply_tail_rules()
            if not graph.new_marks:
                return

    def _is_noncollider(self, a: int, b: int, c: int) -> bool:
        """Return whether b is between a and c, which are not adjacent, and R0 did not find a collider."""
        return a != c and c not in self._graph.marks[a] and (min(a, c), b, max(a, c)) not in self._ambiguous

    # ---- rules of two and three edges ----

    def _apply_local_rules(self) -> None:
        """Apply R1 to R3, R6 and R7 to each mark that is new. They apply only after one of their marks was drawn."""
        new_marks = self._graph.new_marks
        while new_marks:
            u, v = new_marks.pop()
            mark = self._graph.marks[u].get(v)  # None: the edge was removed
            if mark == ARROW:
                self._apply_arrow_rules(u, v)
            elif mark == TAIL:
                self._apply_second_chain(v, u)
                if self._selection_bias:
                    self._apply_selection_rules(u, v)

    def _apply_arrow_rules(self, a: int, b: int) -> None:
        """Apply R1, R2 and R3 with a *→ b."""
        graph, marks = self._graph, self._graph.marks
        for c in sorted(marks[b]):
            # R1: a *→ b o-* c, a and c not adjacent: b → c
            if marks[c][b] == CIRCLE and self._is_noncollider(a, b, c):
                graph.orient(c, b, TAIL)
                graph.orient(b, c, ARROW)
            if c not in marks[a]:
                continue
            # R2: a → b *→ c or a *→ b → c, and a *-o c: a *→ c; here a *→ b is the first edge
            if marks[b][c] == ARROW and TAIL in (marks[b][a], marks[c][b]):
                graph.orient(a, c, ARROW)
            # R2 with a *→ b as the second edge of c, a, b
            if marks[c][a] == ARROW and TAIL in (marks[a][c], marks[b][a]):
                graph.orient(c, b, ARROW)
            # R3: a *→ b ←* d, a *-o c o-* d, a and d not adjacent, c *-o b: c *→ b
            if (
                marks[c][b] == CIRCLE
                and marks[a][c] == CIRCLE
                and any(
                    marks[d][b] == ARROW and marks[d].get(c) == CIRCLE and self._is_noncollider(a, c, d)
                    for d in marks[b]
                )
            ):
                graph.orient(c, b, ARROW)

    def _apply_second_chain(self, a: int, b: int) -> None:
        """Apply R2 with the tail at a of the edge between a and b."""
        graph, marks = self._graph, self._graph.marks
        if marks[a][b] != ARROW:
            return
        for c in sorted(marks[a].keys() & marks[b].keys()):
            if marks[b][c] == ARROW:  # a → b *→ c
                graph.orient(a, c, ARROW)
            if marks[c][a] == ARROW:  # c *→ a → b
                graph.orient(c, b, ARROW)

    def _apply_selection_rules(self, b: int, a: int) -> None:
        """Apply R6 and R7 with the tail at a of the edge between a and b."""
        graph, marks = self._graph, self._graph.marks
        if marks[a][b] == TAIL:  # R6: a - b o-* c: b -* c, and the same with a and b exchanged
            for end in (a, b):
                for c in sorted(marks[end]):
                    graph.orient(c, end, TAIL)
        elif marks[a][b] == CIRCLE:  # R7: a -o b o-* c, a and c not adjacent: b -* c
            for c in sorted(marks[b]):
                if self._is_noncollider(a, b, c):
                    graph.orient(c, b, TAIL)

    # ---- R4 ----

    def _apply_discriminating_paths(self) -> None:
        """Apply R4 to each circle at the end of a discriminating path."""
        graph, marks = self._graph, self._graph.marks
        for b in range(graph.n):
            for c in sorted(marks[b]):
                if marks[c].get(b) != CIRCLE:  # the edge may have been removed
                    continue
                path = self._find_discriminating_path(b, c)
                separating_set = None if path is None else self._find_separating_set(path[0], c)
                if path is None or separating_set is None:
                    continue
                if self._break_path is not None and self._break_path(path):
                    graph.relist_marks()
                    return
                if b in separating_set:
                    graph.orient(c, b, TAIL)
                else:
                    a = path[-3]
                    graph.orient(b, a, ARROW)
                    graph.orient(a, b, ARROW)
                    graph.orient(c, b, ARROW)
                graph.orient(b, c, ARROW)

    def _find_discriminating_path(self, b: int, c: int) -> list[int] | None:
        """Return a shortest path d, ..., a, b, c whose vertices between d and b are colliders and parents of c.

        The first vertex d is not adjacent to c. Paths are searched from b, breadth first.
        """
        marks = self._graph.marks
        following: dict[int, int] = {b: c}
        waiting = [b]
        for v in waiting:  # grows meanwhile
            for u in sorted(marks[v]):
                if u in following or u == c or (v != b and marks[u][v] != ARROW):
                    continue
                if u not in marks[c]:
                    if v != b:
                        path = [u, v]
                        while path[-1] != c:
                            path.append(following[path[-1]])
                        return path
                elif marks[v][u] == ARROW and marks[u][c] == ARROW and marks[c][u] == TAIL:
                    following[u] = v
                    waiting.append(u)
        return None

    # ---- tails ----

    def _apply_circle_cycles(self) -> None:
        """Apply R5: the edges of a cycle of circles, uncovered at all of its vertices, are undirected."""
        graph, marks = self._graph, self._graph.marks
        for a in range(graph.n):
            for b in sorted(v for v in marks[a] if v > a):
                for c in sorted(marks[a]):
                    if not graph.has_circles(a, b):
                        break
                    if c == b or not self._is_noncollider(b, a, c):
                        continue
                    path = graph.find_uncovered_path(a, c, b, partial(self._is_in_cycle, a, b))
                    if path is not None:
                        for u, v in pairwise([*path, a]):
                            graph.orient(u, v, TAIL)
                            graph.orient(v, u, TAIL)

    def _is_in_cycle(self, a: int, b: int, u: int, v: int) -> bool:
        """Return whether an edge may be on a path of circles from a to b that closes a cycle with b, a."""
        return self._graph.has_circles(u, v) and (v != b or self._is_noncollider(u, b, a))

    def _apply_tail_rules(self) -> None:
        """Apply R8, R9 and R10 to each a o→ c: they draw a tail at a.

        The tail does not change which edges are potentially directed, so each path is searched once.
        """
        graph, marks = self._graph, self._graph.marks
        for a in range(graph.n):
            for c in sorted(marks[a]):
                if (
                    marks[c][a] == CIRCLE
                    and marks[a][c] == ARROW
                    and (self._has_chain(a, c) or self._has_path(a, c) or self._has_two_paths(a, c))
                ):
                    graph.orient(c, a, TAIL)

    def _has_chain(self, a: int, c: int) -> bool:
        """Return whether R8 applies: a → b → c or a -o b → c."""
        marks = self._graph.marks
        return any(
            marks[b][a] == TAIL and marks[a][b] != TAIL and marks[b][c] == ARROW and marks[c][b] == TAIL
            for b in marks[a].keys() & marks[c].keys()
        )

    def _has_path(self, a: int, c: int) -> bool:
        """Return whether R9 applies: an uncovered potentially directed path a, b, ..., c, b and c not adjacent."""
        return any(
            self._is_noncollider(c, a, b) and self._find_directed_path(a, b, c) is not None
            for b in sorted(self._graph.marks[a])
        )

    def _has_two_paths(self, a: int, c: int) -> bool:
        """Return whether R10 applies: b → c ← d, and potentially directed paths to b and d that start apart from a."""
        marks = self._graph.marks
        parents = sorted(b for b in marks[c] if b != a and marks[b][c] == ARROW and marks[c][b] == TAIL)
        if len(parents) < 2:
            return False
        firsts = [
            [m for m in sorted(marks[a]) if m != c and self._find_directed_path(a, m, b) is not None] for b in parents
        ]
        return any(
            self._is_noncollider(m, a, w)
            for k, of_b in enumerate(firsts)
            for of_d in firsts[k + 1 :]
            for m in of_b
            for w in of_d
        )

    def _find_directed_path(self, a: int, second: int, goal: int) -> list[int] | None:
        return self._graph.find_uncovered_path(a, second, goal, self._leads)

    def _leads(self, u: int, v: int) -> bool:
        return self._graph.may_lead(u, v)
