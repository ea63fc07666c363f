"""The score and the weights of pairs for a forest learner's `weight` and data."""

from math import inf, log
from typing import NamedTuple

import numpy as np

from pgmx import scores
from pgmx.data import DiscreteTable, DistributedNumericTable, DistributedTable, Frame, encode
from pgmx.scores.binding.discrete import DiscreteScoring
from pgmx.scores.binding.resolve import refuse_integers, resolve_scoring
from pgmx.scores.binding.scoring import Scoring
from pgmx.search.forest.distributed_weights import DistributedWeights
from pgmx.search.forest.pair_weights import CountedWeights, PairWeightSource, StoredWeights, can_be_counted

#: The scores whose gains are the weights: for discrete, continuous and mixed data.
SCORE_OF_WEIGHT = {
    "mutual_info": ("ll", "ll-g", "ll-clg"),
    "bic": ("bic", "bic-g", "bic-clg"),
    "aic": ("aic", "aic-g", "aic-clg"),
    "bge": ("bge", "bge", "bge"),
    "bic-dg": ("bic-dg", "bic-dg", "bic-dg"),
}

#: Scores whose terms the pair kernel sums; all of them are score-equivalent.
COUNTED = (scores.LogLikelihood, scores.BIC, scores.AIC, scores.BDeu)


class PairScores(NamedTuple):
    """Weights of pairs by position, and scores (n,) without edges: `scores` given the class, `alone` without it."""

    source: PairWeightSource
    scores: np.ndarray
    alone: np.ndarray


def bind_forest_score(
    weight: str,
    opened: Frame | DiscreteTable | DistributedNumericTable,
    *,
    equivalent_sample_size: float,
    prior_network,
    sample_weight,
    **options,
) -> Scoring:
    """Return the score of `weight` for the data; `options` are the options of ``resolve_scoring``."""
    if weight in SCORE_OF_WEIGHT:
        kind = _find_kind(opened)
        return resolve_scoring(SCORE_OF_WEIGHT[weight][kind], opened, sample_weight=sample_weight, **options)
    table = encode(opened, **options)
    if weight == "bdeu":
        score: scores.DiscreteScore = scores.BDeu(table, equivalent_sample_size)
    else:
        score = scores.BDe(table, prior_network, equivalent_sample_size)
    return resolve_scoring(score, table, sample_weight=sample_weight, **options)


def _find_kind(opened: Frame | DiscreteTable | DistributedNumericTable) -> int:
    """Return 0 for discrete, 1 for continuous, 2 for mixed data."""
    if isinstance(opened, DiscreteTable):
        return 0
    if isinstance(opened, DistributedNumericTable):
        refuse_integers(opened)
        return 1
    n_floats = len(opened.float_columns)
    return 0 if n_floats == 0 else 1 if n_floats == opened.n_columns else 2


def score_pairs(
    scoring: Scoring, variables: np.ndarray, class_node: int | None, n_jobs, deadline: float = inf
) -> PairScores:
    """Return the weights between `variables`, with `class_node` as a parent of all of them."""
    n = len(scoring.names)
    parents = [np.array([] if class_node in (None, v) else [class_node], dtype=np.int32) for v in range(n)]
    none = np.empty(0, dtype=np.int32)
    if type(scoring) is DiscreteScoring and type(scoring.score) in COUNTED and can_be_counted(scoring.table):
        table = scoring.table
        terms = scoring.score.terms(table.n_rows)
        scorer = scores.family_scorer(table, terms, memory=0)
        alone = np.array([scorer.family_score(v, none) for v in range(n)])
        now = alone if class_node is None else np.array([scorer.family_score(v, parents[v]) for v in range(n)])
        if len(variables) > 1 and isinstance(table, DistributedTable):
            return PairScores(DistributedWeights(table, terms, variables, class_node=class_node), now, alone)
        if len(variables) > 1:
            return PairScores(CountedWeights(table, terms, variables, class_node=class_node, n_jobs=n_jobs), now, alone)
        return PairScores(StoredWeights(np.zeros((len(variables),) * 2), 1.0), now, alone)
    gains, alone = np.full((n, n), -np.inf), np.empty(n)
    options = {"allowed": None, "deadline": deadline, "n_jobs": n_jobs}
    source = scoring.gains(max_indegree=None, **options)
    if class_node is None:
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
