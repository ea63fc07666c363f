"""Random coded tables, and compiled scorers over them by the kernels alone (pgmpy takes seconds to import)."""

import itertools
import math

import numpy as np

from pgmx._ext import _counts, _families, _weighted
from pgmx._ext._dag_moves import DagMoves

SCORES = ("ll", "aic", "bic", "k2", "bdeu", "bds")
EQUIVALENT_SCORES = ("ll", "aic", "bic", "bdeu")


def random_codes(rng, cards, n_rows, *, observed=None):
    """Return codes (n, n_rows) of dependent columns; column v uses the first ``observed[v]`` of its states."""
    observed = cards if observed is None else observed
    hidden = rng.integers(0, 6, n_rows)
    columns = [
        np.where(rng.random(n_rows) < 0.6, hidden % states, rng.integers(0, states, n_rows)) for states in observed
    ]
    return np.stack(columns).astype(np.uint16 if max(cards) > 255 else np.uint8)


def terms(score, n_rows, ess=10.0):
    """Return the arguments that define the score of the kernel."""
    return {
        "ll": {},
        "aic": {"penalty": 1.0},
        "bic": {"penalty": 0.5 * math.log(n_rows)},
        "k2": {"dirichlet": True, "prior": 1.0, "equivalent": False},
        "bdeu": {"dirichlet": True, "per_cell": True, "prior": ess},
        "bds": {"dirichlet": True, "per_cell": True, "observed": True, "prior": ess, "equivalent": False},
    }[score]


def pair_table(planes, offsets):
    """Return the counts of all pairs of planes but the last of each variable."""
    kept = [np.arange(first, end - 1) for first, end in itertools.pairwise(offsets) if end > first]
    chosen = np.concatenate([np.empty(0, dtype=np.int64), *kept])
    counts = np.zeros((len(chosen), len(chosen)), dtype=np.uint32)
    _counts.count_pairs(planes, chosen, 0, len(chosen), counts)
    return counts


def make_scorer(codes, cards, score, *, pairs=True, ess=10.0, **options):
    """Return a FamilyScorer of the table."""
    cards = np.asarray(cards, dtype=np.int64)
    planes, offsets = _counts.pack_planes(codes, cards)
    marginals = [np.bincount(column, minlength=r) for column, r in zip(codes, cards, strict=True)]
    return _families.FamilyScorer(
        codes,
        cards,
        planes,
        offsets,
        np.concatenate(marginals).astype(np.uint32),
        pairs=pair_table(planes, offsets) if pairs else None,
        **terms(score, codes.shape[1], ess),
        **options,
    )


def make_weighted(codes, cards, weights, score, *, ess=10.0, **options):
    """Return a WeightedFamilyScorer of the table."""
    weights = np.asarray(weights, dtype=np.float64)
    cards = np.asarray(cards, dtype=np.int64)
    return _weighted.WeightedFamilyScorer(codes, cards, weights, **terms(score, weights.sum(), ess), **options)


def start(scorer):
    """Return the gains and scores of the graph without arcs."""
    gains, scores = np.full((scorer.n, scorer.n), np.nan), np.full(scorer.n, np.nan)
    scorer.start(gains, scores)
    return gains, scores


def rescore(scorer, child, parents):
    """Return the family score and the row of gains of one child."""
    gains = np.full((scorer.n, scorer.n), np.nan)
    score = scorer.rescore(child, np.array(sorted(parents), dtype=np.int32), gains)
    assert np.isnan(np.delete(gains, child, axis=0)).all(), "rescore must write one row only"
    return score, gains[child]


def rounding(n_rows):
    """Return the error that a score may have: terms of size N ln N cancel in it."""
    return 1e-12 * n_rows * math.log(n_rows + 1) + 1e-12


def random_moves(rng, n, n_moves):
    """Yield ``(moves, move, changed children)`` of a random walk over DAGs, after each move."""
    moves = DagMoves(np.zeros((n, n)), np.arange(n), max_indegree=3, floor=-np.inf)
    for _ in range(n_moves):
        legal = [move for move in itertools.product(range(3), range(n), range(n)) if moves.is_legal(*move)]
        if not legal:
            return
        op, tail, head = legal[rng.integers(len(legal))]
        moves.apply(op, tail, head)
        yield moves, (op, tail, head), ((head, tail) if op == 2 else (head,))


def total(scorer, moves):
    return math.fsum(scorer.family_score(v, moves.parents_of(v)) for v in range(scorer.n))
