"""Exact inference in a conditional linear Gaussian network: distributions of states, means and variances."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from pgmx.inference.exact.elimination_order import EliminationPlan, min_fill_order
from pgmx.inference.mixed.components import Component, Solution, count_cells, find_components, solve_component
from pgmx.inference.mixed.families import DiscreteFamily, MixedFamilies, MixedRows
from pgmx.inference.networks import take_logs

#: Largest number of values per row of exact inference.
EXACT_CELLS = 1 << 27
#: Number of values that are computed at a time, which limits the rows per block.
_BLOCK = 1 << 21

#: A factor of the rows: its variables, and logarithms (rows, *states of each); a single row is the same for all rows.
RowFactor = tuple[tuple[int, ...], np.ndarray]


class Answers(NamedTuple):
    """By variable: distributions of discrete variables, (n_rows, states); means and variances of others, (n_rows,)."""

    probabilities: dict[int, np.ndarray]
    means: dict[int, np.ndarray]
    variances: dict[int, np.ndarray]

    def update(self, other: Answers) -> None:
        """Add the answers about other variables."""
        for ours, theirs in zip(self, other, strict=True):
            ours.update(theirs)


class Question(NamedTuple):
    """The computation for some targets: discrete families, components of continuous variables, and the junction tree.

    `discrete` are the unobserved discrete variables, which the plan numbers in this order. `cells` is the number of
    values per row.
    """

    targets: list[int]
    families: list[int]
    components: list[Component]
    discrete: list[int]
    plan: EliminationPlan | None
    cells: int


def plan_question(network: MixedFamilies, observed: np.ndarray, targets: Sequence[int] | None = None) -> Question:
    """Plan the computation for unobserved targets, given which variables are observed, bool (n,).

    Only ancestors of the targets and of observed variables matter, and only families that a path of unobserved
    variables connects with a target. Without targets (for `compute_log_evidence`) all families of ancestors matter.
    """
    relevant = network.list_ancestors([*(targets or ()), *np.flatnonzero(observed).tolist()])
    hidden = {v: [u for u in (v, *network.parents[v]) if not observed[u]] for v in relevant}
    by_variable: dict[int, list[int]] = {}
    for v, variables in hidden.items():
        for u in variables:
            by_variable.setdefault(u, []).append(v)
    families = set(relevant) if targets is None else set()
    reached = set(by_variable if targets is None else targets)
    waiting = list(targets or ())
    while waiting:
        for v in by_variable.get(waiting.pop(), ()):
            if v not in families:
                families.add(v)
                waiting.extend(u for u in hidden[v] if u not in reached)
                reached.update(hidden[v])
    return make_question(network, observed, families, reached, targets)


def make_question(
    network: MixedFamilies,
    observed: np.ndarray,
    families: Iterable[int],
    hidden: Iterable[int],
    targets: Iterable[int] | None,
) -> Question:
    """Plan the computation with given families (by child), whose unobserved variables are `hidden`."""
    families = set(families)
    discrete_families = sorted(v for v in families if network.cards[v])
    components = find_components(network, (v for v in families if not network.cards[v]), observed)
    discrete = sorted(u for u in hidden if network.cards[u])
    place = {u: k for k, u in enumerate(discrete)}
    scopes = [[place[u] for u in (v, *network.parents[v]) if not observed[u]] for v in discrete_families]
    scopes += [[place[u] for u in component.scope] for component in components]
    plan = _find_order(tuple(network.cards[u] for u in discrete), frozenset(map(tuple, scopes))) if discrete else None
    cells = 0 if plan is None else plan.cells + plan.separator_cells
    cells += sum(count_cells(network, component) for component in components)
    return Question(sorted(targets or ()), discrete_families, components, discrete, plan, cells)


@lru_cache(maxsize=4096)
def _find_order(cards: tuple[int, ...], scopes: frozenset[tuple[int, ...]]) -> EliminationPlan:
    # blocks of different variables have the same graph: most are of one or two
    return min_fill_order(cards, sorted(scopes))


def answer_question(network: MixedFamilies, question: Question, rows: MixedRows, observed: np.ndarray) -> Answers:
    """Return the exact results for rows with the same observed variables; NaN for impossible rows."""
    n_rows = rows.codes.shape[1]
    answers = Answers({}, {}, {})
    for kind, variables in zip(answers, _split_targets(network, question.targets), strict=True):
        for v in variables:
            kind[v] = np.empty((n_rows, network.cards[v]) if network.cards[v] else n_rows)
    for block in split_rows(question, n_rows):
        _answer_block(network, question, rows.take(block), observed, answers, block)
    return answers


def find_most_probable(
    network: MixedFamilies, question: Question, rows: MixedRows, observed: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    r"""Return :math:`\arg\max_i \int p(i, x)\, dx` over the discrete variables of a question, (their number, n_rows).

    Also the logarithms of the maxima, up to terms without these variables: minus infinity for impossible rows.
    """
    assert question.plan is not None
    codes = np.empty((len(question.discrete), rows.codes.shape[1]), dtype=np.intp)
    maxima = np.empty(codes.shape[1])
    cards = [network.cards[u] for u in question.discrete]
    for block in split_rows(question, codes.shape[1]):
        chunk = rows.take(block)
        factors, _ = make_factors(network, question, chunk, observed)
        best = RowMaxima(question.plan, cards, factors, chunk.codes.shape[1])
        codes[:, block], maxima[block] = best.codes, best.log_maxima
    return codes, maxima


def compute_log_evidence(
    network: MixedFamilies, question: Question, rows: MixedRows, observed: np.ndarray
) -> np.ndarray:
    """Return the log-density of the observed values of each row, (n_rows,); the question has no targets."""
    total = np.zeros(rows.codes.shape[1])
    cards = [network.cards[u] for u in question.discrete]
    for block in split_rows(question, len(total)):
        chunk = rows.take(block)
        factors, _ = make_factors(network, question, chunk, observed)
        if question.plan is not None:
            total[block] = RowBeliefs(question.plan, cards, factors, chunk.codes.shape[1]).log_sums
        for _, table in factors if question.plan is None else ():
            total[block] += table
    return total


def split_rows(question: Question, n_rows: int) -> Iterator[slice]:
    """Yield blocks of rows whose computation fits into memory."""
    step = max(1, _BLOCK // max(question.cells, 1))
    return (slice(begin, begin + step) for begin in range(0, n_rows, step))


def find_impossible(network: MixedFamilies, rows: MixedRows, missing: np.ndarray) -> np.ndarray:
    """Return the positions of rows in which an observed state has probability 0 given observed parents.

    `missing` is bool (n, n_rows).
    """
    impossible = np.zeros(rows.codes.shape[1], dtype=bool)
    for v in np.flatnonzero(network.cards).tolist():
        family = network.families[v]
        if not isinstance(family, DiscreteFamily) or family.table.all():
            continue
        known = np.flatnonzero(~missing[[v, *network.parents[v]]].any(axis=0))
        impossible[known] |= network.log_density(v, rows.take(known)) == -np.inf
    return np.flatnonzero(impossible)


def _split_targets(network: MixedFamilies, targets: Iterable[int]) -> tuple[list[int], list[int], list[int]]:
    continuous = [v for v in targets if not network.cards[v]]
    return [v for v in targets if network.cards[v]], continuous, continuous


def _answer_block(
    network: MixedFamilies, question: Question, rows: MixedRows, observed: np.ndarray, answers: Answers, block: slice
) -> None:
    n_rows = rows.codes.shape[1]
    place = {u: k for k, u in enumerate(question.discrete)}
    factors, solutions = make_factors(network, question, rows, observed)
    beliefs = None
    if question.plan is not None:
        cards = [network.cards[u] for u in question.discrete]
        beliefs = RowBeliefs(question.plan, cards, factors, n_rows)
    for v in question.targets:
        if network.cards[v]:
            assert beliefs is not None
            answers.probabilities[v][block] = beliefs.marginal([place[v]])
    for component, (scope, solution) in zip(question.components, solutions, strict=True):
        shares = np.ones((n_rows, 1)) if not scope or beliefs is None else beliefs.marginal(scope).reshape(n_rows, -1)
        for k, u in enumerate(component.continuous):
            if u in question.targets:
                means = solution.means[:, :, k]
                mean = (shares * means).sum(axis=1)
                spread = solution.variances[:, :, k] + np.square(means - mean[:, None])
                answers.means[u][block] = mean
                answers.variances[u][block] = (shares * spread).sum(axis=1)


def make_factors(
    network: MixedFamilies, question: Question, rows: MixedRows, observed: np.ndarray
) -> tuple[list[RowFactor], list[tuple[tuple[int, ...], Solution]]]:
    """Return the factors over discrete variables, components last, and scopes and solutions of the components."""
    place = {u: k for k, u in enumerate(question.discrete)}
    factors: list[RowFactor] = [_restrict(network, v, rows, observed, place) for v in question.families]
    solutions = []
    for component in question.components:
        wanted = not set(component.continuous).isdisjoint(question.targets)
        solution = solve_component(network, component, rows, observed, moments=wanted)
        scope = tuple(place[d] for d in component.scope)
        shape = [network.cards[d] for d in component.scope]
        factors.append((scope, solution.log_evidence.reshape(-1, *shape)))
        solutions.append((scope, solution))
    return factors, solutions


def _restrict(
    network: MixedFamilies, v: int, rows: MixedRows, observed: np.ndarray, place: dict[int, int]
) -> RowFactor:
    """Return a discrete family restricted to its unobserved variables."""
    family = network.families[v]
    assert isinstance(family, DiscreteFamily)
    # The observed axes come first, and are indexed by the states of each row.
    variables = (v, *family.discrete_parents)
    free = [u for u in variables if not observed[u]]
    bound = [axis for axis, u in enumerate(variables) if observed[u]]
    open_axes = [axis for axis, u in enumerate(variables) if not observed[u]]
    table = take_logs(family.table.transpose(*bound, *open_axes))
    table = table[tuple(rows.codes[variables[axis]] for axis in bound)] if bound else table[None]
    return tuple(place[u] for u in free), table


# ---- the junction tree of many rows ----


class RowTree:
    """The product of factors per row, as logarithms over the cliques; factors without variables are in `constant`."""

    def __init__(self, plan: EliminationPlan, cards: Sequence[int], factors: Sequence[RowFactor], n_rows: int):
        self.plan = plan
        self._rank = plan.rank.tolist()
        self._shapes = [tuple(cards[v] for v in clique) for clique in plan.cliques]
        self.constant = np.zeros(n_rows)
        self.tables = [np.zeros((n_rows, *shape)) for shape in self._shapes]
        for scope, table in factors:
            if scope:
                self._add(self._home(scope), scope, table)
            else:
                self.constant = self.constant + table

    def _home(self, variables: Sequence[int]) -> int:
        return int(self.plan.homes[min(variables, key=self._rank.__getitem__)])

    def _axes(self, clique: int, kept: set[int]) -> tuple[int, ...]:
        """Return the axes of a clique's table except those of the kept variables."""
        return tuple(axis + 1 for axis, v in enumerate(self.plan.cliques[clique]) if v not in kept)

    def _add(self, clique: int, scope: Sequence[int], table: np.ndarray) -> None:
        axes = sorted(range(len(scope)), key=lambda axis: -self._rank[scope[axis]])
        shape = [n if v in scope else 1 for v, n in zip(self.plan.cliques[clique], self._shapes[clique], strict=True)]
        self.tables[clique] += table.transpose(0, *(1 + axis for axis in axes)).reshape(len(table), *shape)


