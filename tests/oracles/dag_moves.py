"""The moves of a search over directed acyclic graphs, written for reading and not for speed.

:class:`SlowDagMoves` has the methods of the compiled ``DagMoves``. The graph is a set of (tail, head) pairs; every
question lists all moves there are and asks of each whether it is legal, with a depth-first walk for cycles.
"""

import itertools
import math
from collections import deque

from oracles.graphs import is_acyclic

ADD, DELETE, REVERSE = range(3)  # in the order in which ties prefer them
INVERSE = {ADD: DELETE, DELETE: ADD, REVERSE: REVERSE}


class SlowDagMoves:
    """A set of edges and its legal moves.

    ``gains[child, u]`` is the gain of deleting u where it is a parent, of adding it otherwise; -inf bars an addition,
    and so does a gain below ``floor - bonus[ADD]``. A reversal gains what its deletion and its addition gain. The
    inverses of the last ``tabu_length`` moves are barred; a barred reversal bars the opposite one too. Ties go to the
    smaller operation, then the head, then the tail that come first in ``priority``.
    """

    def __init__(self, gains, priority, *, max_indegree, floor=0.0, tabu_length=0, required=(), bonus=(0.0, 0.0, 0.0)):
        self.n = len(priority)
        self.gains = gains
        self.priority = priority
        self.max_indegree = max_indegree
        self.least = floor - bonus[ADD]
        self.bonus = bonus
        self.required = {(int(tail), int(head)) for tail, head in required}
        self.tabu = deque(maxlen=tabu_length)
        self.edge_set = set()

    def edges(self):
        return sorted(self.edge_set, key=lambda edge: (edge[1], edge[0]))

    def parents_of(self, child):
        return sorted(tail for tail, head in self.edge_set if head == child)

    def after(self, op, tail, head):
        """Return the edges that the move leads to."""
        edges = set(self.edge_set)
        if op != ADD:
            edges.remove((tail, head))
        if op != DELETE:
            edges.add((tail, head) if op == ADD else (head, tail))
        return edges

    def gain(self, op, tail, head):
        there, back = float(self.gains[head, tail]), float(self.gains[tail, head])
        return (there + back if op == REVERSE else there) + self.bonus[op]

    def is_legal(self, op, tail, head):
        if tail == head or ((tail, head) in self.edge_set) != (op != ADD):
            return False
        if (op, tail, head) in self.tabu or (op == REVERSE and (op, head, tail) in self.tabu):
            return False
        if op != ADD and (tail, head) in self.required:
            return False
        if op == DELETE:
            return True
        new_tail, new_head = (tail, head) if op == ADD else (head, tail)
        if self.gains[new_head, new_tail] == -math.inf or len(self.parents_of(new_head)) >= self.max_indegree:
            return False
        return is_acyclic(self.after(op, tail, head))

    def legal_moves(self):
        moves = itertools.product((ADD, DELETE, REVERSE), range(self.n), range(self.n))
        return [move for move in moves if self.is_legal(*move)]

    def best(self):
        offered = []
        for op, tail, head in self.legal_moves():
            gain = self.gain(op, tail, head)
            if gain == -math.inf or (op == ADD and self.gains[head, tail] < self.least):
                continue
            offered.append((-gain, op, self.priority[head], self.priority[tail], tail, head))
        if not offered:
            return None
        loss, op, _, _, tail, head = min(offered)
        return op, tail, head, -loss

    def apply(self, op, tail, head):
        self.edge_set = self.after(op, tail, head)
        self.tabu.append((INVERSE[op], tail, head))

    def insert_edge(self, tail, head):
        self.edge_set.add((tail, head))

    def clear_tabu(self):
        any_barred = bool(self.tabu)
        self.tabu.clear()
        return any_barred
