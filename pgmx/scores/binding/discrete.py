"""pgmx's discrete scores bound to a coded table.

They are compiled, with or without row weights. A score with its own formula (a prior network, missing values) is
evaluated on the counts of a family.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Any
from weakref import ref

import numpy as np

from pgmx.data import DiscreteTable, estimate_memory
from pgmx.data.memory import limit_kept_counts
from pgmx.data.weights import combine_weights
from pgmx.models import fit_discrete
from pgmx.models.bayesian.discrete_network import DiscreteBayesianNetwork
from pgmx.scores.binding.scoring import FunctionMixin, PriorMixin, strip_data
from pgmx.scores.chance_edges import EdgePrice
from pgmx.scores.discrete.base import DiscreteScore, RowMasks, ScoreTerms, family_scorer
from pgmx.scores.discrete.formulas import CountedFamilies, Formula, NodeAverage
from pgmx.scores.gains import CELLS, LIKELIHOOD, FamilyBounds, GainSource
from pgmx.scores.priors import StructurePrior
from pgmx.statistics import pair_counts
from pgmx.statistics.families import WeightedFamilies, open_families


class TableMixin:
    """A coded table, the weights of its rows, and networks fitted to them."""

    table: DiscreteTable
    weights: np.ndarray | None = None

    @property
    def total_weight(self) -> float:
        """Number of rows, or the sum of their weights."""
        return self.table.n_rows if self.weights is None else float(self.weights.sum())

    def model(self, edges: list, **prior: float | None) -> DiscreteBayesianNetwork:
        """Return a discrete network, its parameters by maximum likelihood or with a Dirichlet prior."""
        return fit_discrete(self.table, edges, self.weights, **prior)


class DiscreteScoring(TableMixin, PriorMixin):
    """One of pgmx's scores over a coded table."""

    # shared by all sources in use: pair counts; for a distributed table, sums of weights or counts beyond 32 bits
    _pairs: Callable[[], np.ndarray | None] | None = None
    _sums: Callable[[], WeightedFamilies | None] | None = None
    #: The rows that the families of each child count, None for all.
    row_masks: RowMasks | None = None

    def __init__(self, score: DiscreteScore, table: DiscreteTable, structure_prior: StructurePrior | None = None):
        self.score = score
        self.table = table
        self.names = list(table.columns)
        self.equivalent: bool = score.terms(table.n_rows).equivalent
        self._set_prior(structure_prior)

    @property
    def terms(self) -> ScoreTerms:
        """The score's terms, including the cost of a parameter under the structure prior."""
        terms = self.score.terms(self.total_weight)
        return replace(terms, penalty=terms.penalty + self.parameter_cost) if self.parameter_cost else terms

    @property
    def bounds(self) -> FamilyBounds:
        """Bounds of families that are not scored yet."""
        terms, costs = self.terms, self.score.size_costs
        return FamilyBounds(CELLS if terms.dirichlet else LIKELIHOOD, terms.penalty, self.table.cardinalities, costs)

    def _price_parameters(self) -> EdgePrice | None:
        """Return what the parameters of an edge cost; None for a Dirichlet score and for the likelihood."""
        cost = self.terms.penalty
        return EdgePrice(cost, self.table.cardinalities - 1, self.total_weight) if cost else None

    def gains(
        self, *, allowed: np.ndarray | None, max_indegree: int | None, deadline: float, n_jobs: int | None
    ) -> GainSource:
        """Return the compiled scorer; `n_jobs` threads count pairs. `deadline` is not used, since a row is fast.

        With row weights or 2**32 rows and more, pairs are not counted and `n_jobs` does not apply.
        """
        options: dict[str, Any] = {"allowed": allowed, "max_indegree": max_indegree}
        families = self._share_sums()
        if families is not None or self.weights is not None:
            return self.make_scorer(weights=self.weights, families=families, **options)
        pairs = None if self._pairs is None else self._pairs()
        if pairs is None and not self.table.has_views:
            pairs = pair_counts(self.table, n_jobs=n_jobs)
            self._pairs = None if pairs is None else ref(pairs)
        need = estimate_memory(self.table.n_rows, self.table.cardinalities, kept_memory=0)
        memory = limit_kept_counts(need.codes + need.planes + need.gains + need.pair_counts)
        return self.make_scorer(pairs=pairs, memory=memory, **options)

    def make_scorer(self, **options: Any) -> Any:
        """Return the compiled scorer of the table; `options` as in `family_scorer`."""
        scorer = family_scorer(self.table, self.terms, rows=self.row_masks, **options)
        scorer.price_sizes(self.score.size_costs)
        return scorer

    def _share_sums(self) -> WeightedFamilies | None:
        """Return the sums that all sources in use share, None if counts of 32 bits suffice."""
        families = None if self._sums is None else self._sums()
        if families is None:
            opened = open_families(self.table, self.weights)
            families = opened if isinstance(opened, WeightedFamilies) else None
            self._sums = None if families is None else ref(families)
        return families

    def reweight(self, weights: np.ndarray) -> "DiscreteScoring":
        """Return the same score on the weighted rows; rows are repeated instead of weighted if possible."""
        table, products = combine_weights(self.table, self.weights, weights)
        if products is None:
            return DiscreteScoring(self.score, table, self.structure_prior)
        return WeightedScoring(self.score, table, products, self.structure_prior)

    def __getstate__(self) -> dict[str, Any]:
        # the table is sent; the data of the score are not needed
        return {**self.__dict__, "score": strip_data(self.score), "_pairs": None, "_sums": None}


