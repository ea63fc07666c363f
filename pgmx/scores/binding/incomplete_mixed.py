"""Scores of conditional linear Gaussian networks bound to mixed data with missing values."""

from collections.abc import Hashable
from functools import cached_property
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from pgmx.checks import join_names
from pgmx.data import DiscreteTable, Frame
from pgmx.data.columns import python_scalar
from pgmx.data.mixed import MixedTable
from pgmx.models import ConditionalGaussianNetwork
from pgmx.models.bayesian.em import EMFit
from pgmx.models.bayesian.incomplete_continuous import IncompleteContinuousRows
from pgmx.models.bayesian.incomplete_discrete import IncompleteDiscreteRows
from pgmx.models.bayesian.incomplete_mixed import CompletedMixedRows, IncompleteMixedRows
from pgmx.models.files.mixed import MixedParts
from pgmx.models.mixed.fitting import Smoothing
from pgmx.scores.binding.gaussian import GaussianScoring
from pgmx.scores.binding.incomplete import IncompleteScoring
from pgmx.scores.binding.incomplete_numbers import summarise_complete_rows
from pgmx.scores.binding.mixed import MixedScoring
from pgmx.scores.binding.scoring import PriorMixin
from pgmx.scores.gains import GainSource
from pgmx.scores.gaussian.base import gaussian_scorer
from pgmx.scores.mixed.base import RowSummary, mixed_scorer
from pgmx.scores.mixed.conditional_linear import BICCondLinearGauss
from pgmx.scores.mixed.degenerate import make_block_scorer, summarise_embedding
from pgmx.scores.mixed.source import MixedTerms
from pgmx.scores.priors import StructurePrior

if TYPE_CHECKING:
    from pandas import DataFrame


#: Largest number of indicators of a variable in the first graph of structural EM.
MOST_INDICATORS = 20


def list_indicators(counts: np.ndarray) -> list[int]:
    """Return the states with an indicator, ascending: the most frequent states, except the first of them.

    At most `MOST_INDICATORS` states have an indicator; rarer states are treated as the state without an indicator.
    """
    order = np.argsort(-counts, kind="stable")
    chosen = order[1 : 1 + MOST_INDICATORS]
    return sorted(chosen[counts[chosen] > 0].tolist())


class JointGaussianScoring(PriorMixin):
    """The degenerate Gaussian score of the expected moments of continuous variables and indicators of states.

    One unrestricted normal distribution is fitted to the observed values. The score gives the first graph of structural
    EM, which has no arc from a continuous to a discrete variable.
    """

    equivalent = True

    def __init__(self, score: BICCondLinearGauss, rows: IncompleteMixedRows, structure_prior: StructurePrior | None):
        self.score, self.rows = score, rows
        self.names: list[Hashable] = list(rows.mixed.columns)
        self._set_prior(structure_prior)

    @property
    def arc_mask(self) -> np.ndarray | None:
        """The allowed arcs, ``allowed[child, parent]``: none from continuous to discrete variables."""
        is_float = self.rows.mixed.is_float
        return (is_float[:, None] | ~is_float[None, :]).astype(np.uint8)

    @cached_property
    def _summary(self) -> RowSummary:
        """The expected moments, and the columns that determine each other."""
        rows, columns, starts = self.rows, [], [0]
        for v, card in enumerate(rows.cards):
            missing = rows.missing[v]
            if not card:
                columns.append(np.where(missing, np.nan, rows.rows.numbers[v]))
            else:
                counts = np.bincount(rows.rows.codes[v], rows.weights * ~missing, minlength=card)
                for state in list_indicators(counts):
                    columns.append(np.where(missing, np.nan, rows.rows.codes[v] == state))
            starts.append(len(columns))
        expected = IncompleteContinuousRows(np.column_stack(columns), rows.weights).first
        return summarise_embedding(expected, np.array(starts, dtype=np.int64), self.names)

    def gains(
        self, *, allowed: np.ndarray | None, max_indegree: int | None, deadline: float, n_jobs: int | None
    ) -> GainSource:
        """Return the compiled scorer of the moments."""
        options: dict[str, Any] = {"allowed": allowed, "max_indegree": max_indegree}
        return make_block_scorer(self._summary, self.names, self.parameter_cost, **options)

    def model(self, edges: list, **prior: float | None) -> Any:
        """Raise NotImplementedError: the score of the first graph has no network."""
        raise NotImplementedError("the score of the first graph of structural EM has no network")

    def reweight(self, weights: np.ndarray) -> "JointGaussianScoring":
        """Return the same score on the weighted rows."""
        rows = IncompleteMixedRows(self.rows.mixed, self.rows.weights * np.asarray(weights, dtype=float))
        return JointGaussianScoring(self.score, rows, self.structure_prior)


