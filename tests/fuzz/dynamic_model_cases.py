"""Cases of dynamic Bayesian networks."""

from typing import Any

import numpy as np

from pgmx.models import DynamicBayesianNetwork
from tests.fuzz.calls import Arguments, Wrong, enter_calls
from tests.fuzz.cases import chance, pick
from tests.helpers.dynamic_networks import draw_dynamic_network


def draw_parts(rng: np.random.Generator) -> Arguments:
    """Return arguments of the constructor."""
    cards = {name: pick(rng, [0, 2, 3]) for name in "abc"[: int(rng.integers(1, 4))]}
    static = {"s": 2} if chance(rng, 0.4) else {}
    model = draw_dynamic_network(rng, cards, int(rng.integers(1, 4)), static, prior=chance(rng, 0.5))
    return {
        "transition": model.transition,
        "lags": model.lags,
        "static_columns": list(model.static_columns),
        "prior": model.prior,
        "names": list(cards),
    }


def check_parts(model: Any, arguments: Arguments) -> None:
    """The edges are those into the present."""
    edges = [(u, v) for u, v in arguments["transition"].edges() if v.endswith("@t-0")]
    assert model.to_networkx().number_of_edges() == len(edges)
    assert list(model.names) == arguments["names"] and model.lags == arguments["lags"]


enter_calls(
    "models.DynamicBayesianNetwork",
    DynamicBayesianNetwork,
    draw_parts,
    check_parts,
    {
        "transition": Wrong((None, "x", 3)),
        "lags": Wrong((0, -1, 1.5, "x", 9), ("column",)),
        "static_columns": Wrong((["z"], ["a@t-0"], [None]), ("column", "None")),
        "names": Wrong((["z"], [None], []), ("column", "None", "names")),
        "prior": Wrong((3, "x"), ("prior",)),
    },
)
