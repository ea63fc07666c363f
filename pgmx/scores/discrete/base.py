"""What a decomposable discrete score is made of, as the kernels need it, and pgmpy's interface over it."""

from abc import abstractmethod
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from math import isfinite
from numbers import Real
from typing import Any

import numpy as np

from pgmx._ext import _families, _weighted
from pgmx.data import DiscreteTable, DistributedTable, encode
from pgmx.data.columns.missing import refuse_marked
from pgmx.scores.compiled import CompiledScore, FamilyScorer
from pgmx.statistics import marginal_counts
from pgmx.statistics.families import DistributedFamilies
from pgmx.statistics.weighted_families import WeightedFamilies
from pgmx.statistics.wide_families import open_sums

#: A smaller equivalent sample size, shared among the cells of a family, would leave the normal range of floats.
SMALLEST_SIZE = 1e-100


def check_sample_size(size: float) -> float:
    """Return an equivalent sample size unchanged, or raise ValueError."""
    if not isinstance(size, Real) or isinstance(size, bool) or not isfinite(size) or size < SMALLEST_SIZE:
        raise ValueError(
            f"equivalent_sample_size must be a positive number, got {size!r}; the smallest is {SMALLEST_SIZE}"
        )
    return size


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
    observed_configs : bool
        Whether q in the prior is the number of configurations that occur; the penalty counts all of them.
    """

    penalty: float = 0.0
    dirichlet: bool = False
    prior: float = 0.0
    per_cell: bool = False
    equivalent: bool = True
    observed_configs: bool = False


def family_scorer(
    table: DiscreteTable,
    terms: ScoreTerms,
    *,
    weights: np.ndarray | None = None,
    pairs: np.ndarray | None = None,
    allowed: np.ndarray | None = None,
    max_indegree: int | None = None,
    memory: int = 1 << 26,
    families: WeightedFamilies | None = None,
) -> "_families.FamilyScorer | _weighted.WeightedFamilyScorer":
    """Return the compiled scorer of the families of a table.

    Parameters
    ----------
    table : DiscreteTable
        Coded table of n variables; the families of a distributed one are counted by its workers, a message for a row.
    terms : ScoreTerms
        The score.
    weights : float64 ndarray of shape (N,), optional
        Row weights, not negative; counts are then sums of weights, gains are rounded to twelve digits of the largest
        score (to 1e-5 where that is finer), and `pairs` and `memory` do not apply. For integer weights of moderate
        size the scorer of ``table.repeat_rows(weights)`` is faster.
    pairs : uint32 ndarray of shape (m, m), optional
        As :func:`pgmx.statistics.pair_counts` returns them; by default pairs are counted on demand.
    allowed : uint8 ndarray of shape (n, n), optional
        ``allowed[child, parent] == 0`` keeps an arc out.
    max_indegree : int, optional
        A child with that many parents gets no gains of additions.
    memory : int, default=2**26
        Bytes of counts that the scorer may keep between calls.
    families : WeightedFamilies, optional
        The sums of the weights of a distributed table, or counts of 2**32 rows and more, where several scorers share
        them.

    Returns
    -------
    FamilyScorer, or WeightedFamilyScorer where there are weights or, in a distributed table, 2**32 rows or more
        A :class:`pgmx.scores.gains.GainSource`: ``start``, ``rescore``, ``restrict`` and ``family_score`` on ids; it
        has ``family_counts(child, parents)`` too.

    Examples
    --------
    >>> import numpy as np
    >>> from pgmx.data import DiscreteTable
    >>> table = DiscreteTable(["a", "b"], [(0, 1), (0, 1)], [[0, 0, 1, 1], [0, 0, 1, 1]])
    >>> scorer = family_scorer(table, ScoreTerms())
    >>> scorer.family_score(0, np.array([1], dtype=np.int32))
    0.0
    """
    options: dict[str, Any] = {
        "dirichlet": terms.dirichlet,
        "per_cell": terms.per_cell,
        "observed": terms.observed_configs,
        "prior": terms.prior,
        "penalty": terms.penalty,
        "equivalent": terms.equivalent,
        "allowed": allowed,
        "max_indegree": table.n_variables if max_indegree is None else max_indegree,
        "names": table.columns,
    }
    if isinstance(table, DistributedTable):
        codes, planes = np.empty((table.n_variables, 0), dtype=np.uint8), np.empty((0, 0), dtype=np.uint64)
        families = families or open_sums(table, weights)
        options |= {"ask": DistributedFamilies(table) if families is None else families, "n_rows": table.n_rows}
        if families is not None:
            return _weighted.WeightedFamilyScorer(codes, table.cardinalities, np.empty(0), **options)
    elif weights is not None:
        return _weighted.WeightedFamilyScorer(
            table.codes, table.cardinalities, np.ascontiguousarray(weights, dtype=np.float64), **options
        )
    else:
        codes, planes = table.codes, table.planes
    return _families.FamilyScorer(
        codes,
        table.cardinalities,
        planes,
        table.plane_offsets,
        marginal_counts(table),
        pairs=pairs,
        memory=memory,
        **options,
    )


class DiscreteScore(CompiledScore):
    """Base of the decomposable scores of discrete Bayesian networks.

    A subclass defines :meth:`terms`; counting and summing are compiled.

    Parameters
    ----------
    data : DataFrame, array or DiscreteTable
        One column per variable; integers are states, floats and missing cells are refused. It is kept as it is and
        never changed.
    state_names : dict, optional
        States of each variable, in order; may hold states that never occur. The observed ones by default, and all
        declared categories of a categorical column.

    Attributes
    ----------
    variables : list
        Names of the columns.
    state_names : dict
        States of every variable.
    table : DiscreteTable
        The coded data.

    Notes
    -----
    Cost of a family: one pass over the bit planes of its cells.
    """

    def __init__(self, data: Any, state_names: Mapping[Hashable, Sequence] | None = None):
        self.data = data
        self.table: DiscreteTable = encode(data, state_names=state_names)
        self.variables = list(self.table.columns)
        resolved = {name: list(states) for name, states in zip(self.variables, self.table.states, strict=True)}
        # a complete argument is kept as it is: that is what makes a score cloneable
        self.state_names = state_names if state_names is not None and set(state_names) == set(resolved) else resolved

    def _refuse_marked_cells(self) -> None:
        remedy = "code the table with 'drop' or 'category', or learn with the score's name ('bic', 'aic' or 'll')"
        refuse_marked(self.table, remedy)

    @abstractmethod
    def terms(self, n_rows: float) -> ScoreTerms:
        """Return the terms of the score for a table of `n_rows` rows, or of weights that add up to it."""

    def _make_scorer(self) -> FamilyScorer:
        self._refuse_marked_cells()
        return family_scorer(self.table, self.terms(self.table.n_rows), memory=0)
