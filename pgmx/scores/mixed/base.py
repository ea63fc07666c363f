"""The scores of networks of floats beside states over the moments of their configurations."""

from abc import abstractmethod
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import inf
from typing import Any, TypeVar

import numpy as np

from pgmx.data import DiscreteTable, open_any
from pgmx.data.mixed import MixedTable, read_mixed
from pgmx.data.weights import combine_weights
from pgmx.scores.collinear import warn_of_set
from pgmx.scores.compiled import CompiledScore, FamilyScorer
from pgmx.scores.discrete.base import ScoreTerms, family_scorer
from pgmx.scores.gains import GainSource
from pgmx.scores.mixed.source import MixedGains, MixedTerms
from pgmx.scores.mixed.sums import MixedSums
from pgmx.statistics import Moments, moments, pair_counts
from pgmx.statistics.collinearity import Collinearity, find_collinearity


@dataclass(frozen=True, eq=False)
class RowSummary:
    """What a score needs to know of all rows of a table before it scores families.

    `collinearity` are the columns that determine each other, of the names `names`; `embedding` are the moments of the
    degenerate Gaussian score, and where the columns of each variable begin.
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
    """Return the summary of a table whose columns of floats may determine each other."""
    collinearity = None
    if len(mixed.numbers) > 2:
        of_floats = moments(mixed.numbers.T, weights)
        collinearity = find_collinearity(of_floats.correlation, of_floats.n_rows)
    return RowSummary(collinearity, mixed.float_names)


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
) -> MixedGains:
    """Return the source of gains of the conditional Gaussian families of a mixed table.

    Arguments are those of :func:`pgmx.scores.gaussian_scorer`; no child is scored after `deadline`, a reading of
    ``time.perf_counter``; pairs of columns of states are counted by `n_jobs` threads. `summary` is that of
    `summarise_floats`, if the caller has it.
    """
    summary = summarise_floats(mixed, weights) if summary is None else summary
    discrete = None
    if mixed.table is not None:
        table, products = mixed.table, weights
        if weights is not None:
            table, products = combine_weights(table, None, weights)
        pairs = pair_counts(table, n_jobs=n_jobs) if products is None else None
        of_states = ScoreTerms(penalty=terms.penalty)
        discrete = family_scorer(table, of_states, weights=products, pairs=pairs)
    return MixedGains(
        MixedSums(mixed.numbers, mixed.table, weights),
        terms,
        mixed.is_float,
        discrete=discrete,
        allowed=allowed,
        max_indegree=max_indegree,
        deadline=deadline,
        names=mixed.columns,
        collinearity=summary.collinearity,
    )


Score = TypeVar("Score", bound="MixedScore")  # of Self jedi returns the base class


class MixedScore(CompiledScore):
    """Base of the decomposable scores of networks of floats beside states.

    A subclass defines :meth:`make_source`. The data are read once.

    Parameters
    ----------
    data : DataFrame, array or DiscreteTable
        Columns of finite floats, none constant, and columns of states; integers are states. It is kept as it is and
        never changed.
    state_names : dict, optional
        States of some or all columns of states, in order.

    Attributes
    ----------
    variables : list
        Names of the columns.
    mixed : MixedTable
        The columns by kind.

    Raises
    ------
    ValueError
        If a column of floats is constant, or cells are missing or infinite; the message names it.
    """

    def __init__(self, data: Any, state_names: Mapping[Hashable, Sequence] | None = None):
        self.data = data
        self.state_names = state_names
        opened = data if isinstance(data, DiscreteTable) else open_any(data, state_names=state_names)
        self.mixed: MixedTable = self.prepare(read_mixed(opened, state_names=state_names))
        self.mixed.refuse_constant()
        self.variables = list(self.mixed.columns)

    @classmethod
    def from_mixed(cls: type[Score], mixed: MixedTable) -> Score:
        """Return the score of a table that is read already, options at their defaults; its `data` is None."""
        score = cls.__new__(cls)
        score.data = score.state_names = None
        score.mixed = score.prepare(mixed)
        score.variables = list(mixed.columns)
        return score

    def prepare(self, mixed: MixedTable) -> MixedTable:
        """Return the table that is scored."""
        return mixed

    @property
    @abstractmethod
    def scores_discrete_children(self) -> bool:
        """Whether floats may be parents of states."""

    @property
    @abstractmethod
    def equivalent(self) -> bool:
        """Whether graphs that are Markov equivalent, and that it scores, have the same score."""

    @abstractmethod
    def make_source(
        self, mixed: MixedTable, weights: np.ndarray | None = None, prior_cost: float = 0.0, **options: Any
    ) -> GainSource:
        """Return a source of gains over a table; a parameter costs `prior_cost` more.

        Options are those of ``mixed_scorer``: allowed, max_indegree, deadline, n_jobs, and summary, that of
        `summarise`.
        """

    @abstractmethod
    def summarise(self, mixed: MixedTable, weights: np.ndarray | None = None) -> RowSummary:
        """Return what the score needs to know of all rows of a table."""

    def _make_scorer(self) -> FamilyScorer:
        return self.make_source(self.mixed)


class ConditionalScore(MixedScore):
    """Base of the scores of conditional Gaussian families; a subclass defines `terms`."""

    @property
    def scores_discrete_children(self) -> bool:
        """Whether floats may be parents of states."""
        return self.terms(2.0).discrete_children

    @property
    def equivalent(self) -> bool:
        """Whether graphs that are Markov equivalent, and that it scores, have the same score."""
        # a reversal between a float and a state would change the number of parameters
        return not self.scores_discrete_children

    def summarise(self, mixed: MixedTable, weights: np.ndarray | None = None) -> RowSummary:
        """Return which columns of floats determine each other."""
        return summarise_floats(mixed, weights)

    @abstractmethod
    def terms(self, n_rows: float) -> MixedTerms:
        """Return the terms of the score for `n_rows` rows, or for weights that add up to it."""

    def make_source(
        self, mixed: MixedTable, weights: np.ndarray | None = None, prior_cost: float = 0.0, **options: Any
    ) -> GainSource:
        """Return a source of gains over the moments of configurations."""
        terms = self.terms(mixed.n_rows if weights is None else float(weights.sum()))
        terms = replace(terms, penalty=terms.penalty + prior_cost) if prior_cost else terms
        return mixed_scorer(mixed, terms, weights=weights, **options)
