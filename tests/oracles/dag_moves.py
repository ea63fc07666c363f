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

    def children_of(self, parent):
        return sorted(head for tail, head in self.edge_set if tail == parent)

    def covered_edges(self):
        """Return the edges x -> y for which the parents of y are those of x and x itself."""
        return [(x, y) for x, y in self.edges() if set(self.parents_of(y)) == {*self.parents_of(x), x}]

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

    def offered_moves(self):
        """Return {move: gain} of the legal moves but the additions that gain too little."""
        return {
            (op, tail, head): self.gain(op, tail, head)
            for op, tail, head in self.legal_moves()
            if op != ADD or self.gains[head, tail] >= self.least
        }

    def best(self):
        offered = [
            (-gain, op, self.priority[head], self.priority[tail], tail, head)
            for (op, tail, head), gain in self.offered_moves().items()
            if gain > -math.inf
        ]
        if not offered:
            return None
        loss, op, _, _, tail, head = min(offered)
        return op, tail, head, -loss

    def draw(self, temperature, n_draws, random):
        """Return (op, tail, head, gain, draws made) of the first move that is accepted, op -1 for none.

        `random` gives a tail, a head other than it, a coin, and a number for a move that loses, in this order.
        """
        for made in range(1, n_draws + 1) if self.n > 1 else ():
            tail = int(random.uniform() * self.n)
            head = int(random.uniform() * (self.n - 1))
            head += head >= tail
            turned = random.uniform() < 0.5
            if (head, tail) in self.edge_set:
                tail, head = head, tail
            op = ADD if (tail, head) not in self.edge_set else REVERSE if turned else DELETE
            if not self.is_legal(op, tail, head):
                continue
            gain = self.gain(op, tail, head)
            if gain > -math.inf and (gain >= 0 or gain >= temperature * math.log(1.0 - random.uniform())):
                return op, tail, head, gain, made
        return -1, -1, -1, 0.0, n_draws

    def apply(self, op, tail, head):
        self.edge_set = self.after(op, tail, head)
        self.tabu.append((INVERSE[op], tail, head))

    def insert_edge(self, tail, head):
        self.edge_set.add((tail, head))

    def delete_edge(self, tail, head):
        self.edge_set.remove((tail, head))

    def tabu_moves(self):
        return list(self.tabu)

    def bar_moves(self, moves):
        self.tabu.extend(moves)

    def clear_tabu(self):
        any_barred = bool(self.tabu)
        self.tabu.clear()
        return any_barred
