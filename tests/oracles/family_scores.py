"""Scores of discrete families and a greedy search over DAGs, written for reading and not for speed.

Data are ``codes`` of shape (n_variables, n_rows), where ``codes[v, i]`` is the state of variable ``v`` in row ``i``,
and ``cards``, the number of declared states of each variable (observed or not). Logarithms are natural. A family is a
child with a set of parents; r is the number of states of the child, q the number of ALL parent configurations (the
product of the parents' ``cards``), N_jk the rows in configuration j with child state k, N_j their sum over k, N the
rows in all.

=======  ==============================================================================================================
``ll``   sum_jk N_jk log(N_jk / N_j)
``aic``  ll - q (r - 1)
``bic``  ll - q (r - 1) log(N) / 2
``ebic`` bic - logG(p) + logG(k + 1) + logG(p - k), for k of p - 1 possible parents
``k2``   sum_j [ logG(r) - logG(N_j + r) + sum_k logG(N_jk + 1) ]
``bdeu`` sum_j [ logG(a) - logG(N_j + a) + sum_k (logG(N_jk + b) - logG(b)) ],  a = ess / q,  b = ess / (q r)
``bds``  as ``bdeu``, q the number of configurations that occur
=======  ==============================================================================================================

A configuration without rows adds exactly zero to every sum above, so only those seen are visited; q counts them all.
A new score is entered in ``FORMULAS``; the tests over all discrete scores take it from there.
"""

import itertools
import math
from collections import Counter, deque
from functools import lru_cache
from typing import NamedTuple

import numpy as np

OPERATIONS = ("add", "delete", "reverse")  # in the order in which ties prefer them


def family_counts(codes, cards, child, parents):
    """Return {parent configuration: array of r counts} for the configurations that occur in the rows."""
    columns = [np.asarray(codes[v]).tolist() for v in (child, *parents)]
    counts = {}
    for (state, *configuration), n_rows in Counter(zip(*columns, strict=True)).items():
        table = counts.setdefault(tuple(configuration), np.zeros(int(cards[child]), dtype=np.int64))
        table[state] += n_rows
    return counts


class Family(NamedTuple):
    """The counts of a family, or its sums of weights: an array of r per configuration that occurs."""

    tables: list
    q: int
    r: int
    n: float
    ess: float = 10.0
    n_parents: int = 0
    n_others: int = 0  # possible parents

    def likelihood(self):
        return math.fsum(_log_likelihood(table) for table in self.tables)

    def dirichlet(self, prior):
        """Return the log marginal likelihood; each cell has the prior weight ``prior``."""
        return math.fsum(_dirichlet(table, prior) for table in self.tables)

    def bic(self):
        return self.likelihood() - 0.5 * math.log(self.n) * self.q * (self.r - 1)


def log_sets(n, k):
    """Return the logarithm of the number of sets of k out of n."""
    return math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1)


FORMULAS = {
    "ll": lambda family: family.likelihood(),
    "aic": lambda family: family.likelihood() - family.q * (family.r - 1),
    "bic": lambda family: family.bic(),
    "ebic": lambda family: family.bic() - log_sets(family.n_others, family.n_parents),
    "k2": lambda family: family.dirichlet(1.0),
    "bdeu": lambda family: family.dirichlet(family.ess / (family.q * family.r)),
    "bds": lambda family: family.dirichlet(family.ess / (len(family.tables) * family.r)),
}


def family_score(codes, cards, child, parents, score="bic", *, ess=10.0):
    """Return the score of one family; see the table at the top of this module."""
    q = math.prod(int(cards[p]) for p in parents)
    tables = list(family_counts(codes, cards, child, parents).values())
    n_rows = np.asarray(codes).shape[1]
    return FORMULAS[score](Family(tables, q, int(cards[child]), n_rows, ess, len(parents), len(cards) - 1))


def dag_score(codes, cards, edges, score="bic", *, ess=10.0):
    """Return the sum of the family scores of the DAG with these (tail, head) edges."""
    edges = [(int(tail), int(head)) for tail, head in edges]
    return math.fsum(
        family_score(codes, cards, child, [tail for tail, head in edges if head == child], score, ess=ess)
        for child in range(len(cards))
    )


def gains_row(codes, cards, child, parents, score="bic", *, ess=10.0, allowed=None, max_indegree=None):
    """Return what deleting each parent and adding each other variable gains, -inf where one cannot be added.

    The child itself, variables of one state (and every variable, to a child of one state), pairs with
    ``allowed[child, parent] == 0``, and all once the child has `max_indegree` parents cannot be added.
    """
    parents = set(parents)
    now = family_score(codes, cards, child, sorted(parents), score, ess=ess)
    row = np.full(len(cards), -np.inf)
    for u in range(len(cards)):
        barred = u == child or cards[u] < 2 or cards[child] < 2 or (allowed is not None and not allowed[child][u])
        if u in parents or not (barred or (max_indegree is not None and len(parents) >= max_indegree)):
            row[u] = family_score(codes, cards, child, sorted(parents ^ {u}), score, ess=ess) - now
    return row


def hill_climb(codes, cards, score="bic", *, ess=10.0, **options):
    """Return the (tail, head) edges, sorted, at which greedy climbing stops; see :func:`climb` for the options."""

    def local_score(child, parents):
        return family_score(codes, cards, child, parents, score, ess=ess)

    return climb(len(cards), local_score, **options)


