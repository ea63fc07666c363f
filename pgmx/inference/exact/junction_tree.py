"""Exact inference in discrete Markov networks of small treewidth, by a calibrated junction tree.

`ExactInference` answers questions; `JunctionTree` holds the factors of a network by cliques, and the functions below it
make the passes. Every clique table has the layout (states of the sepset to the parent, states of the rest). The order
of the variables in a plan's cliques makes transposes unnecessary. One pass from the leaves to the roots works in
logarithms and computes the conditional distribution of each clique given its sepset. All later steps multiply
probabilities only, so that nothing overflows, and only values below 1e-308 underflow.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from math import fsum, prod
from typing import NamedTuple

import numpy as np

from pgmx.checks import check_natural, check_seed, read_only
from pgmx.inference.exact.elimination_order import (
    CELL_BYTES,
    EliminationPlan,
    TreewidthError,
    make_treewidth_error,
    search_order,
)
from pgmx.inference.reduced_network import Network, ReducedNetwork, ZeroProbabilityError

#: Default memory limit of exact inference: 2 GB.
MEMORY = 2**31

Factor = tuple[tuple[int, ...], np.ndarray]
_Product = tuple[list[int], np.ndarray]


class MostProbable(NamedTuple):
    """A most probable configuration.

    Attributes
    ----------
    codes : ndarray of int64, shape (n,)
        State of each variable, observed ones included.
    log_value : float
        Its unnormalised log-probability. The log-probability given the evidence is this value minus
        `ExactInference.log_partition`.
    """

    codes: np.ndarray
    log_value: float


class ExactInference:
    r"""Marginals, most probable states and samples of a discrete Markov network, exactly.

    .. math:: p(x \mid e) = \frac{1}{Z(e)} \exp \sum_k \phi_k(x_{S_k})

    over the configurations that agree with the evidence e.

    Parameters
    ----------
    factors : PairwisePotentials or LogFactors
        The network. Cells of minus infinity, disconnected networks and variables without factors are allowed.
    evidence : dict of {int: int}, optional
        Codes of observed variables.
    memory : int, default=2**31
        Largest total size of the tables in bytes. It is checked before any table is allocated.

    Attributes
    ----------
    plan : EliminationPlan
        Order of elimination, junction tree, width and cost. Observed variables and variables of one state form cliques
        of their own.
    log_partition : float
        :math:`\log Z(e)` in nats: the logarithm of the sum over all configurations that agree with the evidence.
        :math:`\log p(e)` is this value minus the log-partition without evidence.
    evidence : dict of {int: int}
        As given.
    memory : int or None
        Limit in bytes for further tables; may be changed.
    method : str
        "exact", the name of this method in :mod:`pgmx.inference`.
    converged : bool
        True.
    errors : ndarray of float64, shape (n,)
        Errors of the marginals: zeros.
    r_hat, effective_sample_size : float
        NaN, since there is no sampling.

    Raises
    ------
    TreewidthError
        If more than `memory` is needed. A ValueError.
    ValueError
        If the evidence names an unknown variable or state, or has probability zero.

    Notes
    -----
    The constructor makes one pass over the tree, :math:`O(\sum_C \prod_{v \in C} s_v)` over its cliques C with one
    exponential per cell. The first marginal makes a second pass. All results are normalised sums of products of
    conditional tables. Probabilities below 1e-308 are reported as zero.

    References
    ----------
    S. L. Lauritzen, D. J. Spiegelhalter (1988), Local computations with probabilities on graphical structures and
    their application to expert systems, JRSS B 50. D. Koller, N. Friedman (2009), Probabilistic Graphical Models,
    algorithms 10.1 (list_upward pass), 10.3 (calibration by division) and 13.1 (maximisation).

    Examples
    --------
    >>> import numpy as np
    >>> from pgmx.inference import ExactInference, PairwisePotentials
    >>> tables = {(i, i + 1): np.log([[3.0, 1.0], [1.0, 3.0]]) for i in range(2499)}
    >>> chain = PairwisePotentials.build([2] * 2500, tables=tables)
    >>> inference = ExactInference(chain, evidence={0: 1})
    >>> inference.plan.width, inference.marginal(1)
    (1, array([0.25, 0.75]))
    >>> bool(np.isclose(inference.log_partition, 2499 * np.log(4)))
    True
    """

    method = "exact"
    converged = True
    r_hat = effective_sample_size = np.nan

    def __init__(
        self, factors: Network, evidence: Mapping[int, int] | None = None, *, memory: int | None = MEMORY
    ) -> None:
        reduced = ReducedNetwork(factors, evidence)
        self.evidence = reduced.evidence
        self.cardinalities = reduced.network.cardinalities
        self.errors = np.zeros(len(self.cardinalities))
        self._cards = reduced.cards
        self.memory = memory
        self.plan = search_order(reduced.cards, [scope for scope, _ in reduced.factors])
        if memory is not None and self.plan.bytes > memory:
            raise make_treewidth_error(self.plan.width, self.plan.bytes, memory)
        self._tree = JunctionTree(self.plan, reduced.cards, reduced.factors)
        self._constant = reduced.constant
        total, self._conditionals = log_partition_and_conditionals(self._tree)
        self.log_partition = total + self._constant
        if self.log_partition == -np.inf:
            raise ZeroProbabilityError(self.evidence)

    def marginal(self, i: int) -> np.ndarray:
        """Return the distribution of one variable given the evidence.

        Parameters
        ----------
        i : int
            Variable.

        Returns
        -------
        ndarray of float64, shape (s_i,)
            Read-only; an observed variable has a one at its code.

        Raises
        ------
        ValueError
            If there is no such variable.
        """
        return self._marginals_and_sepsets[0][self._check_variable(i)]

    def marginals(self) -> list[np.ndarray]:
        """Return the distributions of all variables given the evidence.

        Returns
        -------
        list of ndarray of float64, shape (s_i,)
            Read-only.
        """
        return list(self._marginals_and_sepsets[0])

    def joint(self, variables: Sequence[int]) -> np.ndarray:
        """Return the joint distribution of any variables.

        Parameters
        ----------
        variables : sequence of int
            Distinct variables.

        Returns
        -------
        ndarray of float64
            One axis per variable, in their order, given the evidence.

        Raises
        ------
        ValueError
            If a variable is unknown or occurs twice, or a table would take more than the memory granted.

        Notes
        -----
        For variables of one clique the cost is a sum over its table. Other variables are carried along the paths
        between their cliques. Each clique on these paths costs its table times the number of configurations of the
        variables carried through it.
        """
        wanted = self._check_distinct(variables)
        cells = prod(int(self.cardinalities[v]) for v in wanted)
        self._check_memory(cells)
        free = [v for v in wanted if self._cards[v] > 1]
        home = self.plan.home(free) if free else None
        if not free:
            values = np.ones(())
        elif home is not None:
            joint = self._tree.marginal(home, self._belief(home), free)
            order = sorted(free, key=lambda v: -self._tree.rank[v])
            values = joint.transpose([order.index(v) for v in free])
        else:
            values = joint_over_cliques(self._tree, self._conditionals, self._belief, free, self._check_memory)
        return self._expand(wanted, free, values)

    def map(self) -> MostProbable:
        """Return a most probable configuration given the evidence.

        Returns
        -------
        MostProbable
            Codes of all variables and the unnormalised log-probability.

        Notes
        -----
        Among equally probable configurations the choice is deterministic. Costs one pass over the tree.
        """
        log_value, states = most_probable(self._tree)
        codes = np.array(states, dtype=np.int64)
        for v, code in self.evidence.items():
            codes[v] = code
        return MostProbable(codes, log_value + self._constant)

    def sample(self, n_samples: int, seed: int | np.random.Generator | None = 0) -> np.ndarray:
        r"""Draw independent configurations from the distribution given the evidence.

        Parameters
        ----------
        n_samples : int
            Number of samples.
        seed : int, numpy.random.Generator or None, default=0
            Source of randomness; None draws fresh entropy.

        Returns
        -------
        ndarray of uint8 or uint16, shape (n, n_samples)
            State codes, one row per variable; uint16 when some variable has more than 255 states.

        Raises
        ------
        TypeError, ValueError
            If `n_samples` or `seed` is negative or not an integer.

        Notes
        -----
        Exact ancestral sampling down the tree: no burn-in, samples are independent. Costs
        :math:`O(\log s)` per sample and clique, where s is the number of configurations of the variables that the
        clique adds to its sepset.
        """
        n_samples = check_natural(n_samples, "n_samples", 0)
        rng = np.random.default_rng(seed if isinstance(seed, np.random.Generator) else check_seed(seed))
        dtype = np.uint8 if self.cardinalities.max() <= 255 else np.uint16
        codes = np.zeros((len(self._cards), n_samples), dtype=dtype)
        for v, code in self.evidence.items():
            codes[v] = code
        for clique, conditional in enumerate(self._conditionals):
            rest = self._tree.rest(clique)
            # The clique adds only variables of one state.
            if conditional.shape[1] == 1:
                continue
            row = np.zeros(n_samples, dtype=np.int64)
            for v in self.plan.sepsets[clique]:
                row *= self._cards[v]
                row += codes[v]
            cell = draw_cells(np.cumsum(conditional, axis=1), row, rng.random(n_samples))
            for v in reversed(rest):
                cell, codes[v] = np.divmod(cell, self._cards[v])
        return codes

    def conditionals(self) -> list[np.ndarray]:
        """Return the distribution of each clique of `plan` given its sepset; the product is the network's distribution.

        Returns
        -------
        list of ndarray of float64
            Views, one axis per variable of the clique, the sepset first. Cells are zero if the sepset's states are
            impossible. The table of a root is its joint distribution.
        """
        return [table.reshape(shape) for table, shape in zip(self._conditionals, self._tree.shapes, strict=True)]

    @cached_property
    def _marginals_and_sepsets(self) -> tuple[list[np.ndarray], list[np.ndarray]]:
        """Distributions of all variables, and of all sepsets."""
        marginals: list[np.ndarray] = [np.empty(0)] * len(self._cards)
        sepsets: list[np.ndarray] = []
        for clique, sepset, belief in self._tree.beliefs(self._conditionals):
            sepsets.append(sepset)
            for v in self._tree.rest(clique):
                marginal = self._tree.marginal(clique, belief, (v,))
                marginals[v] = read_only(self._expand((v,), [v] if self._cards[v] > 1 else [], marginal))
        return marginals, sepsets

    def clique_potential(self, clique: int) -> np.ndarray:
        """Return the product of the factors of a clique, one axis per variable in its order."""
        total = np.zeros(self._tree.shapes[clique])
        for scope, table in self._tree.factors[clique]:
            total += self._tree.broadcast(clique, scope, table)
        return np.exp(total)

    def _belief(self, clique: int) -> np.ndarray:
        sepset = self._marginals_and_sepsets[1][clique]
        return (self._conditionals[clique] * sepset[:, None]).reshape(self._tree.shapes[clique])

    def _expand(self, wanted: Sequence[int], free: Sequence[int], values: np.ndarray) -> np.ndarray:
        """Return the joint of `wanted` from the joint of its free variables; the others have one possible state."""
        if len(free) == len(wanted):
            return np.ascontiguousarray(values)
        # Observed states have all the probability of their variable.
        joint = np.zeros([int(self.cardinalities[v]) for v in wanted])
        joint[tuple(slice(None) if v in free else self.evidence.get(v, 0) for v in wanted)] = values.reshape(
            [self._cards[v] for v in free]
        )
        return joint

    def _check_memory(self, cells: int) -> None:
        if self.memory is not None and CELL_BYTES * cells > self.memory:
            raise TreewidthError(
                f"this joint distribution needs a table of {cells} cells, more than memory={self.memory} bytes",
                "ask for fewer variables at a time, or use {}",
                "Gibbs sampling (method='gibbs' of pgmx.inference.joint)",
            )

    def _check_variable(self, i: int) -> int:
        if not 0 <= i < len(self._cards):
            raise ValueError(f"there is no variable {i}: variables are numbered 0..{len(self._cards) - 1}")
        return int(i)

    def _check_distinct(self, variables: Sequence[int]) -> tuple[int, ...]:
        numbers = tuple(self._check_variable(v) for v in variables)
        if not numbers or len(set(numbers)) < len(numbers):
            raise ValueError(f"distinct variables are needed, at least one, got {list(numbers)}")
        return numbers


def elimination_plan(factors: Network, evidence: Mapping[int, int] | None = None) -> EliminationPlan:
    """Return the elimination order of exact inference and its cost, without allocating tables.

    Parameters
    ----------
    factors : PairwisePotentials or LogFactors
        The network.
    evidence : dict of {int: int}, optional
        Codes of observed variables.

    Returns
    -------
    EliminationPlan
        Width, cells and bytes of the junction tree that `ExactInference` would build.

    Raises
    ------
    ValueError
        If the evidence names an unknown variable or state, or a factor gives it probability zero.

    Examples
    --------
    >>> from pgmx.inference import PairwisePotentials, elimination_plan
    >>> ring = {(i, (i + 1) % 50): [[1.0, 0.0], [0.0, 1.0]] for i in range(50)}
    >>> elimination_plan(PairwisePotentials.build([2] * 50, tables=ring)).width
    2
    """
    reduced = ReducedNetwork(factors, evidence)
    return search_order(reduced.cards, [scope for scope, _ in reduced.factors])


# ---- the tree and its passes ----


class JunctionTree:
    """The factors of a network, each assigned to a clique that contains its variables.

    Factors are non-empty scopes with tables of logarithms.
    """

    def __init__(self, plan: EliminationPlan, cards: Sequence[int], factors: Sequence[Factor]) -> None:
        self.plan = plan
        self.cards = list(cards)
        self.rank = plan.rank.tolist()
        self.parents = plan.parents.tolist()
        self.children: list[list[int]] = [[] for _ in self.parents]
        for clique, parent in enumerate(self.parents):
            if parent >= 0:
                self.children[parent].append(clique)
        self.shapes = [tuple(self.cards[v] for v in clique) for clique in plan.cliques]
        self.split = [prod(self.cards[v] for v in shared) for shared in plan.sepsets]
        self.factors: list[list[Factor]] = [[] for _ in self.parents]
        for scope, table in factors:
            self.factors[plan.homes[min(scope, key=self.rank.__getitem__)]].append((scope, table))

    def rest(self, clique: int) -> tuple[int, ...]:
        """Return the variables of a clique that its parent does not contain."""
        return self.plan.cliques[clique][len(self.plan.sepsets[clique]) :]

    def broadcast(self, clique: int, scope: Sequence[int], table: np.ndarray) -> np.ndarray:
        """Return a view of a table over some of a clique's variables that broadcasts against the clique's table."""
        axes = sorted(range(len(scope)), key=lambda axis: -self.rank[scope[axis]])
        held = set(scope)
        shape = [self.cards[v] if v in held else 1 for v in self.plan.cliques[clique]]
        return table.transpose(axes).reshape(shape)

    def collect(self, clique: int, messages: dict[int, np.ndarray]) -> np.ndarray:
        """Sum a clique's factors and its children's messages, which are removed: shape (sepset, rest)."""
        total = np.zeros(self.shapes[clique])
        for scope, table in self.factors[clique]:
            total += self.broadcast(clique, scope, table)
        for child in self.children[clique]:
            held = set(self.plan.sepsets[child])  # in the order of the clique
            total += messages.pop(child).reshape([self.cards[v] if v in held else 1 for v in self.plan.cliques[clique]])
        return total.reshape(self.split[clique], -1)

    def list_upward(self) -> Iterator[int]:
        """Yield the cliques, children before parents."""
        return iter(range(len(self.parents) - 1, -1, -1))

    def beliefs(self, conditionals: Sequence[np.ndarray]) -> Iterator[tuple[int, np.ndarray, np.ndarray]]:
        """Yield each clique, parents first, with the distributions of its sepset and of all its variables.

        The first is flat, the second has one axis per variable of the clique.
        """
        waiting: dict[int, np.ndarray] = {}
        for clique, conditional in enumerate(conditionals):
            sepset = waiting.pop(clique) if self.parents[clique] >= 0 else np.ones(1)
            belief = (conditional * sepset[:, None]).reshape(self.shapes[clique])
            for child in self.children[clique]:
                waiting[child] = self.marginal(clique, belief, self.plan.sepsets[child]).ravel()
            yield clique, sepset, belief

    def marginal(self, clique: int, belief: np.ndarray, variables: Sequence[int]) -> np.ndarray:
        """Return the sum of a clique's table over all but some variables, axes in the clique's order."""
        wanted = set(variables)
        others = tuple(axis for axis, v in enumerate(self.plan.cliques[clique]) if v not in wanted)
        return belief.sum(axis=others) if others else belief


def log_partition_and_conditionals(tree: JunctionTree) -> tuple[float, list[np.ndarray]]:
    """Sum the product of the factors over all states, and condition each clique on the sepset to its parent.

    The conditional tables have the shape (states of the sepset, states of the rest); rows sum to 1, or to 0 if the
    sepset's state is impossible. If the log-partition is minus infinity, some tables are missing.
    """
    messages: dict[int, np.ndarray] = {}
    conditionals: list[np.ndarray] = [np.empty(0)] * len(tree.parents)
    scales = []
    with np.errstate(divide="ignore"):
        for clique in tree.list_upward():
            table = tree.collect(clique, messages)
            top = table.max(axis=1)
            # Minus infinity minus minus infinity would be NaN.
            top[top == -np.inf] = 0.0
            table -= top[:, None]
            np.exp(table, out=table)
            sums = table.sum(axis=1)
            message = np.log(sums)
            message += top
            # A message of constant size keeps sums of thousands of factors exact to the last digits.
            scale = float(message.max())
            if scale == -np.inf:
                return scale, conditionals
            # Rows of impossible sepsets stay zero.
            sums[sums == 0.0] = 1.0
            table /= sums[:, None]
            conditionals[clique] = table
            scales.append(scale)
            if tree.parents[clique] >= 0:
                message -= scale
                messages[clique] = message
    return fsum(scales), conditionals


def most_probable(tree: JunctionTree) -> tuple[float, list[int]]:
    """Return the logarithm of the largest product of the factors, and the state of each variable there.

    Ties are broken by the order of the states in the tables.
    """
    messages: dict[int, np.ndarray] = {}
    best: list[np.ndarray] = [np.empty(0)] * len(tree.parents)
    scales = []
    for clique in tree.list_upward():
        table = tree.collect(clique, messages)
        best[clique] = table.argmax(axis=1)
        message = np.take_along_axis(table, best[clique][:, None], axis=1)[:, 0]
        scale = float(message.max())
        scales.append(scale)
        if tree.parents[clique] >= 0:
            messages[clique] = message - scale
    states = [0] * len(tree.cards)
    for clique, choice in enumerate(best):
        at = 0
        for v in tree.plan.sepsets[clique]:
            at = at * tree.cards[v] + states[v]
        cell = int(choice[at])
        # The last variable of a clique varies fastest.
        for v in reversed(tree.rest(clique)):
            cell, states[v] = divmod(cell, tree.cards[v])
    return fsum(scales), states


def draw_cells(cumulative: np.ndarray, rows: np.ndarray, uniform: np.ndarray) -> np.ndarray:
    """Draw one cell of positive weight from a row of weights for each of N samples, by bisection.

    `cumulative` (k, c) holds the cumulative sums of the weights of each row, which must not all be zero. `rows` (N,) is
    the row of each sample, `uniform` (N,) its uniform random number in [0, 1).
    """
    # u < 1 in float64, so that u times the total is below the total, and some cell passes it.
    target = uniform * cumulative[rows, -1]
    low = np.zeros(len(rows), dtype=np.int64)
    high = np.full(len(rows), cumulative.shape[1] - 1)
    for _ in range((cumulative.shape[1] - 1).bit_length()):
        middle = (low + high) // 2
        passed = cumulative[rows, middle] > target
        high = np.where(passed, middle, high)
        low = np.where(passed, low, middle + 1)
    return high


# ---- joint distributions of variables of several cliques ----


def joint_over_cliques(
    tree: JunctionTree,
    conditionals: Sequence[np.ndarray],
    belief: Callable[[int], np.ndarray],
    free: Sequence[int],
    check: Callable[[int], None],
) -> np.ndarray:
    """Return the joint of `free`, variables of two states or more, in this order; all others are summed out.

    The product is over the smallest subtree that contains `free`: the belief of its top clique times the conditionals
    of the others given their sepsets. `check` is called with the number of cells to be visited at a clique before
    anything is computed.
    """
    plan = tree.plan
    wanted = set(free)
    paths = _find_paths(tree.parents, {int(plan.homes[v]) for v in free})
    carried: dict[int, list[int]] = {}
    for clique, _ in paths:
        brought = [v for child in tree.children[clique] for v in carried.get(child, ())]
        check(prod(tree.cards[v] for v in {*plan.cliques[clique], *brought}))
        carried[clique] = brought + [v for v in tree.rest(clique) if v in wanted]
    waiting: dict[int, list[_Product]] = {}
    tops: list[_Product] = []
    for clique, is_top in paths:
        table = belief(clique) if is_top else conditionals[clique].reshape(tree.shapes[clique])
        scope = carried[clique] if is_top else [*plan.sepsets[clique], *carried[clique]]
        product = (scope, _sum_out([(list(plan.cliques[clique]), table), *waiting.pop(clique, [])], scope))
        if is_top:
            tops.append(product)
        else:
            waiting.setdefault(tree.parents[clique], []).append(product)
    return _sum_out(tops, list(free))


def _find_paths(parents: Sequence[int], homes: Iterable[int]) -> list[tuple[int, bool]]:
    """Return the cliques on the paths between given cliques, children first, and whether each is a top clique."""
    ends = set(homes)
    marked: dict[int, list[int]] = {}
    roots = []
    for clique in sorted(ends):
        fresh = clique not in marked
        marked.setdefault(clique, [])
        while fresh and parents[clique] >= 0:
            above = parents[clique]
            fresh = above not in marked
            marked.setdefault(above, []).append(clique)
            clique = above
        if fresh:
            roots.append(clique)
    tops = set()
    for top in roots:
        # A top clique without wanted variables and with one path through it is not needed.
        while top not in ends and len(marked[top]) == 1:
            (top,) = marked.pop(top)
        tops.add(top)
    return [(clique, clique in tops) for clique in sorted(marked, reverse=True)]


def _sum_out(factors: Sequence[_Product], variables: list[int]) -> np.ndarray:
    """Multiply tables and sum out all variables but `variables`, without building the product."""
    label = {v: at for at, v in enumerate(dict.fromkeys(v for scope, _ in factors for v in scope))}
    operands: list = []
    for scope, table in factors:
        operands += [table, [label[v] for v in scope]]
    return np.einsum(*operands, [label[v] for v in variables])
