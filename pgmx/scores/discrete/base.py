"""The terms of a decomposable discrete score, as the kernels need them, and the base class of the scores."""

from abc import abstractmethod
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from math import isfinite
from numbers import Real
from typing import Any, NamedTuple

import numpy as np

from pgmx._ext import _families, _weighted
from pgmx.data import DiscreteTable, encode
from pgmx.data.errors import refuse_marked
from pgmx.scores.compiled import CompiledScore, FamilyScorer
from pgmx.scores.registry import describe_pairwise
from pgmx.statistics import marginal_counts
from pgmx.statistics.families import WeightedFamilies, open_families

#: A smaller equivalent sample size, divided among the cells of a family, would underflow.
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

    with :math:`f(n) = n \ln n`, or :math:`f(n; a) = \ln\Gamma(n + a) - \ln\Gamma(a)` if `dirichlet` is set; x has r
    states, its parents have q configurations.

    Attributes
    ----------
    penalty : float
        c, the cost of a free parameter.
    dirichlet : bool
        Whether f is the Dirichlet term.
    prior : float
        a, or a q r if `per_cell` is set.
    per_cell : bool
        Whether the prior is divided among the q r cells of a family.
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


class RowMasks(NamedTuple):
    """The rows that families count: sets of rows as bit planes, uint64 (m, words), and the set of each child.

    ``mask_of`` is int64 (n,), -1 for all rows.
    """

    masks: np.ndarray
    mask_of: np.ndarray


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
    rows: RowMasks | None = None,
) -> "_families.FamilyScorer | _weighted.WeightedFamilyScorer":
    """Return the compiled scorer of the families of a table.

    Parameters
    ----------
    table : DiscreteTable
        Coded table of n variables. Workers count the families of a distributed table, with one message per row of
        gains.
    terms : ScoreTerms
        The score.
    weights : float64 ndarray of shape (N,), optional
        Non-negative row weights. Counts are then sums of weights; gains are rounded to twelve digits of the largest
        score, or to 1e-5 if that is finer; `pairs` and `memory` do not apply. For small integer weights the scorer of
        ``table.repeat_rows(weights)`` is faster.
    pairs : uint32 ndarray of shape (m, m), optional
        As :func:`pgmx.statistics.pair_counts` returns them; by default pairs are counted on demand.
    allowed : uint8 ndarray of shape (n, n), optional
        ``allowed[child, parent] == 0`` forbids an arc.
    max_indegree : int, optional
        Largest number of parents. A child with `max_indegree` parents has no gains of additions.
    memory : int, default=2**26
        Bytes of counts that the scorer may keep between calls.
    families : WeightedFamilies, optional
        The sums of weights of a distributed table, or the counts of a table with 2**32 rows or more, if several scorers
        share them.
    rows : RowMasks, optional
        The rows that the families of each child count; all by default. Only for local rows without weights.

    Returns
    -------
    FamilyScorer, or WeightedFamilyScorer for row weights and for a distributed table of 2**32 rows or more
        A :class:`pgmx.scores.gains.GainSource`: ``start``, ``rescore``, ``restrict`` and ``family_score`` on ids, and
        in addition ``family_counts(child, parents)``.

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
    ask = families or open_families(table, weights)
    if ask is not None:  # the scorer sees no rows
        codes, planes = np.empty((table.n_variables, 0), dtype=np.uint8), np.empty((0, 0), dtype=np.uint64)
        options |= {"ask": ask, "n_rows": table.n_rows}
        if isinstance(ask, WeightedFamilies):
            return _weighted.WeightedFamilyScorer(codes, table.cardinalities, np.empty(0), **options)
    elif weights is not None:
        options |= table.view_codes() | {"weights": np.ascontiguousarray(weights, dtype=np.float64)}
        return _weighted.WeightedFamilyScorer(cardinalities=table.cardinalities, **options)
    elif table.has_views:
        views = table.view_columns()
        return _families.FamilyScorer(cardinalities=table.cardinalities, memory=memory, **views, **options)
    else:
        codes, planes = table.codes, table.planes
        options |= {} if rows is None else rows._asdict()
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
        One discrete column per variable, without missing values. Integers are states. The data are never changed.
    state_names : dict, optional
        States of each variable, in order, including states that never occur. By default the observed states, and all
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
    A family costs one pass over the bit planes of its columns.
    """

    def __init__(self, data: Any, state_names: Mapping[Hashable, Sequence] | None = None):
        self.data = data
        self.table: DiscreteTable = encode(data, state_names=state_names)
        self.variables = list(self.table.columns)
        resolved = {name: list(states) for name, states in zip(self.variables, self.table.states, strict=True)}
        # sklearn's clone needs a complete argument to be stored unchanged
        self.state_names = state_names if state_names is not None and set(state_names) == set(resolved) else resolved

    def _refuse_marked_cells(self) -> None:
        remedy = f"code the table with 'drop' or 'category', or learn with the score's name ({describe_pairwise()})"
        refuse_marked(self.table, remedy)

    @abstractmethod
    def terms(self, n_rows: float) -> ScoreTerms:
        """Return the terms of the score for a table of `n_rows` rows, or for weights with this sum."""

    @property
    def equivalent(self) -> bool:
        """Whether Markov equivalent graphs have the same score."""
        return self.terms(self.table.n_rows).equivalent

    def _make_scorer(self) -> FamilyScorer:
        self._refuse_marked_cells()
        scorer = family_scorer(self.table, self.terms(self.table.n_rows), memory=0)
        scorer.price_sizes(self.size_costs)
        return scorer
