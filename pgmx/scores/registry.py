"""Scores by name."""

from pgmpy import structure_score as pgmpy
from pgmpy.structure_score import BaseStructureScore

from pgmx.scores.discrete.aic import AIC
from pgmx.scores.discrete.base import DiscreteScore
from pgmx.scores.discrete.bdeu import BDeu
from pgmx.scores.discrete.bds import BDs
from pgmx.scores.discrete.bic import BIC
from pgmx.scores.discrete.k2 import K2
from pgmx.scores.discrete.log_likelihood import LogLikelihood
from pgmx.scores.gaussian.aic import AICGauss
from pgmx.scores.gaussian.base import GaussianScore
from pgmx.scores.gaussian.bic import BICGauss
from pgmx.scores.gaussian.log_likelihood import LogLikelihoodGauss

#: Names of pgmx's own scores of states: pgmpy's and short ones.
DISCRETE_SCORES: dict[str, type[DiscreteScore]] = {
    "bic": BIC,
    "bic-d": BIC,
    "aic": AIC,
    "aic-d": AIC,
    "ll": LogLikelihood,
    "ll-d": LogLikelihood,
    "k2": K2,
    "bdeu": BDeu,
    "bds": BDs,
}

#: Names of pgmx's own scores of numbers.
GAUSSIAN_SCORES: dict[str, type[GaussianScore]] = {
    "ll-g": LogLikelihoodGauss,
    "aic-g": AICGauss,
    "bic-g": BICGauss,
}

#: Names that pgmpy's own classes serve; the tag `supported_datatype` of a class tells what data it takes.
PGMPY_SCORES: dict[str, type[BaseStructureScore]] = {
    "ll-cg": pgmpy.LogLikelihoodCondGauss,
    "aic-cg": pgmpy.AICCondGauss,
    "bic-cg": pgmpy.BICCondGauss,
}


def check_score_name(name: str) -> str:
    """Return `name` in lower case, or raise ValueError with the names there are."""
    known = [*DISCRETE_SCORES, *GAUSSIAN_SCORES, *PGMPY_SCORES]
    if name.lower() == "bde":
        raise ValueError(
            "scoring_method='bde' needs a prior network: give the instance pgmx.scores.BDe(data, prior_network), or "
            "'bdeu' for the uniform one"
        )
    if name.lower() not in known:
        raise ValueError(f"scoring_method={name!r} is not known; choose one of {', '.join(known)}")
    return name.lower()
