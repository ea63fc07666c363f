"""What a learner of a posterior needs of its score to average predictions and effects over graphs."""

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from pgmx.checks import caller_level, join_names
from pgmx.data import DiscreteTable, encode
from pgmx.data.declared_states import match_states
from pgmx.data.errors import refuse_marked
from pgmx.models.bayesian.averages import (
    EffectMoments,
    Families,
    GaussianRows,
    average_effects,
    average_path_effects,
    average_rows,
    predict_discrete,
    predict_gaussian,
)
from pgmx.scores.binding.continuous import GaussianScoring
from pgmx.scores.binding.discrete import DiscreteScoring
from pgmx.scores.discrete.bdeu import BDeu
from pgmx.scores.discrete.k2 import K2
from pgmx.scores.gaussian.base import read_numbers
from pgmx.scores.gaussian.bge import BGe
from pgmx.scores.gaussian.bic import BICGauss
from pgmx.search.posterior.sampled import SampledDags


def average_effects_of(scoring: Any, draws: SampledDags) -> EffectMoments:
    """Return total effects averaged over graphs; raise ValueError unless the score is BGe or the Gaussian BIC."""
    score = getattr(scoring, "score", None)
    interventions = getattr(scoring, "interventions", None)
    whole = scoring if interventions is None else scoring.whole
    if not isinstance(whole, GaussianScoring) or not isinstance(score, BGe | BICGauss):
        raise ValueError(
            "causal_effects needs continuous data and scoring_method='bge' or 'bic-g', got the score "
            f"{score.get_class_tag('name') if score is not None else scoring!r}"
        )
    found = draws.families
    families = list(zip(found.children, found.parents, strict=True))
    if interventions is not None:
        # rows in which an effect, or a variable on the way, was set would bias a regression of the effect on the cause
        own = [scoring.whole if group < 0 else scoring.groups[group] for group in scoring.group_of.tolist()]
        regressions = [read_gaussian(rows) for rows in own]
        mean, std = average_path_effects(families, found.family_of, draws.multiplicities, regressions)
        paths = draws.path_frequency()
        return EffectMoments(np.where(paths > 0, mean, 0.0), np.where(paths > 0, std, 0.0), paths)
    posterior = read_gaussian(scoring)
    p = len(posterior.mean)

    def degrees(k: int) -> float:  # of a regression on k variables
        return posterior.degrees + k if posterior.degrees else scoring.moments.n - k - 1.0

    effects = average_effects(families, draws.count_descendants(), draws.n_samples, posterior.cross, degrees)
    for matrix in effects:
        matrix[np.arange(p), np.arange(p)] = 0.0
    return effects


def read_gaussian(scoring: GaussianScoring) -> GaussianRows:
    """Return the posterior of the parameters under BGe; for other scores their maximum likelihood estimates."""
    moments, score = scoring.moments, scoring.score
    if not isinstance(score, BGe):
        return GaussianRows(moments.mean, moments.cross, float(moments.n), 0.0)
    mean, cross, weight, degrees = score.posterior(moments)
    return GaussianRows(mean, cross, weight, degrees - len(mean) + 1.0)


def predict_rows(scoring: Any, draws: SampledDags, rows: Any, missing: str, size: float | None) -> np.ndarray:
    """Return the log predictive density of each row, averaged over graphs; `size` is the option of the prior.

    `rows` have the columns of the training data.
    """
    found = draws.families
    families = list(zip(found.children, found.parents, strict=True))
    shares = draws.multiplicities / draws.n_samples
    impossible = np.zeros(0, dtype=bool)
    if isinstance(scoring, DiscreteScoring):
        codes, impossible = _code_rows(scoring.table, rows, missing)
        source: Any = scoring.gains(allowed=None, max_indegree=None, deadline=np.inf, n_jobs=1)
        cards = scoring.table.cardinalities
        terms = predict_discrete(families, source.family_counts, cards, codes, _choose_prior(scoring.score, size))
    elif type(scoring) is GaussianScoring:
        frame: Any = read_numbers(rows, missing=missing, purpose=type(scoring.score).__name__)
        terms = predict_gaussian(families, read_gaussian(scoring), frame[scoring.names].to_numpy(dtype=float).T)
    else:
        terms, impossible = _predict_by_models(scoring, draws, families, rows, size)
    logs = average_rows(terms, found.family_of, shares)
    if impossible.any():
        logs[impossible] = -np.inf
    return logs


def _choose_prior(score: Any, size: float | None) -> Callable[[float, int], float]:
    """Return the rows that the prior adds to a cell, by configurations and states."""
    if type(score) is K2:
        return lambda q, r: 1.0
    if type(score) is BDeu:
        size = float(score.equivalent_sample_size)
    rows = 1.0 if size is None else float(size)
    return lambda q, r: rows / (q * r)


def _code_rows(table: DiscreteTable, rows: Any, missing: str) -> tuple[np.ndarray, np.ndarray]:
    """Return the codes of rows in the states of a table, (n, N), and which rows have a state that it does not have."""
    coded = rows if isinstance(rows, DiscreteTable) else encode(rows, missing=missing)
    refuse_marked(coded, "the likelihood of a row needs all its values; drop these rows")
    place = {name: at for at, name in enumerate(coded.columns)}
    codes = np.empty((table.n_variables, coded.n_rows), dtype=np.int64)
    for v, (name, states) in enumerate(zip(table.columns, table.states, strict=True)):
        at = place[name]
        codes[v] = match_states(coded.states[at], states, absent=-1)[coded.codes[at]]
    unknown = codes < 0
    if unknown.any():
        names = [table.columns[v] for v in np.flatnonzero(unknown.any(axis=1)).tolist()]
        warnings.warn(
            f"{int(unknown.any(axis=0).sum())} of {coded.n_rows} rows have states of {join_names(names)} that are not "
            "in the training data, so their log density is minus infinity. Declare all states with "
            "state_names={name: [...]}, or as categories",
            stacklevel=caller_level(),
        )
    codes[unknown] = 0
    return codes, np.asarray(unknown.any(axis=0))


def _predict_by_models(
    scoring: Any, draws: SampledDags, families: Families, rows: Any, size: float | None
) -> tuple[np.ndarray, np.ndarray]:
    """Return the log densities of families, from networks that hold the families that no earlier graph has."""
    family_of = draws.families.family_of
    terms: np.ndarray | None = None
    is_known = np.zeros(len(families), dtype=bool)
    for graph in range(len(family_of)):
        new = [f for f in family_of[graph].tolist() if not is_known[f]]
        if not new:
            continue
        edges = [(u, families[f][0]) for f in new for u in families[f][1].tolist()]
        model = scoring.model(edges, equivalent_sample_size=1.0 if size is None else size)
        if not hasattr(model, "log_likelihood_terms"):
            raise ValueError(
                f"score_samples cannot average over graphs with {getattr(scoring, 'score_name', 'this score')} and "
                "missing values: give missing='drop', or predict with model_"
            )
        logs = model.log_likelihood_terms(rows)
        if terms is None:
            terms = np.empty((len(families), logs.shape[1]))
        terms[new] = logs[[families[f][0] for f in new]]
        is_known[new] = True
    assert terms is not None
    impossible = np.asarray(~np.isfinite(terms).all(axis=0))
    terms[:, impossible] = 0.0
    return terms, impossible
