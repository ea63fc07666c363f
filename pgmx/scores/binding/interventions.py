"""Scores of data in which variables were set: the family of a variable does not count the rows in which it was set.

This is the score of Cooper and Yoo (1999) for perfect interventions, in which the parents of a variable that is set do
not act. The rows that remain are the same for all families of a variable. The kernels mask local discrete rows without
weights, and leave local continuous rows out of the moments of all rows. Sums over mixed rows are those of all rows
minus those of the rows left out. For other data and for BGe, a score is bound to each set of rows. A parameter costs as
much as for all rows, as in the BIC of Hauser and Buehlmann (2012).

References: G. F. Cooper and C. Yoo (1999), Causal discovery from a mixture of experimental and observational data, UAI.
A. Hauser and P. Buehlmann (2012), Characterization and greedy learning of interventional Markov equivalence classes of
directed acyclic graphs, Journal of Machine Learning Research 13, 2409-2464.
"""

import warnings
from collections.abc import Sequence
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from pgmx._ext._scorer import JoinedScorer, Scorer
from pgmx.checks import caller_level, join_names
from pgmx.data import NumericTable
from pgmx.data.weights import Interventions, combine_weights, to_repetitions
from pgmx.models import ConditionalGaussianNetwork, fit_linear_gaussian
from pgmx.models.bayesian.networks import join_families
from pgmx.scores.binding.continuous import GaussianScoring, MixedScoring
from pgmx.scores.binding.discrete import DiscreteScoring
from pgmx.scores.binding.scoring import PriorMixin, Scoring
from pgmx.scores.chance_edges import EdgePrice
from pgmx.scores.discrete.base import RowMasks
from pgmx.scores.gains import FamilyBounds, GainSource
from pgmx.scores.gaussian.bge import BGe
from pgmx.scores.mixed.base import ConditionalScore, RowSets
from pgmx.scores.mixed.partial import PartialGains
from pgmx.statistics import Moments, moments
from pgmx.statistics.moments import merge_moments

#: If the variance of a column in the rows of a family is a smaller share of its variance in all rows, the difference of
#: the moments would lose more than four digits.
LEAST_VARIANCE = 1e-4


def bind_interventions(plain: Any, interventions: Interventions, weights: np.ndarray | None) -> Scoring:
    """Return a score bound to rows, `plain`, with the weights of the rows and the variables that were set in them."""
    if weights is not None and not np.all(weights > 0):
        occurring = np.unique(interventions.set_of_row[weights > 0])
        # a set of which all rows have weight 0 does not occur; its rows get any other set
        kept = np.isin(interventions.set_of_row, occurring)
        set_of_row = np.where(kept, interventions.set_of_row, occurring[0])
        interventions = Interventions.from_sets(interventions.targets, set_of_row)
    whole = plain if weights is None else plain.reweight(weights)
    if type(whole) is DiscreteScoring and not whole.table.is_remote:
        return MaskedScoring(plain, whole, interventions, weights)
    if type(whole) is GaussianScoring:
        left_out, whole.set_sums = _leave_rows_out(whole, interventions), None
        if left_out is not None:
            return MaskedGaussianScoring(plain, whole, interventions, weights, left_out)
    if type(whole) is MixedScoring and isinstance(whole.score, ConditionalScore) and whole.score.is_compiled():
        return MaskedMixedScoring(plain, whole, interventions, weights)
    return GroupedScoring(plain, whole, interventions, weights)


def warn_of_set_variables(interventions: Interventions, names: Sequence) -> None:
    """Warn of variables that were set in every row."""
    always = [names[v] for v in interventions.always_set]
    if always:
        warnings.warn(
            f"{join_names(always)} {'was' if len(always) == 1 else 'were'} set in every row, so no row shows an effect "
            "of other variables: no parents are learned",
            UserWarning,
            stacklevel=caller_level(),
        )