class WeightedScoring(DiscreteScoring):
    """The same with row weights that cannot be replaced by repeated rows."""

    def __init__(
        self,
        score: DiscreteScore,
        table: DiscreteTable,
        weights: np.ndarray,
        structure_prior: StructurePrior | None = None,
    ):
        table, self.weights = table.keep_weights(weights)
        super().__init__(score, table, structure_prior)

    @property
    def bounds(self) -> FamilyBounds:
        """Bounds of families; none for a Dirichlet score: a cell of small weight can score above -ln r."""
        return FamilyBounds() if self.terms.dirichlet else super().bounds


class FormulaScoring(TableMixin, FunctionMixin):
    """A score with a formula over the counts of a family.

    `make_formula` takes the number of rows, or the sum of their weights.
    """

    def __init__(
        self,
        score: DiscreteScore,
        make_formula: Callable[[float], Formula],
        table: DiscreteTable,
        structure_prior: StructurePrior | None = None,
        *,
        weights: np.ndarray | None = None,
        equivalent: bool = False,
    ):
        self.score = score
        self.make_formula = make_formula
        self.table, self.weights = table.keep_weights(weights)
        self.names = list(table.columns)
        self.equivalent = equivalent
        self._families: CountedFamilies | None = None
        self._set_prior(structure_prior)

    def _price_parameters(self) -> EdgePrice | None:
        """Return what the parameters of an edge cost on complete rows; None unless BIC or AIC is averaged."""
        formula = self.make_formula(self.total_weight)
        if not isinstance(formula, NodeAverage):
            return None
        cost = formula.parameter_cost(self.total_weight) + self.parameter_cost
        return EdgePrice(cost, formula.cards - 1, self.total_weight) if cost else None

    def local_score(self, child: int, parents: tuple[int, ...]) -> float:
        """Return the score of a family of ids minus the cost of its parameters."""
        if self._families is None:
            self._families = CountedFamilies(self.table, self.make_formula(self.total_weight), self.weights)
        cards = self.table.cardinalities - (self.table.missing_codes >= 0)
        n_parameters = np.prod(cards[list(parents)], dtype=float) * (cards[child] - 1)
        value = self._families.family_score(child, np.array(parents, dtype=np.int32))
        costs = self.score.size_costs
        return (
            value - self.parameter_cost * float(n_parameters) - (0.0 if costs is None else float(costs[len(parents)]))
        )

    def reweight(self, weights: np.ndarray) -> "FormulaScoring":
        """Return the same score on the weighted rows."""
        table, products = combine_weights(self.table, self.weights, weights)
        return FormulaScoring(
            self.score, self.make_formula, table, self.structure_prior, weights=products, equivalent=self.equivalent
        )

    def __getstate__(self) -> dict[str, Any]:
        # compiled scorers cannot be pickled
        return {**self.__dict__, "_families": None, "score": strip_data(self.score)}


# ---- fingerprint of a checkpoint ----


def list_facts(scoring: Any, gains: np.ndarray, scores: np.ndarray) -> list[np.ndarray]:
    """Return arrays that identify a score and its data: the gains and scores of the first graph.

    Sums of real weights depend in their last bits on the partitions of the table, and are rounded.
    """
    is_discrete = isinstance(scoring, TableMixin)
    # a resumed run may have other partitions
    if is_discrete and scoring.weights is not None and scoring.table.is_remote:
        return [scoring.weights, _round_largest(gains), _round_largest(scores)]
    return [gains, scores]


def _round_largest(values: np.ndarray) -> np.ndarray:
    """Return values rounded to six digits of the largest, as multiples of the unit of the last digit."""
    largest = np.abs(values[np.isfinite(values)]).max(initial=0.0)
    unit = 10.0 ** (6 - np.ceil(np.log10(largest))) if largest else 1.0
    return np.rint(values * unit) + 0.0