class RowBeliefs(RowTree):
    """The normalised product of factors per row, as tables over the cliques; NaN for impossible rows.

    `log_sums` are the logarithms of the sums of the product over all states, (n_rows,).
    """

    def __init__(self, plan: EliminationPlan, cards: Sequence[int], factors: Sequence[RowFactor], n_rows: int):
        super().__init__(plan, cards, factors, n_rows)
        self.log_sums = self.constant
        self._beliefs = self._distribute(self._collect())

    def marginal(self, variables: Sequence[int]) -> np.ndarray:
        """Return the joint distribution of variables of one clique: (n_rows, *states of each)."""
        clique = self._home(variables)
        others = self._axes(clique, set(variables))
        kept = [v for v in self.plan.cliques[clique] if v in set(variables)]
        sums = self._beliefs[clique].sum(axis=others) if others else self._beliefs[clique]
        return sums.transpose(0, *(1 + kept.index(v) for v in variables))

    def _collect(self) -> list[np.ndarray]:
        """Return the distribution of each clique given its sepset; children are done before parents."""
        for clique in range(len(self.tables) - 1, -1, -1):
            table, sepset = self.tables[clique], self.plan.sepsets[clique]
            axes = self._axes(clique, set(sepset))
            top = table.max(axis=axes, keepdims=True)
            # Minus infinity minus minus infinity would be NaN.
            top = np.where(np.isfinite(top), top, 0.0)
            np.exp(table - top, out=table)
            sums = table.sum(axis=axes, keepdims=True)
            with np.errstate(divide="ignore"):
                message = (np.log(sums) + top).squeeze(axes)
            table /= np.where(sums == 0.0, 1.0, sums)
            if sepset:
                self._add(int(self.plan.parents[clique]), sepset, message)
            else:
                self.log_sums = self.log_sums + message
        return self.tables

    def _distribute(self, conditionals: list[np.ndarray]) -> list[np.ndarray]:
        """Return the distribution of each clique; parents are done before children."""
        possible = np.isfinite(self.log_sums)
        for clique, table in enumerate(conditionals):
            if not self.plan.sepsets[clique]:
                table[~possible] = np.nan
                continue
            sepset, parent = set(self.plan.sepsets[clique]), int(self.plan.parents[clique])
            above = conditionals[parent].sum(axis=self._axes(parent, sepset))
            # The sepset's variables are the first of the clique, in the same order.
            table *= above.reshape(*above.shape, *(1,) * (table.ndim - above.ndim))
        return conditionals


class RowMaxima(RowTree):
    """The states that maximise the product of factors together, (variables, n_rows), and the logarithms of the maxima.

    Equal maxima: the first cell of each clique given the states chosen before, parents first.
    """

    def __init__(self, plan: EliminationPlan, cards: Sequence[int], factors: Sequence[RowFactor], n_rows: int):
        super().__init__(plan, cards, factors, n_rows)
        self.log_maxima = self.constant
        for clique in range(len(self.tables) - 1, -1, -1):
            sepset = plan.sepsets[clique]
            message = self.tables[clique].max(axis=self._axes(clique, set(sepset)))
            if sepset:
                self._add(int(plan.parents[clique]), sepset, message)
            else:
                self.log_maxima = self.log_maxima + message
        self.codes = np.empty((len(cards), n_rows), dtype=np.intp)
        for clique, table in enumerate(self.tables):
            n_shared = len(plan.sepsets[clique])
            given = table[(np.arange(n_rows), *self.codes[list(plan.sepsets[clique])])]
            best = given.reshape(n_rows, -1).argmax(axis=1) if n_rows else np.empty(0, dtype=np.intp)
            states = np.unravel_index(best, self._shapes[clique][n_shared:])
            self.codes[list(plan.cliques[clique][n_shared:])] = states