class _Intervened:
    """What these scores share: the interventions, the parameters of networks, other weights."""

    interventions: Interventions
    plain: Any
    whole: Any
    _weights: np.ndarray | None
    names: list
    equivalent = False  # only of graphs in the same interventional class

    def _set_interventions(
        self, plain: Any, whole: Any, interventions: Interventions, weights: np.ndarray | None
    ) -> None:
        self.plain, self.whole, self.interventions, self._weights = plain, whole, interventions, weights
        self.masks, self.group_of = interventions.row_groups

    @property
    def arc_mask(self) -> np.ndarray | None:
        """The arcs for which the score is defined; None for all."""
        return self.whole.arc_mask

    @property
    def edge_price(self) -> EdgePrice | None:
        """What an edge between two variables costs."""
        return self.whole.edge_price

    def _select_rows(self, mask: np.ndarray) -> np.ndarray:
        """Return which rows a set of rows has, bool (N,)."""
        return mask[self.interventions.set_of_row]

    @cached_property
    def groups(self) -> list:
        """The score bound to each set of rows."""
        return [self._bind_rows(g) for g in range(len(self.masks))]

    def _bind_rows(self, g: int) -> Any:
        kept = self._select_rows(self.masks[g]).astype(np.int64)
        return self.plain.reweight(kept if self._weights is None else kept * self._weights)

    def model(self, edges: list, **prior: float | None) -> Any:
        """Return the network of `edges`; the parameters of a variable are estimated from the rows of its families."""
        networks = {}
        for group in sorted(set(self.group_of.tolist())):
            scoring = self.whole if group < 0 else self.groups[group]
            networks[group] = scoring.model([edge for edge in edges if self.group_of[edge[1]] == group], **prior)
        if isinstance(networks[min(networks)], ConditionalGaussianNetwork):
            return _join_mixed([networks[group] for group in self.group_of.tolist()])
        return join_families([networks[group] for group in self.group_of.tolist()], self.names, edges)

    def reweight(self, weights: np.ndarray) -> Scoring:
        """Return the same score on the weighted rows."""
        weights = np.asarray(weights) if self._weights is None else self._weights * weights
        return bind_interventions(self.plain, self.interventions, weights)

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "groups"}  # made again


def _join_mixed(networks: list[ConditionalGaussianNetwork]) -> ConditionalGaussianNetwork:
    """Return the conditional Gaussian network whose family number v is that of ``networks[v]``."""
    parts = networks[0].parts()
    families = tuple(network.parts().families.families[v] for v, network in enumerate(networks))
    return ConditionalGaussianNetwork.from_parts(
        parts._replace(families=type(parts.families)(parts.families.cards, families))
    )


class MaskedScoring(_Intervened, DiscreteScoring):  # type: ignore[misc]  # other weights give another kind of score
    """A discrete score over local rows without weights; the kernel masks the rows."""

    def __init__(
        self, plain: DiscreteScoring, whole: DiscreteScoring, interventions: Interventions, weights: np.ndarray | None
    ):
        super().__init__(whole.score, whole.table, whole.structure_prior)
        self.equivalent = False
        self._set_interventions(plain, whole, interventions, weights)
        counts = None if weights is None else to_repetitions(weights)
        repeated = interventions if counts is None else interventions.repeat(counts)
        masks, group_of = repeated.row_groups
        self.row_masks = RowMasks(repeated.pack_rows(masks), group_of) if len(masks) else None

    def __getstate__(self) -> dict[str, Any]:
        state = DiscreteScoring.__getstate__(self)
        return {name: value for name, value in state.items() if name != "groups"}


class LeftOut(NamedTuple):
    """The rows that Gaussian families leave out, see `pgmx._ext._gaussian`."""

    group_of: np.ndarray
    rows: np.ndarray | None
    products: np.ndarray | None
    members: np.ndarray
    ends: np.ndarray
    n_kept: np.ndarray
    means: np.ndarray
    scales: np.ndarray


