"""Scores of linear Gaussian networks bound to continuous data with missing values."""

from collections.abc import Hashable, Sequence
from functools import cached_property

import numpy as np
from pgmpy.models import LinearGaussianBayesianNetwork

from pgmx.checks import join_names
from pgmx.data import Frame
from pgmx.data.errors import refuse_unobserved
from pgmx.data.numeric import list_nonnumeric_kinds, make_rows, mark_infinite_columns, refuse_values, select_names
from pgmx.models import fit_linear_gaussian
from pgmx.models.bayesian.em import EMFit
from pgmx.models.bayesian.incomplete_continuous import MOST_PRODUCTS, IncompleteContinuousRows
from pgmx.scores.binding.gaussian import GaussianScoring
from pgmx.scores.binding.incomplete import IncompleteScoring, compare_scores
from pgmx.scores.collinear import warn_of_columns
from pgmx.scores.gaussian.base import GaussianScore
from pgmx.scores.gaussian.log_likelihood import LogLikelihoodGauss
from pgmx.scores.priors import StructurePrior
from pgmx.statistics import Moments, moments
from pgmx.statistics.collinearity import Collinearity, find_collinearity


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
    ):
        self.score, self.numbers, self.names, self.weights = score, numbers, list(names), weights
        self.structure_prior = structure_prior
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
        score = self.score.from_moments(completed, self.names)
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
        return IncompleteGaussianScoring(self.score, self.numbers, self.names, self.structure_prior, weights=products)
