"""Cutset conditioning: elimination with less memory, once per configuration of some variables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from itertools import product
from math import prod
from typing import NamedTuple

import numpy as np

from pgmx.inference.exact.elimination_order import EliminationPlan, search_order
from pgmx.inference.exact.variable_elimination import EliminationCost, count_elimination_cost, sum_by_elimination
from pgmx.inference.networks import LogFactors, Network, ReducedNetwork, ZeroProbabilityError, log_sum_exp

#: Fixed cost of eliminating one variable, in multiplications.
OVERHEAD = 10_000


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