def climb(
    n,
    local_score,
    *,
    max_indegree=None,
    epsilon=1e-4,
    allowed=None,
    required=(),
    tabu_length=0,
    priority=None,
    start=(),
    bonus=(0.0, 0.0, 0.0),
    choices=None,
):
    """Return the (tail, head) edges, sorted, of the DAG at which greedy climbing stops.

    Every step lists all legal moves of the present DAG with their gains and makes the best one; it stops when no move
    gains ``epsilon`` or more. The climb starts from ``start`` and ``required``, and never deletes or reverses an edge
    of ``required``. ``allowed[child, parent]`` must be true for an edge to be added (or to come out of a reversal).
    ``bonus`` is what an addition, a deletion and a reversal gain on top of the families.

    The tabu list keeps the inverses of the last ``tabu_length`` moves, and a move on the list is not considered. After
    an add the edge may not be deleted; after a delete it may not be added; after a reversal the edge may not be
    reversed, in either direction. Where no other move gains ``epsilon``, the list is emptied and the climb continues,
    so that it stops in a local optimum of all moves.

    Gains within 1e-9 (relative to the best gain, or to 1 when it is below 1) are ties. A tie is won by the operation
    named first in ``OPERATIONS``, then by the smaller ``priority`` of the head, then of the tail, of the edge that the
    move names (for a reversal: the edge before the move). A list given as ``choices`` gets, for each
    step, the moves that tied and the edges before it.
    """
    priority = list(range(n)) if priority is None else list(priority)
    max_indegree = n if max_indegree is None else max_indegree
    required = {(int(tail), int(head)) for tail, head in required}
    edges = {(int(tail), int(head)) for tail, head in start} | required
    tabu = deque(maxlen=tabu_length)
    known = {}

    def local(child, parents):
        family = child, tuple(sorted(parents))
        if family not in known:
            known[family] = local_score(*family)
        return known[family]

    while True:
        moves = [
            (_gain(local, edges, move) + bonus[OPERATIONS.index(move[0])], move)
            for move in _legal_moves(n, edges, required, allowed, max_indegree)
            if not _is_barred(move, tabu)
        ]
        best = max((gain for gain, _ in moves), default=-math.inf)
        if best < epsilon and not tabu:
            return sorted(edges)
        if best < epsilon:
            tabu.clear()
            continue
        tied = [move for gain, move in moves if gain >= best - 1e-9 * max(1.0, abs(best))]
        if choices is not None:
            choices.append((tied, frozenset(edges)))
        chosen = min(tied, key=lambda move: _tie_key(move, priority))
        tabu.append(_inverse(chosen))
        edges = _after(edges, chosen)


def _log_likelihood(table):
    seen = table[table > 0]
    return float(np.sum(seen * np.log(seen / table.sum())))


def _dirichlet(table, weight):
    """Return the log marginal likelihood of one configuration, each child state having the prior weight ``weight``."""
    total = weight * len(table)
    return math.fsum([*(log_rising(weight, count) for count in table.tolist()), -log_rising(total, table.sum().item())])


@lru_cache(maxsize=100_000)
def log_rising(a, n):
    """Return logG(a + n) - logG(a); for whole n as log(a (a+1) ... (a+n-1)), without the cancellation."""
    if n != int(n):
        return math.lgamma(a + n) - math.lgamma(a)
    return math.fsum(np.log(a + np.arange(int(n))).tolist())


def _parents(edges, child):
    return {tail for tail, head in edges if head == child}


def _after(edges, move):
    operation, (tail, head) = move
    if operation == "add":
        return edges | {(tail, head)}
    if operation == "delete":
        return edges - {(tail, head)}
    return (edges - {(tail, head)}) | {(head, tail)}


def _inverse(move):
    operation, edge = move
    return {"add": "delete", "delete": "add", "reverse": "reverse"}[operation], edge


def _is_barred(move, tabu):
    """A reversal on the list bars reversals of the pair in both directions."""
    operation, (tail, head) = move
    return move in tabu or (operation == "reverse" and (operation, (head, tail)) in tabu)


def _gain(local, edges, move):
    """Return the change of the whole score: only the heads whose parents change have new families."""
    changed = _after(edges, move)
    heads = set(move[1]) if move[0] == "reverse" else {move[1][1]}
    return sum(local(head, _parents(changed, head)) - local(head, _parents(edges, head)) for head in sorted(heads))


def _legal_moves(n, edges, required, allowed, max_indegree):
    def may_exist(tail, head):
        return allowed is None or bool(allowed[head][tail])

    for tail, head in itertools.permutations(range(n), 2):
        if (tail, head) in edges:
            if (tail, head) in required:
                continue
            yield "delete", (tail, head)
            move, new_tail, new_head = ("reverse", (tail, head)), head, tail
        elif (head, tail) in edges:
            continue
        else:
            move, new_tail, new_head = ("add", (tail, head)), tail, head
        after = _after(edges, move)
        if may_exist(new_tail, new_head) and len(_parents(after, new_head)) <= max_indegree and _acyclic(n, after):
            yield move


def _acyclic(n, edges):
    """Return whether repeatedly taking away the variables without parents takes away all of them."""
    left = set(range(n))
    while left:
        roots = {v for v in left if not (_parents(edges, v) & left)}
        if not roots:
            return False
        left -= roots
    return True


def _tie_key(move, priority):
    operation, (tail, head) = move
    return OPERATIONS.index(operation), priority[head], priority[tail]
