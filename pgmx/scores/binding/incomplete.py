"""Scores bound to rows with missing values, for structural expectation maximisation.

Its searches use the score bound to completed rows, which `bind_completed` returns.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from pgmx.checks import join_names
from pgmx.data import DiscreteTable, Frame
from pgmx.data.columns import python_scalar
from pgmx.data.errors import refuse_unobserved
from pgmx.data.mixed import MixedTable
from pgmx.data.numeric import list_nonnumeric_kinds, make_rows, mark_infinite_columns, refuse_values, select_names
from pgmx.models import ConditionalGaussianNetwork, fit_linear_gaussian
from pgmx.models.bayesian.discrete_network import DiscreteBayesianNetwork
from pgmx.models.bayesian.em import EMFit, IncompleteRows
from pgmx.models.bayesian.incomplete_continuous import MOST_PRODUCTS, IncompleteContinuousRows
from pgmx.models.bayesian.incomplete_discrete import CompletedRows, IncompleteDiscreteRows
from pgmx.models.bayesian.incomplete_mixed import CompletedMixedRows, IncompleteMixedRows
from pgmx.models.bayesian.linear_gaussian_network import LinearGaussianBayesianNetwork
from pgmx.models.bayesian.networks import make_network
from pgmx.models.files.mixed import MixedParts
from pgmx.models.mixed.fitting import Smoothing
from pgmx.scores.binding.continuous import GaussianScoring, MixedScoring
from pgmx.scores.binding.discrete import DiscreteScoring, TableMixin
from pgmx.scores.binding.scoring import PriorMixin, Scoring
from pgmx.scores.chance_edges import EdgePrice
from pgmx.scores.compiled import Prices
from pgmx.scores.discrete.base import ScoreTerms, family_scorer
from pgmx.scores.gains import FamilyBounds, GainSource
from pgmx.scores.gaussian.base import GaussianScore, gaussian_scorer
from pgmx.scores.gaussian.log_likelihood import LogLikelihoodGauss
from pgmx.scores.mixed.base import RowSummary, mixed_scorer
from pgmx.scores.mixed.conditional_linear import BICCondLinearGauss
from pgmx.scores.mixed.degenerate import make_block_scorer, summarise_embedding
from pgmx.scores.mixed.source import MixedTerms
from pgmx.scores.priors import StructurePrior
from pgmx.statistics import Moments, moments
from pgmx.statistics.collinearity import Collinearity, find_collinearity, warn_of_columns

if TYPE_CHECKING:
    from pandas import DataFrame

#: Largest number of indicators of a variable in the first graph of structural EM.
MOST_INDICATORS = 20

#: Binds the score to a table and the weights of its rows.
Bind = Callable[[DiscreteTable, np.ndarray | None], Any]


class IncompleteScoring(ABC):
    """A score by name over rows with missing values.

    `available` is the score of the first graph, and the score of searches without expectations. Completed rows are the
    result of `rows.complete`, of any type.
    """

    names: list
    available: Scoring
    bonus: tuple[float, float, float]
    equivalent: bool
    #: The `EMFit` of the learned graph; parameters of other graphs are computed on demand.
    fit: Any = None

    def _set_available(self, available: Scoring) -> None:
        self.available = available
        self.names = list(available.names)
        self.bonus, self.equivalent = available.bonus, available.equivalent

    @property
    def arc_mask(self) -> np.ndarray | None:
        """The arcs that the score allows."""
        return self.available.arc_mask

    @property
    def edge_price(self) -> EdgePrice | None:
        """What an edge between two variables costs under the score of the first graph."""
        return self.available.edge_price

    @property
    def bounds(self) -> FamilyBounds:
        """Bounds of families under the score of the first graph."""
        return self.available.bounds

    def gains(
        self, *, allowed: np.ndarray | None, max_indegree: int | None, deadline: float, n_jobs: int | None
    ) -> GainSource:
        """Return gains of the score of the first graph."""
        return self.available.gains(allowed=allowed, max_indegree=max_indegree, deadline=deadline, n_jobs=n_jobs)

    def prior(self, edges: np.ndarray) -> float:
        """Return the log prior of a graph."""
        return self.available.prior(edges)

    def score_fit(self, fit: EMFit, completed: Any) -> float:
        r"""Return the log-likelihood of the observed values, with the penalty of the score for complete rows.

        .. math:: \ell_\mathrm{obs}(\theta) + s(G; D^*) - \ell(\hat\theta; D^*)

        for completed rows D*: minus the penalty of BIC or AIC, or the approximation of Cheeseman and Stutz (1996).
        """
        return fit.log_likelihood - self._penalise(fit, completed) + self.prior(fit.edges)

    def fit_edges(self, edges: Any) -> EMFit:
        """Return the parameters of a graph; the stored ones if it is the learned graph."""
        arcs = np.array(edges, dtype=np.int64).reshape(-1, 2)
        if self.fit is None or self.rows.families(arcs) != self.fit.families:
            return self.rows.fit(arcs)
        return self.fit

    @property
    @abstractmethod
    def rows(self) -> IncompleteRows:
        """The rows, and the EM algorithm for them."""

    @property
    @abstractmethod
    def data(self) -> list:
        """The arrays that the score is bound to; a checkpoint identifies the data by them."""

    @abstractmethod
    def bind_completed(self, completed: Any) -> Scoring:
        """Return the score bound to completed rows."""

    @abstractmethod
    def _penalise(self, fit: EMFit, completed: Any) -> float:
        """Return the log-likelihood of completed rows minus their score."""

    @abstractmethod
    def model(self, edges: list, **prior: float | None) -> Any:
        """Return the network of the expected counts; `prior` as in `fit_discrete`."""

    @abstractmethod
    def impute(self) -> DiscreteTable | Frame:
        """Return the rows of the table with imputed missing values."""

    @abstractmethod
    def reweight(self, weights: np.ndarray) -> "IncompleteScoring":
        """Return the same score on the weighted rows."""


class IncompleteStates(IncompleteScoring, TableMixin):
    """A discrete score over a table that marks missing values.

    `bind` binds the score to complete rows. `available` is the node average on the rows that are complete in a family.
    """

    def __init__(self, table: DiscreteTable, weights: np.ndarray | None, bind: Bind, available: Scoring):
        self.table, self.weights, self.bind = table, weights, bind
        self._set_available(available)

    @cached_property
    def rows(self) -> IncompleteDiscreteRows:
        """The distinct rows."""
        return IncompleteDiscreteRows(self.table, self.weights)

    @property
    def data(self) -> list:
        """The arrays that the score is bound to."""
        return [self.table.codes, self.table.cardinalities, self.table.missing_codes, self.weights]

    def bind_completed(self, completed: CompletedRows) -> DiscreteScoring:
        """Return the score bound to completed rows."""
        return self.bind(*completed)

    def _penalise(self, fit: EMFit, completed: CompletedRows) -> float:
        scoring = self.bind_completed(completed)
        weights = np.ones(scoring.table.n_rows) if scoring.weights is None else scoring.weights
        plain = family_scorer(scoring.table, ScoreTerms(), weights=weights)
        return compare_scores(fit.families, scoring.make_scorer(weights=weights), plain)

    def model(self, edges: list, **prior: float | None) -> DiscreteBayesianNetwork:
        """Return the network of the expected counts, by maximum likelihood or with a Dirichlet prior."""
        fit = self.fit_edges(edges)
        parents = [family[1:] for family in fit.families]
        return make_network(self.names, self.rows.states, parents, fit.statistics, **prior)

    def impute(self) -> DiscreteTable:
        """Return the rows of the table; a missing value becomes the most probable state given its row."""
        return self.rows.impute(self.fit)

    def reweight(self, weights: np.ndarray) -> "IncompleteStates":
        """Return the same score on the weighted rows."""
        products = np.asarray(weights, dtype=float) * (1.0 if self.weights is None else self.weights)
        return IncompleteStates(self.table, products, self.bind, self.available.reweight(weights))


def compare_scores(families: Sequence[Sequence[int]], own: GainSource, plain: GainSource) -> float:
    """Return the total score of families (v, parents...) under the source `plain` minus that under `own`."""
    arrays = [(v, np.array(parents, dtype=np.int32)) for v, *parents in families]
    return float(sum(plain.family_score(*family) - own.family_score(*family) for family in arrays))


# ---- continuous data ----


def read_incomplete_numbers(data: Frame, purpose: str) -> np.ndarray:
    """Return the values, (n_rows, n_columns), NaN if missing; raise ValueError for discrete or infinite columns."""
    states = list(list_nonnumeric_kinds(data))
    if states:
        raise ValueError(
            f"{purpose} needs continuous variables, but these columns are discrete: {join_names(states)}. Choose "
            "'bic-clg', or drop them"
        )
    rows = make_rows(data)
    refuse_values(data.names, None, mark_infinite_columns(rows))
    return rows


def summarise_complete_rows(numbers: np.ndarray) -> tuple[np.ndarray | None, Collinearity | None]:
    """Return the correlations of the complete rows, None if these are few or constant, and the collinear columns."""
    rows = numbers[~np.isnan(numbers).any(axis=1)]
    complete = moments(rows)
    if len(rows) <= rows.shape[1] or len(complete.constant_columns):
        return None, None
    return complete.correlation, find_collinearity(complete.correlation, complete.n_rows)


class IncompleteGaussianScoring(IncompleteScoring):
    """A score of linear Gaussian networks over continuous data, (n_rows, p), NaN for missing values.

    A search uses the score of the expected moments, which contain the moments of all families. The first search uses
    the moments expected under one unrestricted normal distribution.
    """

    def __init__(
        self,
        score: type[GaussianScore],
        numbers: np.ndarray,
        names: Sequence[Hashable],
        structure_prior: StructurePrior | None = None,
        *,
        weights: np.ndarray | None = None,
        prices: Prices | None = None,
    ):
        self.score, self.numbers, self.names, self.weights = score, numbers, list(names), weights
        self.structure_prior, self.prices = structure_prior, prices
        self._check_rows()
        self._set_available(self.bind_completed(self.rows.first))

    def _check_rows(self) -> None:
        refuse_unobserved(select_names(self.names, np.isnan(self.numbers).all(axis=0)), "em")
        constant = [self.names[v] for v in self.rows.constant]
        if constant:
            raise ValueError(
                f"the observed values of columns {join_names(constant)} are constant. A Gaussian score needs variance: "
                "drop them"
            )
        if self.rows.n_products > MOST_PRODUCTS:
            n_rows, n_columns = self.numbers.shape
            share = np.isnan(self.numbers).mean()
            raise ValueError(
                f"missing='em' would need {self.rows.n_products:.2g} multiplications per pass over {n_rows:,} rows x "
                f"{n_columns:,} columns with {share:.0%} missing values. The limit is {MOST_PRODUCTS:.0e}: choose "
                "missing='drop', or drop the columns with the most missing values"
            )

    def warn_of_collinearity(self) -> None:
        """Warn of columns that determine each other in the complete rows."""
        correlation, collinearity = summarise_complete_rows(self.numbers)
        if correlation is not None:
            warn_of_columns(correlation, self.names, collinearity)

    @cached_property
    def rows(self) -> IncompleteContinuousRows:
        """The rows, grouped by their missing columns."""
        return IncompleteContinuousRows(self.numbers, self.weights)

    @property
    def data(self) -> list:
        """The arrays that the score is bound to."""
        return [self.numbers, self.weights]

    def bind_completed(self, completed: Moments) -> GaussianScoring:
        """Return the score bound to expected moments."""
        score = self.score.from_moments(completed, self.names, self.prices)
        return GaussianScoring(score, None, self.structure_prior, sample_moments=completed)

    def _penalise(self, fit: EMFit, completed: Moments) -> float:
        own = self.bind_completed(completed)
        plain = LogLikelihoodGauss.from_moments(completed, self.names)
        scorers = own.score.make_scorer(completed, own.parameter_cost), plain.make_scorer(completed)
        return compare_scores(fit.families, *scorers)

    def model(self, edges: list, **prior: float | None) -> LinearGaussianBayesianNetwork:
        """Return a linear Gaussian network of the expected moments; `prior` applies to discrete networks only."""
        fit = self.fit_edges(edges)
        return fit_linear_gaussian(fit.statistics, self.names, edges)

    def impute(self) -> Frame:
        """Return the rows of the table; a missing value becomes its mean given its row."""
        rows = self.rows.impute(self.fit)
        return Frame(tuple(self.names), list(rows.T), len(rows))

    def reweight(self, weights: np.ndarray) -> "IncompleteGaussianScoring":
        """Return the same score on the weighted rows."""
        products = np.asarray(weights, dtype=float) * (1.0 if self.weights is None else self.weights)
        return IncompleteGaussianScoring(
            self.score, self.numbers, self.names, self.structure_prior, weights=products, prices=self.prices
        )


# ---- mixed data ----


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
        is_continuous = self.rows.mixed.is_continuous
        return (is_continuous[:, None] | ~is_continuous[None, :]).astype(np.uint8)

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
        return make_block_scorer(
            self._summary,
            self.names,
            self.parameter_cost,
            penalty=self.score.penalty,
            size_costs=self.score.size_costs,
            allowed=allowed,
            max_indegree=max_indegree,
        )

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
        prices: Prices | None = None,
    ):
        self.score, self.mixed, self.weights = score, mixed, weights
        self.structure_prior, self.prices = structure_prior, prices
        self._check_columns()
        self._set_available(JointGaussianScoring(score.from_mixed(mixed, prices), self.rows, structure_prior))

    def _check_columns(self) -> None:
        keep = slice(None) if self.weights is None else self.weights > 0
        constant = []
        for name, cells in zip(self.mixed.continuous_columns, self.mixed.numbers, strict=True):
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
        RowSummary(collinearity, self.mixed.continuous_columns).warn_of_collinearity()

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
        score = self.score.from_mixed(completed.mixed, self.prices)
        return MixedScoring(score, completed.mixed, self.structure_prior, weights=completed.weights)

    def _penalise(self, fit: EMFit, completed: CompletedMixedRows) -> float:
        """Return the cost of the parameters; a family may have no finite score on draws."""
        cards = self.rows.cards
        score, n_parameters, of_sizes = self.score.from_mixed(self.mixed, self.prices), 0, 0.0
        costs = score.size_costs
        for v, *parents in fit.families:
            of_sizes += 0.0 if costs is None else float(costs[len(parents)])
            n_cells = int(np.prod([cards[u] for u in parents if cards[u]]))
            n_floats = sum(not cards[u] for u in parents)
            n_parameters += n_cells * (cards[v] - 1 if cards[v] else n_floats + 2)
        cost = score.parameter_cost(self.rows.n)
        if self.structure_prior is not None:
            cost += self.structure_prior.parameter_cost
        return cost * n_parameters + of_sizes

    def model(self, edges: list, **prior: float | None) -> ConditionalGaussianNetwork:
        """Return the network of the expected counts and moments; `prior` as in `fit_discrete`."""
        fit = self.fit_edges(edges)
        smoothing = Smoothing(prior.get("equivalent_sample_size"), prior.get("pseudo_counts"))
        network = self.rows.to_units(self.rows.estimate(fit.families, fit.statistics, smoothing))
        of_states = iter(self.rows.states)
        states = [
            None if is_continuous else tuple(next(of_states)) for is_continuous in self.mixed.is_continuous.tolist()
        ]
        parts = MixedParts(tuple(map(python_scalar, self.names)), states, network)
        return ConditionalGaussianNetwork.from_parts(parts)

    def impute(self) -> Frame:
        """Return the rows; a missing value becomes the most probable state or the mean, given its row."""
        return make_frame(self.rows.impute(self.fit))

    def reweight(self, weights: np.ndarray) -> "IncompleteMixedScoring":
        """Return the same score on the weighted rows."""
        products = np.asarray(weights, dtype=float) * (1.0 if self.weights is None else self.weights)
        return IncompleteMixedScoring(
            self.score, self.mixed, self.structure_prior, weights=products, prices=self.prices
        )


def make_frame(mixed: MixedTable) -> Frame:
    """Return the continuous and discrete columns of a mixed table as a frame."""
    states = None if mixed.table is None else mixed.table.to_pandas()
    columns: list = []
    for v, place in enumerate(mixed.positions.tolist()):
        columns.append(mixed.numbers[place] if mixed.is_continuous[v] else states.iloc[:, place].array)  # type: ignore
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
