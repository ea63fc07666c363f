"""The scores of networks of continuous and discrete variables, from the moments of the configurations."""

from abc import abstractmethod
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import inf
from typing import Any, NamedTuple, TypeVar

import numpy as np

from pgmx.data import DiscreteTable, open_any
from pgmx.data.mixed import MixedTable, read_mixed
from pgmx.data.weights import combine_weights
from pgmx.scores.chance_edges import EdgePrice
from pgmx.scores.compiled import CompiledScore, FamilyScorer, Prices
from pgmx.scores.discrete.base import RowMasks, ScoreTerms, family_scorer
from pgmx.scores.gains import GainSource
from pgmx.scores.mixed.partial import PartialGains
from pgmx.scores.mixed.source import MixedGains, MixedTerms
from pgmx.scores.mixed.sums import MixedSums
from pgmx.statistics import Moments, moments, pair_counts
from pgmx.statistics.collinearity import Collinearity, find_collinearity, warn_of_set


@dataclass(frozen=True, eq=False)
class RowSummary:
    """Summaries of all rows of a table that a score needs before it scores families.

    `collinearity` describes the columns that determine each other, and `names` are the names of all columns.
    `embedding` holds the moments of the degenerate Gaussian score and the first column of each variable.
    """

    collinearity: Collinearity | None
    names: Sequence[Hashable]
    embedding: tuple[Moments, np.ndarray] | None = None

    def warn_of_collinearity(self) -> None:
        """Warn of three or more columns that determine each other."""
        if self.collinearity is not None:
            members = list(dict.fromkeys(self.names[v] for v in self.collinearity.smallest))
            if len(members) > 2:
                warn_of_set(members, self.collinearity.n_determined)


def summarise_floats(mixed: MixedTable, weights: np.ndarray | None = None) -> RowSummary:
    """Return the summary of a table whose continuous columns may determine each other."""
    collinearity = None
    if len(mixed.numbers) > 2:
        of_floats = moments(mixed.numbers.T, weights)
        collinearity = find_collinearity(of_floats.correlation, of_floats.n_rows)
    return RowSummary(collinearity, mixed.continuous_columns)


def mixed_scorer(
    mixed: MixedTable,
    terms: MixedTerms,
    *,
    summary: RowSummary | None = None,
    weights: np.ndarray | None = None,
    allowed: np.ndarray | None = None,
    max_indegree: int | None = None,
    deadline: float = inf,
    n_jobs: int | None = None,
    size_costs: np.ndarray | None = None,
    row_sets: "RowSets | None" = None,
) -> MixedGains:
    """Return the source of gains of the conditional Gaussian families of a mixed table.

    Arguments are as in :func:`pgmx.scores.gaussian_scorer`, `size_costs` as in `CompiledScore`. No child is scored
    after `deadline`, a time of ``time.perf_counter``. `n_jobs` threads count pairs of discrete columns. `summary` is
    the result of `summarise_floats`, if already computed. `row_sets` are the rows that families count.
    """
    summary = summarise_floats(mixed, weights) if summary is None else summary
    discrete = None
    if mixed.table is not None:
        table, products = mixed.table, weights
        if weights is not None:
            table, products = combine_weights(table, None, weights)
        pairs = pair_counts(table, n_jobs=n_jobs) if products is None else None
        of_states = ScoreTerms(penalty=terms.penalty)
        masks = None if row_sets is None else row_sets.masks
        discrete = family_scorer(table, of_states, weights=products, pairs=pairs, rows=masks)
    options: dict[str, Any] = {
        "discrete": discrete,
        "allowed": allowed,
        "max_indegree": max_indegree,
        "deadline": deadline,
        "names": mixed.columns,
        "collinearity": summary.collinearity,
        "size_costs": size_costs,
    }
    sums = MixedSums(mixed.numbers, mixed.table, weights)
    if row_sets is None:
        return MixedGains(sums, terms, mixed.is_continuous, **options)
    rows = row_sets.rows
    return PartialGains(sums, terms, mixed.is_continuous, row_sets=rows, group_of=row_sets.group_of, **options)


class RowSets(NamedTuple):
    """The rows that families count: sets, each bool (N,), the set of each variable, -1 for all rows, and bit masks.

    `masks` are for the discrete columns. If small weights are replaced by repeated rows, they mask these.
    """

    rows: Sequence[np.ndarray]
    group_of: np.ndarray
    masks: RowMasks | None


Score = TypeVar("Score", bound="MixedScore")  # of Self jedi returns the base class