class IncompleteMixedScoring(IncompleteScoring):
    """A score of conditional linear Gaussian networks over a table with missing values.

    A search uses the score of draws of the missing values from a fixed random stream, because the expected moments of
    all candidate families would be too many.
    """

    def __init__(
        self,
        score: type[BICCondLinearGauss],
        mixed: MixedTable,
        structure_prior: StructurePrior | None = None,
        *,
        weights: np.ndarray | None = None,
    ):
        self.score, self.mixed, self.weights = score, mixed, weights
        self.structure_prior = structure_prior
        self._check_columns()
        self._set_available(JointGaussianScoring(score.from_mixed(mixed), self.rows, structure_prior))

    def _check_columns(self) -> None:
        keep = slice(None) if self.weights is None else self.weights > 0
        constant = []
        for name, cells in zip(self.mixed.float_names, self.mixed.numbers, strict=True):
            known = cells[keep][~np.isnan(cells[keep])]
            if not known.size or np.ptp(known) <= np.abs(known).max() * 1e-15:
                constant.append(name)
        if constant:
            raise ValueError(
                f"the observed values of columns {join_names(constant)} are constant. A Gaussian score needs variance: "
                "drop them"
            )

    def warn_of_collinearity(self) -> None:
        """Warn of three or more continuous columns that determine each other in the rows in which all are observed."""
        _, collinearity = summarise_complete_rows(self.mixed.numbers.T)
        RowSummary(collinearity, self.mixed.float_names).warn_of_collinearity()

    @cached_property
    def rows(self) -> IncompleteMixedRows:
        """The rows, grouped by their missing columns."""
        return IncompleteMixedRows(self.mixed, self.weights)

    @property
    def data(self) -> list:
        """The arrays that the score is bound to."""
        table = self.mixed.table
        states = [] if table is None else [table.codes, table.cardinalities, table.missing_codes]
        return [self.mixed.numbers, *states, self.weights]

    def bind_completed(self, completed: CompletedMixedRows) -> MixedScoring:
        """Return the score bound to weighted complete rows."""
        score = self.score.from_mixed(completed.mixed)
        return MixedScoring(score, completed.mixed, self.structure_prior, weights=completed.weights)

    def _penalise(self, fit: EMFit, completed: CompletedMixedRows) -> float:
        """Return the cost of the parameters; a family may have no finite score on draws."""
        cards = self.rows.cards
        n_parameters = 0
        for v, *parents in fit.families:
            n_cells = int(np.prod([cards[u] for u in parents if cards[u]]))
            n_floats = sum(not cards[u] for u in parents)
            n_parameters += n_cells * (cards[v] - 1 if cards[v] else n_floats + 2)
        cost = self.score.from_mixed(self.mixed).parameter_cost(self.rows.n)
        if self.structure_prior is not None:
            cost += self.structure_prior.parameter_cost
        return cost * n_parameters

    def model(self, edges: list, **prior: float | None) -> ConditionalGaussianNetwork:
        """Return the network of the expected counts and moments; `prior` as in `fit_discrete`."""
        fit = self.fit_edges(edges)
        smoothing = Smoothing(prior.get("equivalent_sample_size"), prior.get("pseudo_counts"))
        network = self.rows.to_units(self.rows.estimate(fit.families, fit.statistics, smoothing))
        of_states = iter(self.rows.states)
        states = [None if is_float else tuple(next(of_states)) for is_float in self.mixed.is_float.tolist()]
        parts = MixedParts(tuple(map(python_scalar, self.names)), states, network)
        return ConditionalGaussianNetwork.from_parts(parts)

    def impute(self) -> Frame:
        """Return the rows; a missing value becomes the most probable state or the mean, given its row."""
        return make_frame(self.rows.impute(self.fit))

    def reweight(self, weights: np.ndarray) -> "IncompleteMixedScoring":
        """Return the same score on the weighted rows."""
        products = np.asarray(weights, dtype=float) * (1.0 if self.weights is None else self.weights)
        return IncompleteMixedScoring(self.score, self.mixed, self.structure_prior, weights=products)


def make_frame(mixed: MixedTable) -> Frame:
    """Return the continuous and discrete columns of a mixed table as a frame."""
    states = None if mixed.table is None else mixed.table.to_pandas()
    columns: list = []
    for v, place in enumerate(mixed.positions.tolist()):
        columns.append(mixed.numbers[place] if mixed.is_float[v] else states.iloc[:, place].array)  # type: ignore
    return Frame(mixed.columns, columns, mixed.n_rows)


def take_rows(scoring: Any) -> Frame | DiscreteTable:
    """Return the rows that a score is bound to, with imputed missing values."""
    if isinstance(scoring, IncompleteScoring):
        return scoring.impute()
    if isinstance(scoring, MixedScoring):
        return make_frame(scoring.mixed)
    if isinstance(scoring, GaussianScoring):
        return Frame.from_pandas(cast("DataFrame", scoring.rows))
    return scoring.table


def compute_log_likelihood(scoring: Any, edges: np.ndarray) -> float:
    """Return the maximised log-likelihood of complete rows under a graph, in nats."""
    if isinstance(scoring, GaussianScoring):
        plain: Any = gaussian_scorer(scoring.moments, 0.0)
    elif isinstance(scoring, MixedScoring):
        plain = mixed_scorer(scoring.mixed, MixedTerms(), weights=scoring.weights)
    else:
        return IncompleteDiscreteRows(scoring.table, scoring.weights).fit(edges, max_steps=2).log_likelihood
    parents = [np.sort(edges[edges[:, 1] == v, 0]).astype(np.int32) for v in range(len(scoring.names))]
    return float(sum(plain.family_score(v, family) for v, family in enumerate(parents)))
