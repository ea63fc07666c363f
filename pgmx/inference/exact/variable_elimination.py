"""Variable elimination: the log-partition of a network, and its most probable states.

Each table is freed after a variable is summed (or maximised) out of it, so that the peak memory is below the memory of
a junction tree. If it is still too large, some variables are set to each of their states in turn (cutset conditioning).
The most probable states need only the best state of each variable per configuration of its neighbours, in a few bits.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from itertools import product
from math import fsum, log, prod
from typing import NamedTuple

import numpy as np

from pgmx._ext import _contraction
from pgmx.inference.exact.elimination_order import CELL_BYTES, EliminationPlan, make_treewidth_error, search_order
from pgmx.inference.exact.junction_tree import MostProbable
from pgmx.inference.networks import LogFactors, log_sum_exp
from pgmx.inference.reduced_network import Network, ReducedNetwork, ZeroProbabilityError

#: Tables of one variable whose product has at most this number of cells are multiplied before larger tables.
MOST_SMALL_CELLS = 4096
#: Range of the cells in nats above which a product is computed in logarithms, well below the limit of double precision.
MOST_NATS = 600.0
#: Fixed cost of eliminating one variable, in multiplications.
OVERHEAD = 10_000
#: Largest number of neighbours of a variable that is summed out, so that new tables have at most two variables.
MOST_NEIGHBOURS = 2

#: Scopes, and tables of logarithms with one axis per variable.
Factors = Sequence[tuple[tuple[int, ...], np.ndarray]]
_LogTable = tuple[tuple[int, ...], np.ndarray]


# ---- the sum over all configurations ----


class _ScaledTable(NamedTuple):
    """A table scaled to a maximum of 1: its variables (the first is eliminated last), cells, and their range in nats.

    `scale` is the logarithm of the scaling factor. Cells whose range exceeds double precision are stored as `logs`.
    """

    scope: tuple[int, ...]
    cells: np.ndarray
    nats: float
    scale: float
    logs: np.ndarray | None = None


class EliminationCost(NamedTuple):
    """The cost of elimination by an order: the peak memory of its tables, and the number of multiplications."""

    bytes: int
    operations: int


def count_elimination_cost(plan: EliminationPlan, cards: Sequence[int], *, maximise: bool = False) -> EliminationCost:
    """Return the cost of `sum_by_elimination`, from the scopes of its tables; the network's tables are not counted.

    With `maximise` return the cost of `maximise_by_elimination`, which stores the chosen states.
    """
    held = [0] * len(cards)  # cells of the tables that wait for a variable
    now = peak = operations = states = 0
    around_each = {
        clique[place]: clique[:place]
        for clique, sepset in zip(plan.cliques, plan.sepsets, strict=True)
        for place in range(len(sepset), len(clique))
    }
    for v in plan.order.tolist():
        around = around_each[v]
        cells = prod(cards[u] for u in around)
        operations += cells * cards[v]
        states += count_state_bytes(cells, cards[v]) if maximise else 0
        peak = max(peak, CELL_BYTES * (now + cells) + states)
        now += cells - held[v]
        if around:
            held[around[-1]] += cells  # stored at the variable of the table that is eliminated next
        else:
            now -= cells
    return EliminationCost(peak, operations)


def count_state_bits(n_states: int) -> int:
    """Return the bits in which a state is stored: a power of two."""
    # With a power of two no state crosses the border of a byte, or of a group of whole bytes.
    return next(bits for bits in (1, 2, 4, 8, 16, 32) if n_states <= 2**bits)


def count_state_bytes(cells: int, n_states: int) -> int:
    """Return the memory for one state per cell."""
    return -(-cells * count_state_bits(n_states) // 8)


def sum_by_elimination(plan: EliminationPlan, cards: Sequence[int], factors: Factors) -> np.ndarray:
    """Return the logarithm of the sum over all configurations of the product of the factors, as shares of variables.

    The shares, float64 (n,), of a connected component sum to its logarithm, which is -inf if the sum is 0.
    """
    rank = plan.rank.tolist()
    waiting: list[list[_ScaledTable]] = [[] for _ in cards]
    shares = np.log(np.asarray(cards, dtype=np.float64))  # the log-sum of a variable without tables
    for scope, logs in factors:
        scope, logs = sort_axes(scope, logs, rank)
        waiting[scope[-1]].append(_scale_logs(scope, logs))
    for v in plan.order.tolist():
        tables, waiting[v] = waiting[v], []
        if tables:
            table = _sum_out(tables, cards, rank)
            shares[v] = 0.0 if table.scope else table.scale
            if table.scope:
                waiting[table.scope[-1]].append(table)
    return shares


def sort_axes(scope: tuple[int, ...], logs: np.ndarray, rank: Sequence[int]) -> tuple[tuple[int, ...], np.ndarray]:
    """Return the variables of a table, the first to be eliminated last, and its cells in this order, flattened."""
    axes = sorted(range(len(scope)), key=lambda axis: -rank[scope[axis]])
    return tuple(scope[axis] for axis in axes), np.transpose(logs, axes).ravel()


def _scale_logs(scope: tuple[int, ...], logs: np.ndarray, scale: float = 0.0) -> _ScaledTable:
    """Return the scaled table of logarithms."""
    top = float(logs.max())
    if top == -np.inf:
        return _ScaledTable(scope, np.zeros(len(logs)), 0.0, top)
    logs = logs - top
    nats = -float(logs.min(initial=0.0, where=logs > -np.inf))
    return _ScaledTable(scope, np.exp(logs), nats, scale + top, logs if nats > MOST_NATS else None)


def _sum_out(tables: list[_ScaledTable], cards: Sequence[int], rank: Sequence[int]) -> _ScaledTable:
    """Return the product of tables summed over their last variable."""
    joint = join_scopes((table.scope for table in tables), rank)
    scope, scale = joint[:-1], sum(table.scale for table in tables)
    if sum(table.nats for table in tables) > MOST_NATS:
        return _scale_logs(scope, np.logaddexp.reduce(_add_logs(tables, joint, cards), axis=-1).ravel(), scale)
    small = [table for table in tables if len(table.cells) <= MOST_SMALL_CELLS]
    small_scope = join_scopes((table.scope for table in small), rank)
    if 1 < len(small) < len(tables) and prod(cards[u] for u in small_scope) <= MOST_SMALL_CELLS:
        # Each cell of the large product then reads fewer tables.
        large = [table for table in tables if len(table.cells) > MOST_SMALL_CELLS]
        tables = [*large, _multiply(small, small_scope, cards)]
    shape, strides = lay_out(joint, [table.scope for table in tables], cards)
    cells = np.empty(prod(shape.tolist()))
    largest = _contraction.sum_product([table.cells for table in tables], strides, shape, cards[joint[-1]], cells)
    if largest == 0.0:
        return _ScaledTable(scope, cells, 0.0, -np.inf)
    # A maximum of 1 keeps products of thousands of tables within the range of double precision.
    cells /= largest
    # Zeros do not count for the range: they stay zero in any product.
    least = float(cells.min()) or float(cells.min(initial=1.0, where=cells > 0.0))
    return _ScaledTable(scope, cells, -log(least), scale + log(largest))


def _add_logs(tables: list[_ScaledTable], scope: tuple[int, ...], cards: Sequence[int]) -> np.ndarray:
    logs = np.zeros([cards[u] for u in scope])
    with np.errstate(divide="ignore"):
        for table in tables:
            values = np.log(table.cells) if table.logs is None else table.logs
            logs += values.reshape([cards[u] if u in table.scope else 1 for u in scope])
    return logs


def _multiply(tables: list[_ScaledTable], scope: tuple[int, ...], cards: Sequence[int]) -> _ScaledTable:
    product = np.ones([cards[u] for u in scope])
    for table in tables:
        product *= table.cells.reshape([cards[u] if u in table.scope else 1 for u in scope])
    nats, scale = sum(table.nats for table in tables), sum(table.scale for table in tables)
    return _ScaledTable(scope, product.ravel(), nats, scale)


def join_scopes(scopes: Iterable[tuple[int, ...]], rank: Sequence[int]) -> tuple[int, ...]:
    """Return the variables of some tables, the first to be eliminated last."""
    return tuple(sorted({u for scope in scopes for u in scope}, key=lambda u: -rank[u]))


def lay_out(
    joint: tuple[int, ...], scopes: Iterable[tuple[int, ...]], cards: Sequence[int]
) -> tuple[np.ndarray, np.ndarray]:
    """Return the states of all variables of `joint` but the last, and their strides in tables over these scopes."""
    shape = np.array([cards[u] for u in joint[:-1]], dtype=np.int64)
    return shape, np.array([_list_strides(scope, joint, cards) for scope in scopes], dtype=np.int64)


def _list_strides(scope: tuple[int, ...], axes: tuple[int, ...], cards: Sequence[int]) -> list[int]:
    """Return the stride of each axis in a table whose variables are `scope`, in this order."""
    strides, step = dict.fromkeys(axes, 0), 1
    for u in reversed(scope):
        strides[u] = step
        step *= cards[u]
    return [strides[u] for u in axes]


# ---- networks of few neighbours ----


class Component(NamedTuple):
    """A connected component of a network: the indices of its variables in the network, and its factors."""

    variables: list[int]
    factors: LogFactors


def sum_out_low_degrees(cards: Sequence[int], factors: Factors) -> tuple[np.ndarray, list[Component]]:
    """Sum out all variables of at most two neighbours; return log-sums per variable and the remaining components.

    The log-sums, float64 (n,), plus the log-partitions of the components give the log-partition of the network. The
    scopes of a component are distinct.
    """
    tables: dict[tuple[int, ...], np.ndarray] = {}
    around: list[set[tuple[int, ...]]] = [set() for _ in cards]

    def add(scope: tuple[int, ...], table: np.ndarray) -> None:
        axes = sorted(range(len(scope)), key=scope.__getitem__)
        scope, table = tuple(scope[axis] for axis in axes), np.transpose(table, axes)
        tables[scope] = tables[scope] + table if scope in tables else table
        for v in scope:
            around[v].add(scope)

    for scope, table in factors:
        add(scope, table)
    shares = np.log(np.asarray(cards, dtype=np.float64))
    waiting = list(range(len(cards)))
    while waiting:
        v = waiting.pop()
        others = sorted({u for scope in around[v] for u in scope} - {v})
        if not around[v] or len(others) > MOST_NEIGHBOURS:
            continue
        scopes = sorted(around[v])
        joint = (*others, v)
        logs = np.zeros([cards[u] for u in joint])
        for scope in scopes:
            axes = sorted(range(len(scope)), key=lambda axis: joint.index(scope[axis]))
            shape = [cards[u] if u in scope else 1 for u in joint]
            logs += np.transpose(tables.pop(scope), axes).reshape(shape)
            for u in scope:
                around[u].discard(scope)
        sums = log_sum_exp(logs)
        shares[v] = 0.0 if others else float(sums)
        if others:
            add(tuple(others), sums)
            # They may have fewer neighbours now.
            waiting += others
    return shares, _list_components(cards, tables, shares)


def _list_components(
    cards: Sequence[int], tables: dict[tuple[int, ...], np.ndarray], shares: np.ndarray
) -> list[Component]:
    """Return the connected components of the remaining tables; the shares of their variables become 0."""
    root = list(range(len(cards)))

    def find(v: int) -> int:
        while root[v] != v:
            root[v] = root[root[v]]
            v = root[v]
        return v

    for scope in tables:
        for u in scope[1:]:
            root[find(u)] = find(scope[0])
    members: dict[int, list[int]] = {}
    for v in sorted({u for scope in tables for u in scope}):
        members.setdefault(find(v), []).append(v)
        shares[v] = 0.0
    scopes_of: dict[int, list[tuple[int, ...]]] = {root_of: [] for root_of in members}
    for scope in sorted(tables):
        scopes_of[find(scope[0])].append(scope)
    components = []
    for root_of, variables in members.items():
        number = {v: k for k, v in enumerate(variables)}
        scopes = tuple(tuple(number[v] for v in scope) for scope in scopes_of[root_of])
        values = tuple(tables[scope] for scope in scopes_of[root_of])
        components.append(Component(variables, LogFactors(np.array([cards[v] for v in variables]), scopes, values)))
    return components


# ---- cutset conditioning: less memory, one elimination per configuration of some variables ----


class Conditioning(NamedTuple):
    """The cutset (variables that are set to each of their states), the order for all others, and the cost.

    `bytes` is the memory per configuration of the cutset, `operations` the multiplications of all configurations.
    """

    variables: tuple[int, ...]
    plan: EliminationPlan
    bytes: int
    operations: int


def choose_conditioning(
    cards: Sequence[int],
    scopes: Sequence[tuple[int, ...]],
    memory: int,
    most_operations: int,
    *,
    maximise: bool = False,
) -> Conditioning | None:
    """Choose variables whose tables have most cells, until an order of the others fits into `memory` bytes.

    None if this needs more than `most_operations` multiplications. Koller and Friedman (2009), algorithm 9.5.
    """
    chosen: list[int] = []
    while True:
        plan, cost = plan_rest(cards, scopes, chosen, maximise=maximise)
        # Each configuration of the cutset takes one elimination.
        operations = (cost.operations + OVERHEAD * len(cards)) * prod(cards[v] for v in chosen)
        if operations > most_operations:
            return None
        if cost.bytes <= memory:
            return Conditioning(tuple(chosen), plan, cost.bytes, operations)
        chosen.append(_find_most_costly(plan, [1 if v in chosen else card for v, card in enumerate(cards)]))


def plan_rest(
    cards: Sequence[int], scopes: Sequence[tuple[int, ...]], fixed: Sequence[int], *, maximise: bool = False
) -> tuple[EliminationPlan, EliminationCost]:
    """Return an order for all variables except those fixed to one state, and its cost."""
    rest = [1 if v in fixed else card for v, card in enumerate(cards)]
    free = (tuple(v for v in scope if rest[v] > 1) for scope in scopes)
    plan = search_order(rest, [scope for scope in free if scope], by_largest=True)
    return plan, count_elimination_cost(plan, rest, maximise=maximise)


def _find_most_costly(plan: EliminationPlan, cards: Sequence[int]) -> int:
    """Return the variable whose conditioning removes most cells of the cliques."""
    savings = np.zeros(len(cards))
    for clique in plan.cliques:
        savings[list(clique)] += prod(cards[v] for v in clique)
    # Setting a variable to a state divides the cells of its cliques by its number of states.
    return int(np.argmax(savings * (1.0 - 1.0 / np.asarray(cards))))


def sum_by_conditioning(factors: LogFactors, conditioning: Conditioning, n_jobs: int | None = None) -> float:
    """Return the logarithm of the sum over all configurations of the product of the factors."""
    sums = sum_each_configuration(factors, {}, conditioning.variables, conditioning.plan, n_jobs)
    return float(log_sum_exp(sums.ravel()))


def sum_each_configuration(
    network: Network,
    evidence: Mapping[int, int],
    variables: Sequence[int],
    plan: EliminationPlan,
    n_jobs: int | None = None,
) -> np.ndarray:
    """Return the logarithm of the sum for each configuration of some variables, one axis each."""
    from pgmx.parallel.tasks import call_together

    shape = [int(network.cardinalities[v]) for v in variables]
    calls = (
        partial(_sum_rest, network, {**evidence, **dict(zip(variables, configuration, strict=True))}, plan)
        for configuration in product(*map(range, shape))
    )
    return np.array(call_together(calls, n_jobs)).reshape(shape)


def _sum_rest(network: Network, evidence: Mapping[int, int], plan: EliminationPlan) -> float:
    try:
        reduced = ReducedNetwork(network, evidence)
    except ZeroProbabilityError:
        return -np.inf
    return reduced.constant + float(sum_by_elimination(plan, reduced.cards, reduced.factors).sum())


# ---- most probable states ----


class _Choice(NamedTuple):
    """The best state of a variable per configuration of its neighbours, packed in `n_bits` per state, lowest first."""

    scope: tuple[int, ...]
    n_bits: int
    packed: np.ndarray

    def read_state(self, states: Sequence[int], cards: Sequence[int]) -> int:
        """Return the best state given the states of the other variables."""
        cell = 0
        for v in self.scope:
            cell = cell * cards[v] + states[v]
        first, shift = divmod(cell * self.n_bits, 8)
        chunk = self.packed[first : first + max(1, self.n_bits // 8)].tobytes()
        return int.from_bytes(chunk, "little") >> shift & ((1 << self.n_bits) - 1)


def find_most_probable(
    network: Network, evidence: Mapping[int, int], memory: int, most_operations: int
) -> MostProbable:
    """Return a most probable configuration in at most `memory` bytes; raise a TreewidthError if they do not suffice.

    If necessary, cutset conditioning is used, with at most `most_operations` additions.
    """
    reduced = ReducedNetwork(network, evidence)
    scopes = [scope for scope, _ in reduced.factors]
    plan = search_order(reduced.cards, scopes, by_largest=True)
    cost = count_elimination_cost(plan, reduced.cards, maximise=True)
    fixed: tuple[int, ...] = ()
    if cost.bytes > memory:
        conditioning = choose_conditioning(reduced.cards, scopes, memory, most_operations, maximise=True)
        if conditioning is None:
            raise make_treewidth_error(plan.width, cost.bytes, memory)
        fixed, plan = conditioning.variables, conditioning.plan
    best = MostProbable(np.empty(0, dtype=np.int64), -np.inf)
    for configuration in product(*(range(reduced.cards[v]) for v in fixed)):
        answer = _maximise_others(network, {**evidence, **dict(zip(fixed, configuration, strict=True))}, plan)
        # `max` keeps the first of equal values.
        best = max(best, answer, key=lambda candidate: candidate.log_value)
    if best.log_value == -np.inf:
        raise ZeroProbabilityError(reduced.evidence)
    return best


def _maximise_others(network: Network, evidence: Mapping[int, int], plan: EliminationPlan) -> MostProbable:
    try:
        reduced = ReducedNetwork(network, evidence)
    except ZeroProbabilityError:
        return MostProbable(np.empty(0, dtype=np.int64), -np.inf)
    log_value, states = maximise_by_elimination(plan, reduced.cards, reduced.factors)
    codes = np.array(states, dtype=np.int64)
    for v, code in evidence.items():
        codes[v] = code
    return MostProbable(codes, log_value + reduced.constant)


def maximise_by_elimination(plan: EliminationPlan, cards: Sequence[int], factors: Factors) -> tuple[float, list[int]]:
    """Return the largest sum of the factors, and a state of each variable there.

    Ties are broken by the first state of a variable. If the sum is minus infinity, the states are meaningless.
    """
    rank = plan.rank.tolist()
    waiting: list[list[_LogTable]] = [[] for _ in cards]
    choices: dict[int, _Choice] = {}
    scales = []
    for scope, logs in factors:
        table = sort_axes(scope, logs, rank)
        waiting[table[0][-1]].append(table)
    for v in plan.order.tolist():
        tables, waiting[v] = waiting[v], []
        if tables:
            scale, (scope, cells), choices[v] = _maximise_out(tables, cards, rank)
            scales.append(scale)
            if scale == -np.inf:
                break
            if scope:
                waiting[scope[-1]].append((scope, cells))
    states = [0] * len(cards)
    for v, choice in reversed(choices.items()):
        states[v] = choice.read_state(states, cards)
    return fsum(scales), states


def _maximise_out(
    tables: list[_LogTable], cards: Sequence[int], rank: Sequence[int]
) -> tuple[float, _LogTable, _Choice]:
    """Maximise a sum of tables over their last variable; return the largest cell, the table minus it, and the states.

    The tables hold differences only, so that sums of thousands of factors stay exact to the last digits.
    """
    joint = join_scopes((scope for scope, _ in tables), rank)
    small = [table for table in tables if len(table[1]) <= MOST_SMALL_CELLS]
    small_scope = join_scopes((scope for scope, _ in small), rank)
    if 1 < len(small) < len(tables) and prod(cards[u] for u in small_scope) <= MOST_SMALL_CELLS:
        total = np.zeros([cards[u] for u in small_scope])
        for scope, cells in small:
            total += cells.reshape([cards[u] if u in scope else 1 for u in small_scope])
        tables = [*(table for table in tables if len(table[1]) > MOST_SMALL_CELLS), (small_scope, total.ravel())]
    shape, strides = lay_out(joint, [scope for scope, _ in tables], cards)
    maxima, n_states = np.empty(prod(shape.tolist())), cards[joint[-1]]
    n_bits = count_state_bits(n_states)
    packed = np.zeros(count_state_bytes(len(maxima), n_states), dtype=np.uint8)
    scale = _contraction.max_sum([cells for _, cells in tables], strides, shape, n_states, maxima, n_bits, packed)
    if scale > -np.inf:
        maxima -= scale
    return scale, (joint[:-1], maxima), _Choice(joint[:-1], n_bits, packed)