class MixedScore(CompiledScore):
    """Base of the decomposable scores of networks of continuous and discrete variables.

    A subclass defines :meth:`make_source`. The data are read once.

    Parameters
    ----------
    data : DataFrame, array or DiscreteTable
        Continuous columns of finite values, none constant, and discrete columns. Integers are discrete. The data
        are never changed.
    state_names : dict, optional
        States of some or all discrete columns, in order.

    Attributes
    ----------
    variables : list
        Names of the columns.
    mixed : MixedTable
        The continuous and the discrete columns.

    Raises
    ------
    ValueError
        If a continuous column is constant, or values are missing or infinite; the message names the column.
    """

    def __init__(self, data: Any, state_names: Mapping[Hashable, Sequence] | None = None):
        self.data = data
        self.state_names = state_names
        opened = data if isinstance(data, DiscreteTable) else open_any(data, state_names=state_names)
        self.mixed: MixedTable = self.prepare(read_mixed(opened, state_names=state_names))
        self.mixed.refuse_constant()
        self.variables = list(self.mixed.columns)

    @classmethod
    def from_mixed(cls: type[Score], mixed: MixedTable, prices: Prices | None = None) -> Score:
        """Return the score of a table that is already read, with default options; its `data` is None."""
        score = cls.__new__(cls)
        score.penalty, score.gamma = (cls.penalty, cls.gamma) if prices is None else prices
        score.data = score.state_names = None
        score.mixed = score.prepare(mixed)
        score.variables = list(mixed.columns)
        return score

    def prepare(self, mixed: MixedTable) -> MixedTable:
        """Return the table that is scored."""
        return mixed

    def edge_price(self, mixed: MixedTable, summary: RowSummary, weights: np.ndarray | None = None) -> EdgePrice | None:
        """Return what an edge between two variables costs; None by default: parameters have no fixed price."""
        return None

    @property
    @abstractmethod
    def scores_discrete_children(self) -> bool:
        """Whether continuous variables may be parents of discrete variables."""

    @property
    @abstractmethod
    def equivalent(self) -> bool:
        """Whether Markov equivalent graphs have the same score, among the graphs that the score allows."""

    def allows(self, tail: Hashable, head: Hashable) -> bool:
        """Return whether graphs may have an arc; some scores allow none from continuous to discrete variables."""
        is_continuous = self.mixed.is_continuous
        return bool(self.scores_discrete_children or is_continuous[self._id(head)] or not is_continuous[self._id(tail)])

    @abstractmethod
    def make_source(
        self, mixed: MixedTable, weights: np.ndarray | None = None, prior_cost: float = 0.0, **options: Any
    ) -> GainSource:
        """Return a source of gains over a table; `prior_cost` is added to the cost of a parameter.

        Options are as in ``mixed_scorer``: allowed, max_indegree, deadline, n_jobs, and summary, the result of
        `summarise`.
        """

    @abstractmethod
    def summarise(self, mixed: MixedTable, weights: np.ndarray | None = None) -> RowSummary:
        """Return the summary of all rows that the score needs."""

    def _make_scorer(self) -> FamilyScorer:
        return self.make_source(self.mixed)


class ConditionalScore(MixedScore):
    """Base of the scores of conditional Gaussian families; a subclass defines `terms`."""

    @property
    def scores_discrete_children(self) -> bool:
        """Whether continuous variables may be parents of discrete variables."""
        return self.terms(2.0).discrete_children

    @property
    def equivalent(self) -> bool:
        """Whether Markov equivalent graphs have the same score, among the graphs that the score allows."""
        # reversing an arc between a continuous and a discrete variable would change the number of parameters
        return not self.scores_discrete_children

    def summarise(self, mixed: MixedTable, weights: np.ndarray | None = None) -> RowSummary:
        """Return the continuous columns that determine each other."""
        return summarise_floats(mixed, weights)

    @abstractmethod
    def terms(self, n_rows: float) -> MixedTerms:
        """Return the terms of the score for `n_rows` rows, or for weights with this sum."""

    def make_source(
        self, mixed: MixedTable, weights: np.ndarray | None = None, prior_cost: float = 0.0, **options: Any
    ) -> GainSource:
        """Return a source of gains over the moments of configurations."""
        terms = self.terms(mixed.n_rows if weights is None else float(weights.sum()))
        terms = replace(terms, penalty=terms.penalty + prior_cost) if prior_cost else terms
        return mixed_scorer(mixed, terms, weights=weights, size_costs=self.size_costs, **options)
