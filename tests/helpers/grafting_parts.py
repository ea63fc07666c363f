"""A loss over a few columns for runs of grafting, and parts that a test plays itself."""

from math import inf
from types import SimpleNamespace

import numpy as np

from pgmx.data import DiscreteTable
from pgmx.runs.progress import GraftingProgress
from pgmx.runs.run import Run
from pgmx.search.edges.exhaustive import ExhaustiveEdges
from pgmx.solvers import PseudolikelihoodLoss
from pgmx.statistics import PairTables


def chained_codes(rng, cards, n_rows=400):
    """Columns each of which often follows the one before."""
    columns = [rng.integers(0, cards[0], n_rows)]
    for r in cards[1:]:
        columns.append(np.where(rng.random(n_rows) < 0.5, columns[-1] % r, rng.integers(0, r, n_rows)))
    return np.stack(columns).astype(np.uint8)


def loss_of(codes, cards, **options):
    table = DiscreteTable(range(len(cards)), [tuple(range(r)) for r in cards], codes)
    return PseudolikelihoodLoss(table, PairTables(table), **{"lam": 0.01, "l2": 0.01, **options})


def all_pairs(n):
    return np.stack(np.triu_indices(n, 1), axis=1).astype(np.int64)


def inactive(loss):
    known = set(map(tuple, loss.edges.tolist()))
    left = [pair for pair in all_pairs(loss.n_variables).tolist() if tuple(pair) not in known]
    return np.array(left, dtype=np.int64).reshape(-1, 2)


def exhaustive(loss, *, features=False):
    return ExhaustiveEdges(np.ones_like(loss.cardinalities) if features else loss.cardinalities)


class PlayedLoss:
    """A loss whose optimisations return given answers, and which remembers how it was asked."""

    lam = 0.1
    is_convex = True
    statistics = SimpleNamespace(n_counted=7)

    def __init__(self, n=6, answers=()):
        self.cardinalities = np.full(n, 2)
        self.drift = np.zeros(n)
        self.optimisations = []
        self._answers = list(answers)
        self._edges = []

    @property
    def edges(self):
        return np.array(self._edges, dtype=np.int64).reshape(-1, 2)

    def activate(self, pairs):
        self._edges += pairs.tolist()

    def kkt_residual(self):
        return 0.0

    def objective(self):
        return 10.0 - len(self._edges)

    def optimise(self, pairs=None, *, tol, max_sweeps=None, deadline=inf):
        self.optimisations.append((None if pairs is None else np.asarray(pairs).tolist(), tol, max_sweeps))
        return np.array(self._answers.pop(0) if self._answers else [], dtype=np.int64)


class PlayedSelector:
    """A source whose rounds add given edges."""

    def __init__(self, rounds, n=6):
        self.rounds = list(rounds)
        self.n_tests = 0
        self.told, self.limits = [], []
        self._left = iter(all_pairs(n))

    def activate_next(self, loss, limit, run):
        self.n_tests += 10
        self.limits.append(limit)
        wanted = self.rounds.pop(0) if self.rounds else 0
        for _ in range(min(wanted, limit)):
            loss.activate(next(self._left)[None])
        if wanted:
            self.mark_changed(self.optimise(loss, run.deadline))
        return min(wanted, limit)

    def optimise(self, loss, deadline):
        return loss.optimise(loss.edges[-1:], tol=1.0)

    def mark_changed(self, variables):
        self.told.append(np.asarray(variables).tolist())

    def state(self):
        return {"left": np.array(len(self.rounds))}


def run_of(**options):
    """Return a run without limits, or with those given."""
    return Run(GraftingProgress, **options)