def _leave_rows_out(scoring: GaussianScoring, interventions: Interventions) -> LeftOut | None:
    """Return what the kernel needs to leave rows out of all moments, or None if it cannot, or would lose digits."""
    if scoring.rows is None or isinstance(scoring.rows, NumericTable) or scoring.collinearity is not None:
        return None
    if isinstance(scoring.score, BGe) or not type(scoring.score).is_compiled():
        return None
    masks, group_of = interventions.row_groups
    if not len(masks):
        return None
    total, scale = scoring.moments.n, np.sqrt(scoring.moments.cross.diagonal() / scoring.moments.n)
    rows = products = None
    if scoring.set_sums is None:
        is_chosen = np.asarray(interventions.targets.any(axis=1))
        is_left, offset = ~masks[:, is_chosen], 0.0
        rows, n_members, weight_of_set, sums, squares = _standardise_rows(scoring, interventions, is_chosen, scale)
    else:
        weight_of_set, sums, products = scoring.set_sums
        is_left, n_members = ~masks, np.ones(len(sums), dtype=np.int64)
        sums = sums / scale
        products /= np.outer(scale, scale)
        offset, squares = sums.sum(axis=0), products.diagonal(axis1=1, axis2=2)
    n_kept = total - is_left @ weight_of_set
    if n_kept.min() < 2:
        return None
    means = (offset - is_left @ sums) / n_kept[:, None]
    variances = (total - is_left @ squares) / n_kept[:, None] - np.square(means)
    if not variances.min() > LEAST_VARIANCE:
        return None
    left = np.nonzero(is_left)[1]
    stops = np.cumsum(n_members[left])
    members = np.arange(stops[-1]) + np.repeat((np.cumsum(n_members) - n_members)[left] - stops, n_members[left])
    members += np.repeat(n_members[left], n_members[left])
    ends = np.append(0, np.cumsum(is_left @ n_members))
    return LeftOut(group_of, rows, products, members, ends, n_kept, means, np.sqrt(variances))


