"""Random dynamic Bayesian networks, as their transition and prior networks over lagged columns."""

from typing import Any

import numpy as np
from pgmpy.factors.discrete import TabularCPD

from pgmx.models import ConditionalGaussianCPD, ConditionalGaussianNetwork, DynamicBayesianNetwork


def draw_network(
    rng: np.random.Generator, cards: dict[str, int], order: list[str], inputs: list[str], most: int = 2
) -> ConditionalGaussianNetwork:
    """Return a network whose columns have parents among earlier columns of `order`; `inputs` have none.

    `cards` are numbers of states, 0 for continuous columns.
    """
    cpds: list[Any] = []
    for place, name in enumerate(order):
        allowed = [] if name in inputs else [p for p in order[:place] if cards[p] or not cards[name]]
        parents = [allowed[k] for k in rng.permutation(len(allowed))[: rng.integers(0, most + 1)]]
        discrete, continuous = [p for p in parents if cards[p]], [p for p in parents if not cards[p]]
        sizes = [cards[p] for p in discrete]
        states = {p: [f"{k}" for k in range(cards[p])] for p in [name, *discrete] if cards[p]}
        if cards[name]:
            table = rng.dirichlet(np.ones(cards[name]), int(np.prod(sizes, dtype=int))).T
            cpds.append(TabularCPD(name, cards[name], table, discrete, sizes, state_names=states))
        else:
            slopes = rng.normal(scale=0.6, size=(*sizes, 1 + len(continuous)))
            deviations = rng.uniform(0.5, 1.5, size=sizes)
            cpds.append(ConditionalGaussianCPD(name, slopes, deviations, discrete, continuous, states))
    return ConditionalGaussianNetwork.from_cpds(cpds)


def draw_dynamic_network(
    rng: np.random.Generator,
    cards: dict[str, int],
    lags: int = 1,
    static: dict[str, int] | None = None,
    *,
    prior: bool = True,
    most: int = 2,
    **options: Any,
) -> DynamicBayesianNetwork:
    """Return a random network over variables with these numbers of states, 0 for continuous ones."""
    static = static or {}
    sizes = static | {f"{name}@t-{lag}": card for name, card in cards.items() for lag in range(lags, -1, -1)}
    past = [*static, *(f"{name}@t-{lag}" for lag in range(lags, 0, -1) for name in cards)]
    order = [*past, *(f"{name}@t-0" for name in rng.permutation(list(cards)).tolist())]
    transition = draw_network(rng, sizes, order, past, most)
    first = draw_network(rng, sizes, past, list(static), most) if prior else None
    given = {"static_columns": list(static), "prior": first, "names": list(cards)}
    return DynamicBayesianNetwork(transition, lags, **given, **options)
