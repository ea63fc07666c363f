"""From a forest learner's `weight` and data to a score and the weights of pairs."""

from math import inf, log
from typing import Any, NamedTuple

import numpy as np

from pgmx import scores
from pgmx.data import DiscreteTable, Frame, encode
from pgmx.scores.binding.resolve import DiscreteScoring, Scoring, resolve_scoring
from pgmx.search.forest.pair_weights import CountedWeights, StoredWeights, can_be_counted

#: The scores that a weight is the gain of: for states, for floats, and for floats beside states.
SCORE_OF_WEIGHT = {
    "mutual_info": ("ll", "ll-g", "ll-cg"),
    "bic": ("bic", "bic-g", "bic-cg"),
    "aic": ("aic", "aic-g", "aic-cg"),
}

#: Scores whose terms the pair kernel sums; all of them are score-equivalent.
COUNTED = (scores.LogLikelihood, scores.BIC, scores.AIC, scores.BDeu)


class PairScores(NamedTuple):
    """Weights of pairs, and the family scores that the graph has before any of the pairs is joined.

    Attributes
    ----------
    source : source of pair weights
        Between the variables asked for, by position.
    scores : ndarray of shape (n,)
        Family score of every variable, without parents or with the class as its only parent.
    alone : ndarray of shape (n,)
        Family score of every variable without parents.
    """

    source: Any
    scores: np.ndarray
    alone: np.ndarray


def forest_scoring(
    weight: str,
    opened: Frame | DiscreteTable,
    *,
    equivalent_sample_size: float,
    prior_network,
    sample_weight,
    **options,
) -> Scoring:
    """Return the score that `weight` means for the data; `options` are those of ``resolve_scoring``."""
    if weight in SCORE_OF_WEIGHT:
        n_floats, n_columns = (
            (0, 1) if isinstance(opened, DiscreteTable) else (len(opened.float_columns), opened.n_columns)
        )
        kind = 0 if n_floats == 0 else 1 if n_floats == n_columns else 2
        return resolve_scoring(SCORE_OF_WEIGHT[weight][kind], opened, sample_weight=sample_weight, **options)
    table = encode(opened, **options)
    size = {"equivalent_sample_size": equivalent_sample_size}
    score = scores.BDeu(table, **size) if weight == "bdeu" else scores.BDe(table, prior_network, **size)
    return resolve_scoring(score, table, sample_weight=sample_weight, **options)


def pair_scores(scoring: Scoring, variables: np.ndarray, given: int | None, n_jobs) -> PairScores:
    """Return the weights between `variables`, with the class variable `given` as a parent of all of them."""
    n = len(scoring.names)
    parents = [np.array([] if given in (None, v) else [given], dtype=np.int32) for v in range(n)]
    none = np.empty(0, dtype=np.int32)
    if type(scoring) is DiscreteScoring and type(scoring.score) in COUNTED and can_be_counted(scoring.table):
        table = scoring.table
        terms = scoring.score.terms(table.n_rows)
        scorer = scores.family_scorer(table, terms, memory=0)
        alone = np.array([scorer.family_score(v, none) for v in range(n)])
        now = alone if given is None else np.array([scorer.family_score(v, parents[v]) for v in range(n)])
        if len(variables) > 1:
            return PairScores(CountedWeights(table, terms, variables, given=given, n_jobs=n_jobs), now, alone)
        return PairScores(StoredWeights(np.zeros((len(variables),) * 2), 1.0), now, alone)
    gains, alone = np.full((n, n), -np.inf), np.empty(n)
    options = {"allowed": None, "deadline": inf, "n_jobs": n_jobs}
    source = scoring.gains(max_indegree=None, **options)
    if given is None:
        source.start(gains, alone)
        now = alone
    else:
        now = np.array([source.rescore(v, parents[v], gains) for v in range(n)])
        source = scoring.gains(max_indegree=0, **options)
        scratch = np.empty((n, n))
        alone = np.array([source.rescore(v, none, scratch) for v in range(n)])
    n_rows = getattr(getattr(scoring, "table", None), "n_rows", 2)
    scale = max(float(np.abs(now).max()), n_rows * log(max(n_rows, 2)))
    return PairScores(StoredWeights(np.ascontiguousarray(gains[np.ix_(variables, variables)]), scale), now, alone)
