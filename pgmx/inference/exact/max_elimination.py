"""Most probable states by variable elimination, which stores only the chosen states of its tables, in a few bits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product
from math import fsum, prod
from typing import NamedTuple

import numpy as np

from pgmx._ext import _contraction
from pgmx.inference.exact.bucket_elimination import (
    MOST_SMALL_CELLS,
    count_elimination_cost,
    count_state_bits,
    count_state_bytes,
    join_scopes,
    lay_out,
    sort_axes,
)
from pgmx.inference.exact.conditioning import choose_conditioning
from pgmx.inference.exact.elimination import EliminationPlan, search_order, too_wide
from pgmx.inference.exact.exact import MostProbable
from pgmx.inference.networks.evidence import Network, ReducedNetwork, ZeroProbabilityError

_Table = tuple[tuple[int, ...], np.ndarray]


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
            raise too_wide(plan.width, cost.bytes, memory)
        fixed, plan = conditioning.variables, conditioning.plan
    best = MostProbable(np.empty(0, dtype=np.int64), -np.inf)
    for configuration in product(*(range(reduced.cards[v]) for v in fixed)):
        answer = _maximise_others(network, {**evidence, **dict(zip(fixed, configuration, strict=True))}, plan)
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


def maximise_by_elimination(
    plan: EliminationPlan, cards: Sequence[int], factors: Sequence[tuple[tuple[int, ...], np.ndarray]]
) -> tuple[float, list[int]]:
    """Return the largest sum of the factors, and a state of each variable there.

    Ties are broken by the first state of a variable. If the sum is minus infinity, the states are meaningless.
    """
    rank = plan.rank.tolist()
    waiting: list[list[_Table]] = [[] for _ in cards]
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


def _maximise_out(tables: list[_Table], cards: Sequence[int], rank: Sequence[int]) -> tuple[float, _Table, _Choice]:
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
