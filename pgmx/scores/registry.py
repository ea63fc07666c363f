"""Scores by name."""

from pgmpy import structure_score as pgmpy
from pgmpy.structure_score import BaseStructureScore

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

#: Names that pgmpy's own classes serve; the tag `supported_datatype` of a class tells what data it takes.
PGMPY_SCORES: dict[str, type[BaseStructureScore]] = {
    "bds": pgmpy.BDs,
    "ll-g": pgmpy.LogLikelihoodGauss,
    "aic-g": pgmpy.AICGauss,
    "bic-g": pgmpy.BICGauss,
    "ll-cg": pgmpy.LogLikelihoodCondGauss,
    "aic-cg": pgmpy.AICCondGauss,
    "bic-cg": pgmpy.BICCondGauss,
}


def check_score_name(name: str) -> str:
    """Return `name` in lower case, or raise ValueError with the names there are."""
    known = [*DISCRETE_SCORES, *PGMPY_SCORES]
    if name.lower() not in known:
        raise ValueError(f"scoring_method={name!r} is not known; choose one of {', '.join(known)}")
    return name.lower()
