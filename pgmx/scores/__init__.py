"""Decomposable scores of Bayesian networks: pgmpy's score classes over compiled counts and moments.

- `registry`: the scores by name; choices, help and messages derive from it
- `compiled`: the interface of pgmpy over every compiled score
- `scored_dag`: the DAG that a score of a whole graph adds up
- `gains`: the interface of a source of gains, the sources that are not compiled, and prefetched rows of gains
- `set_sizes`: numbers of sets of parents by their sizes
- `priors`: prior probabilities of graphs
- `discrete`: scores of discrete Bayesian networks
- `gaussian`: scores of linear Gaussian networks
- `mixed`: scores of networks of continuous and discrete variables
- `binding`: scores bound to a table; they give a search its source of gains

Names of `scoring_method` and ``--score``, with their classes:

- discrete data: bic (`BIC`), aic (`AIC`), ll (`LogLikelihood`), ebic (`EBIC`), k2 (`K2`), bdeu (`BDeu`), bds (`BDs`)
- continuous data: bic-g (`BICGauss`), aic-g (`AICGauss`), ll-g (`LogLikelihoodGauss`), ebic-g (`EBICGauss`),
  bge (`BGe`)
- mixed data: bic-clg (`BICCondLinearGauss`), aic-clg (`AICCondLinearGauss`), ll-clg (`LogLikelihoodCondLinearGauss`),
  ebic-clg (`EBICCondLinearGauss`), bic-dg (`BICDegenerateGauss`), ebic-dg (`EBICDegenerateGauss`),
  bic-cg (`BICCondGauss`), aic-cg (`AICCondGauss`), ll-cg (`LogLikelihoodCondGauss`)
"""

from typing import TYPE_CHECKING

from pgmx.lookup import import_on_demand
from pgmx.scores.registry import SCORES

if TYPE_CHECKING:
    from pgmx.scores.discrete.aic import AIC as AIC
    from pgmx.scores.discrete.base import DiscreteScore as DiscreteScore
    from pgmx.scores.discrete.base import ScoreTerms as ScoreTerms
    from pgmx.scores.discrete.base import family_scorer as family_scorer
    from pgmx.scores.discrete.bde import BDe as BDe
    from pgmx.scores.discrete.bdeu import BDeu as BDeu
    from pgmx.scores.discrete.bds import BDs as BDs
    from pgmx.scores.discrete.bic import BIC as BIC
    from pgmx.scores.discrete.ebic import EBIC as EBIC
    from pgmx.scores.discrete.k2 import K2 as K2
    from pgmx.scores.discrete.log_likelihood import LogLikelihood as LogLikelihood
    from pgmx.scores.gaussian.aic import AICGauss as AICGauss
    from pgmx.scores.gaussian.base import GaussianScore as GaussianScore
    from pgmx.scores.gaussian.base import gaussian_scorer as gaussian_scorer
    from pgmx.scores.gaussian.bge import BGe as BGe
    from pgmx.scores.gaussian.bic import BICGauss as BICGauss
    from pgmx.scores.gaussian.ebic import EBICGauss as EBICGauss
    from pgmx.scores.gaussian.log_likelihood import LogLikelihoodGauss as LogLikelihoodGauss
    from pgmx.scores.mixed.base import MixedScore as MixedScore
    from pgmx.scores.mixed.conditional import AICCondGauss as AICCondGauss
    from pgmx.scores.mixed.conditional import BICCondGauss as BICCondGauss
    from pgmx.scores.mixed.conditional import LogLikelihoodCondGauss as LogLikelihoodCondGauss
    from pgmx.scores.mixed.conditional_linear import AICCondLinearGauss as AICCondLinearGauss
    from pgmx.scores.mixed.conditional_linear import BICCondLinearGauss as BICCondLinearGauss
    from pgmx.scores.mixed.conditional_linear import LogLikelihoodCondLinearGauss as LogLikelihoodCondLinearGauss
    from pgmx.scores.mixed.degenerate import BICDegenerateGauss as BICDegenerateGauss
    from pgmx.scores.mixed.ebic import EBICCondLinearGauss as EBICCondLinearGauss
    from pgmx.scores.mixed.ebic import EBICDegenerateGauss as EBICDegenerateGauss
    from pgmx.scores.priors import EdgePrior as EdgePrior
    from pgmx.scores.priors import ParameterPrior as ParameterPrior
    from pgmx.scores.priors import StructurePrior as StructurePrior
    from pgmx.scores.priors import UniformPrior as UniformPrior

_HOMES = {
    **{entry.class_name: entry.module for entry in SCORES},
    "BDe": "pgmx.scores.discrete.bde",
    "DiscreteScore": "pgmx.scores.discrete.base",
    "EdgePrior": "pgmx.scores.priors",
    "GaussianScore": "pgmx.scores.gaussian.base",
    "MixedScore": "pgmx.scores.mixed.base",
    "ParameterPrior": "pgmx.scores.priors",
    "ScoreTerms": "pgmx.scores.discrete.base",
    "StructurePrior": "pgmx.scores.priors",
    "UniformPrior": "pgmx.scores.priors",
    "family_scorer": "pgmx.scores.discrete.base",
    "gaussian_scorer": "pgmx.scores.gaussian.base",
}

if not TYPE_CHECKING:
    __getattr__, __dir__ = import_on_demand(__name__, _HOMES)
    __all__ = sorted(_HOMES)
