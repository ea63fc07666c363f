"""The compiled move queue and its slow twin, and random problems for the two."""

import itertools
import math

import numpy as np
from hypothesis import strategies as st

from oracles.dag_moves import SlowDagMoves
from oracles.graphs import is_acyclic
from pgmx._ext._dag_moves import ADD, DELETE, REVERSE, DagMoves


def drawn_gains(rng, n, spread, share_barred):
    """Return small integers, so that many tie and sums are exact; a share of them is -inf."""
    gains = rng.integers(-spread, spread + 1, (n, n)).astype(float)
    gains[rng.random((n, n)) < share_barred] = -np.inf
    np.fill_diagonal(gains, -np.inf)
    return gains


def random_dag(rng, n, n_edges):
    """Return edges of a DAG whose order is not that of the ids."""
    order = rng.permutation(n)
    pairs = [(int(order[i]), int(order[j])) for i, j in itertools.combinations(range(n), 2)]
    return [pairs[i] for i in rng.permutation(len(pairs))[:n_edges]]


class Pair:
    """The compiled queue and its slow twin, moved together."""

    def __init__(self, rng, gains, *, start=(), required=(), **options):
        n = len(gains)
        self.rng, self.n, self.gains = rng, n, gains
        priority = rng.permutation(n)
        self.slow = SlowDagMoves(gains, priority.tolist(), required=required, **options)
        required = np.array(required, dtype=np.int64).reshape(-1, 2) if len(required) else None
        self.fast = DagMoves(gains, priority.astype(np.int64), required=required, **options)
        for tail, head in start:
            self.slow.insert_edge(tail, head)
            self.fast.insert_edge(tail, head)
        self.fast.refresh_all()

    def check(self):
        assert [tuple(edge) for edge in self.fast.edges().tolist()] == self.slow.edges()
        assert self.fast.n_edges == len(self.slow.edge_set)
        assert is_acyclic(self.slow.edge_set)
        for child in range(self.n):
            assert self.fast.parents_of(child).tolist() == self.slow.parents_of(child)
        assert self.fast.best() == self.slow.best()

    def check_legality(self):
        moves = itertools.product((ADD, DELETE, REVERSE), range(self.n), range(self.n))
        for op, tail, head in moves:
            assert self.fast.is_legal(op, tail, head) == self.slow.is_legal(op, tail, head), (op, tail, head)

    def make(self, op, tail, head, new_row):
        """Make the move; the children it changes get new gains."""
        self.slow.apply(op, tail, head)
        self.fast.apply(op, tail, head)
        for child in (head, tail) if op == REVERSE else (head,):
            self.gains[child] = new_row(child)
            self.fast.refresh(child)

    def clear_tabu(self):
        assert self.fast.clear_tabu() == self.slow.clear_tabu()


@st.composite
def problems(draw):
    rng = np.random.default_rng(draw(st.integers(0, 2**30), label="seed"))
    n = draw(st.integers(1, 7), label="n")
    spread = draw(st.sampled_from([0, 1, 2, 5]), label="spread")
    barred = draw(st.sampled_from([0.0, 0.1, 0.5]), label="barred")
    edges = random_dag(rng, n, draw(st.integers(0, n), label="edges"))
    options = {
        "start": edges,
        "required": edges[: draw(st.integers(0, len(edges)), label="required")],
        "max_indegree": draw(st.sampled_from([0, 1, 2, n]), label="max_indegree"),
        "floor": draw(st.sampled_from([-math.inf, 0.0, 1.0]), label="floor"),
        "tabu_length": draw(st.sampled_from([0, 1, 3, 40]), label="tabu_length"),
        "bonus": draw(st.sampled_from([(0.0, 0.0, 0.0), (-1.0, 1.0, 0.0), (2.0, -1.0, 0.5)]), label="bonus"),
    }
    pair = Pair(rng, drawn_gains(rng, n, spread, barred), **options)

    def new_row(child):
        return drawn_gains(rng, n, spread, barred)[child]

    return pair, new_row
