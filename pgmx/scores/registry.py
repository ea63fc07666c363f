"""Scores by name."""

from pgmpy.structure_score import BaseStructureScore, get_scoring_method

from pgmx.scores._base import DiscreteScore
from pgmx.scores.aic import AIC
from pgmx.scores.bdeu import BDeu
from pgmx.scores.bic import BIC
from pgmx.scores.k2 import K2
from pgmx.scores.log_likelihood import LogLikelihood

#: Names of pgmx's own scores: pgmpy's and short ones.
DISCRETE_SCORES: dict[str, type[DiscreteScore]] = {
    "bic": BIC,
    "bic-d": BIC,
    "aic": AIC,
    "aic-d": AIC,
    "ll": LogLikelihood,
    "ll-d": LogLikelihood,
    "k2": K2,
    "bdeu": BDeu,
}

#: Names that pgmpy's own classes serve, and the kind of data each needs.
PGMPY_SCORES = {
    "bds": "discrete",
    "ll-g": "continuous",
    "aic-g": "continuous",
    "bic-g": "continuous",
    "ll-cg": "mixed",
    "aic-cg": "mixed",
    "bic-cg": "mixed",
}


def check_score_name(name: str) -> str:
    """Return `name` in lower case, or raise ValueError with the names there are."""
    known = [*DISCRETE_SCORES, *PGMPY_SCORES]
    if name.lower() not in known:
        raise ValueError(f"scoring_method={name!r} is not known; choose one of {', '.join(known)}")
    return name.lower()


def pgmpy_score(name: str, frame) -> BaseStructureScore:
    """Return pgmpy's score `name` over a pandas frame."""
    return get_scoring_method(name, frame)