def _standardise_rows(
    scoring: GaussianScoring, interventions: Interventions, is_chosen: np.ndarray, scale: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return the rows of some sets in standard units, set after set, times the roots of their weights.

    Then the sizes of these sets, their weights, and their sums of the columns and of the squares.
    """
    counts = np.bincount(interventions.set_of_row, minlength=len(is_chosen))
    chosen = np.argsort(interventions.set_of_row, kind="stable")[np.repeat(is_chosen, counts)]
    counts = counts[is_chosen]
    starts, weight_of_set = np.cumsum(counts) - counts, counts.astype(np.float64)
    columns = np.asarray(scoring.rows, dtype=np.float64).T.take(chosen, axis=1)
    columns -= scoring.moments.mean[:, None]
    columns /= scale[:, None]
    if scoring.weights is None:
        sums = np.add.reduceat(columns, starts, axis=1)
    else:
        weights = np.asarray(scoring.weights, dtype=np.float64)[chosen]
        weight_of_set = np.add.reduceat(weights, starts)
        sums = np.add.reduceat(columns * weights, starts, axis=1)
        columns *= np.sqrt(weights)
    squares = np.add.reduceat(np.square(columns), starts, axis=1)
    return np.ascontiguousarray(columns.T), counts, weight_of_set, sums.T, squares.T


class MaskedGaussianScoring(_Intervened, GaussianScoring):  # type: ignore[misc]  # as MaskedScoring
    """A Gaussian score over local rows; the kernel leaves rows out of the moments of all."""

    def __init__(
        self,
        plain: GaussianScoring,
        whole: GaussianScoring,
        interventions: Interventions,
        weights: np.ndarray | None,
        left_out: LeftOut,
    ):
        options: dict[str, Any] = {"weights": whole.weights, "sample_moments": whole.moments}
        GaussianScoring.__init__(self, whole.score, whole.rows, whole.structure_prior, **options)
        self._set_interventions(plain, whole, interventions, weights)
        self.left_out = left_out

    def gains(
        self, *, allowed: np.ndarray | None, max_indegree: int | None, deadline: float, n_jobs: int | None
    ) -> GainSource:
        """Return the compiled scorer."""
        options: dict[str, Any] = {"allowed": allowed, "max_indegree": max_indegree, "names": self.names}
        return self.score.make_scorer(
            self.moments, self.parameter_cost, collinearity=None, left_out=self.left_out, **options
        )

    def model(self, edges: list, **prior: float | None) -> Any:
        """Return the linear Gaussian network; the rows of a family are those of its child."""
        values, networks = np.asarray(self.whole.rows, dtype=np.float64), []
        for child, group in enumerate(self.group_of.tolist()):
            family = [child, *sorted(tail for tail, head in edges if head == child)]
            kept = np.ones(len(values), dtype=bool) if group < 0 else self._select_rows(self.masks[group])
            weights = None if self.whole.weights is None else self.whole.weights[kept]
            arcs = [(k, 0) for k in range(1, len(family))]
            names = [self.names[v] for v in family]
            networks.append(fit_linear_gaussian(moments(values[kept][:, family], weights), names, arcs))
        return join_families(networks, self.names, edges)

    def __getstate__(self) -> dict[str, Any]:
        return GaussianScoring.__getstate__(self)


class MaskedMixedScoring(_Intervened, MixedScoring):  # type: ignore[misc]  # as MaskedScoring
    """A score of conditional Gaussian families; sums over the rows of a family are differences of sums."""

    def __init__(
        self, plain: MixedScoring, whole: MixedScoring, interventions: Interventions, weights: np.ndarray | None
    ):
        self.__dict__.update(whole.__dict__)  # also the summary of the rows
        self.equivalent = False
        self._set_interventions(plain, whole, interventions, weights)

    def gains(
        self, *, allowed: np.ndarray | None, max_indegree: int | None, deadline: float, n_jobs: int | None
    ) -> GainSource:
        """Return a source that shares the sums over all rows, or one for each set of rows if that could lose digits."""
        options: dict[str, Any] = {"allowed": allowed, "max_indegree": max_indegree, "deadline": deadline}
        shared = self._share_sums(n_jobs=n_jobs, **options)
        if shared is not None:
            return shared
        grouped = GroupedScoring(self.plain, self.whole, self.interventions, self._weights)
        return grouped.gains(n_jobs=n_jobs, **options)

    def _share_sums(self, **options: Any) -> PartialGains | None:
        interventions, weights, table = self.interventions, self.weights, self.mixed.table
        if weights is not None and table is not None:
            counts = to_repetitions(weights)
            if counts is None or combine_weights(table, None, weights)[1] is not None:
                return None
            interventions = interventions.repeat(counts)
        if self.summary.collinearity is not None or not len(self.masks):
            return None
        masks, group_of = interventions.row_groups
        of_states = RowMasks(interventions.pack_rows(masks), group_of[~self.mixed.is_continuous])
        rows = [self._select_rows(mask) for mask in self.masks]
        source = self.score.make_source(
            self.mixed,
            self.weights,
            self.parameter_cost,
            summary=self.summary,
            row_sets=RowSets(rows, self.group_of, of_states),
            **options,
        )
        return source if source.keeps_digits() else None

    def __getstate__(self) -> dict[str, Any]:
        state = MixedScoring.__getstate__(self)
        return {name: value for name, value in state.items() if name != "groups"}


class GroupedScoring(_Intervened, PriorMixin):
    """Any score: it is bound to each set of rows, and families of a child are scored on the rows of the child."""

    def __init__(self, plain: Any, whole: Any, interventions: Interventions, weights: np.ndarray | None):
        self.score, self.names, self.structure_prior = whole.score, list(whole.names), whole.structure_prior
        self.bonus = whole.bonus
        self._set_interventions(plain, whole, interventions, weights)

    @property
    def bounds(self) -> FamilyBounds:
        """Bounds of families that are not scored yet."""
        return self.whole.bounds

    def prior(self, edges: np.ndarray) -> float:
        """Return the log prior of the graph."""
        return self.whole.prior(edges)

    def gains(
        self, *, allowed: np.ndarray | None, max_indegree: int | None, deadline: float, n_jobs: int | None
    ) -> GainSource:
        """Return a source that has a source for each set of rows; compiled if these are."""
        options: dict[str, Any] = {"allowed": allowed, "max_indegree": max_indegree, "deadline": deadline}
        used, place = np.unique(self.group_of, return_inverse=True)
        sources = [
            (self.whole if group < 0 else self.groups[group]).gains(**options, n_jobs=n_jobs) for group in used.tolist()
        ]
        if all(isinstance(source, Scorer) for source in sources):
            return JoinedScorer(sources, place.astype(np.int64))
        return JoinedGains(sources, place)

    @cached_property
    def _moments_of_sets(self) -> list[Moments] | None:
        """The moments of the rows in which each set of variables was set; None if rows are not local or have states."""
        if not isinstance(self.plain, GaussianScoring) or self.plain.rows is None:
            return None
        if isinstance(self.plain.rows, NumericTable):
            return None
        rows, weights = np.asarray(self.plain.rows, dtype=np.float64), self._weights
        chosen = [self.interventions.set_of_row == k for k in range(len(self.interventions.targets))]
        return [moments(rows[own], None if weights is None else weights[own]) for own in chosen]

    def _bind_rows(self, g: int) -> Any:
        names = [name for name, group in zip(self.names, self.group_of.tolist(), strict=True) if group == g]
        try:
            bound = self._bind_moments(g) if self._moments_of_sets is not None else super()._bind_rows(g)
        except ValueError as error:
            n = int(np.count_nonzero(self._select_rows(self.masks[g])))
            rows = "row" if n == 1 else f"{n:,} rows"
            raise ValueError(f"in the {rows} in which {join_names(names)} was not set: {error}") from error
        bound.extra_cost = _find_price(self.whole) - _find_price(bound)
        return bound

    def _bind_moments(self, g: int) -> GaussianScoring:
        assert self._moments_of_sets is not None
        mine = [part for part, chosen in zip(self._moments_of_sets, self.masks[g], strict=True) if chosen]
        kept = self._select_rows(self.masks[g]).astype(np.float64)
        weights = kept if self._weights is None else kept * self._weights
        scoring = self.plain
        return GaussianScoring(
            scoring.score, scoring.rows, scoring.structure_prior, weights=weights, sample_moments=merge_moments(mine)
        )

    def __getstate__(self) -> dict[str, Any]:
        state = super().__getstate__()
        return {name: value for name, value in state.items() if name != "_moments_of_sets"}


def _find_price(scoring: Any) -> float:
    """Return the cost of a parameter under a score; 0 if the score alone knows it."""
    if isinstance(scoring, DiscreteScoring):
        return scoring.score.terms(scoring.total_weight).penalty
    if isinstance(scoring, GaussianScoring):
        return scoring.score.parameter_cost(scoring.moments.n)
    if not isinstance(scoring, MixedScoring):
        return 0.0
    price = getattr(scoring.score, "parameter_cost", None)
    if price is not None:
        return float(price(scoring.mixed.n_rows if scoring.weights is None else float(scoring.weights.sum())))
    of_edge = scoring.score.edge_price(scoring.mixed, scoring.summary, scoring.weights)
    return 0.0 if of_edge is None else float(of_edge.cost)


class JoinedGains:
    """Several sources of gains, each for the families of its children: child v has ``sources[source_of[v]]``."""

    def __init__(self, sources: Sequence[GainSource], source_of: np.ndarray):
        self.sources = [sources[k] for k in source_of.tolist()]
        self._distinct = list(sources)

    def start(self, gains: np.ndarray, scores: np.ndarray) -> None:
        """Fill the gains and scores of the graph without arcs."""
        for child in range(len(self.sources)):
            scores[child] = self.rescore(child, np.empty(0, dtype=np.int32), gains)

    def restrict(self, allowed: np.ndarray | None) -> None:
        """Replace the mask of allowed arcs; None allows all."""
        for source in self._distinct:
            source.restrict(allowed)

    def rescore(self, child: int, parents: np.ndarray, gains: np.ndarray) -> float:
        """Fill the gains of `child` and return its family score."""
        return self.sources[child].rescore(child, parents, gains)

    def family_score(self, child: int, parents: np.ndarray) -> float:
        """Return the score of a family."""
        return self.sources[child].family_score(child, parents)
