"""What a decomposable discrete score is made of, as the kernels need it."""

from dataclasses import dataclass

import numpy as np

from pgmx._ext._families import FamilyScorer
from pgmx.data import DiscreteTable
from pgmx.statistics import marginal_counts


@dataclass(frozen=True)
class ScoreTerms:
    r"""The terms of a decomposable discrete score.

    .. math::
        s(x \mid \Pi) = \sum_{jk} f(n_{jk}; a) - \sum_j f(n_j; r a) - c\, q (r - 1)

    with :math:`f(n) = n \ln n`, or, where `dirichlet` is set,
    :math:`f(n; a) = \ln\Gamma(n + a) - \ln\Gamma(a)`; r states of x, q configurations of the parents.

    Attributes
    ----------
    penalty : float
        c, what a free parameter costs.
    dirichlet : bool
        Which f is taken.
    prior : float
        a, or a q r where `per_cell` is set.
    per_cell : bool
        Whether the prior is shared among the q r cells of a family.
    equivalent : bool
        Whether Markov equivalent graphs have the same score.
    """

    penalty: float = 0.0
    dirichlet: bool = False
    prior: float = 0.0
    per_cell: bool = False
    equivalent: bool = True


def family_scorer(
    table: DiscreteTable,
    terms: ScoreTerms,
    *,
    pairs: np.ndarray | None = None,
    allowed: np.ndarray | None = None,
    max_indegree: int | None = None,
    memory: int = 1 << 26,
) -> FamilyScorer:
    """Return the compiled scorer of the families of `table`; see ``_families.FamilyScorer`` for the arguments."""
    return FamilyScorer(
        table.codes,
        table.cardinalities,
        table.planes,
        table.plane_offsets,
        marginal_counts(table),
        dirichlet=terms.dirichlet,
        per_cell=terms.per_cell,
        prior=terms.prior,
        penalty=terms.penalty,
        equivalent=terms.equivalent,
        pairs=pairs,
        allowed=allowed,
        max_indegree=table.n_variables if max_indegree is None else max_indegree,
        memory=memory,
    )
