"""What a decomposable discrete score is made of, as the kernels need it."""

from dataclasses import dataclass

import numpy as np

from pgmx._ext import _families
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
) -> "_families.FamilyScorer":
    """Return the compiled scorer of the families of a table.

    Parameters
    ----------
    table : DiscreteTable
        Coded table of n variables.
    terms : ScoreTerms
        The score.
    pairs : uint32 ndarray of shape (m, m), optional
        As :func:`pgmx.statistics.pair_counts` gives them; without, pairs are counted when they are asked for.
    allowed : uint8 ndarray of shape (n, n), optional
        ``allowed[child, parent] == 0`` keeps an arc out.
    max_indegree : int, optional
        A child with so many parents gets no gains of additions.
    memory : int, default=2**26
        Bytes of counts that the scorer may keep between calls.

    Returns
    -------
    FamilyScorer
        ``family_score(child, parents)``, ``start(gains, scores)`` and ``rescore(child, parents, gains)`` on ids;
        parents as ascending int32. It serves one thread at a time.

    Examples
    --------
    >>> import numpy as np
    >>> from pgmx.data import DiscreteTable
    >>> table = DiscreteTable(["a", "b"], [(0, 1), (0, 1)], [[0, 0, 1, 1], [0, 0, 1, 1]])
    >>> scorer = family_scorer(table, ScoreTerms())
    >>> scorer.family_score(0, np.array([1], dtype=np.int32))
    0.0
    """
    return _families.FamilyScorer(
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
        names=table.columns,
    )
