"""Cases of dynamic Bayesian networks."""

from typing import Any

import numpy as np

from pgmx.models import DynamicBayesianNetwork, TwoSliceBayesianNetwork
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


def draw_two_slices(rng: np.random.Generator) -> Arguments:
    """Return arguments of the constructor of a network of two slices."""
    cards = {name: pick(rng, [2, 3]) for name in "abc"[: int(rng.integers(1, 4))]}
    static = {"s": 2} if chance(rng, 0.4) else {}
    model = draw_dynamic_network(rng, cards, 1, static, prior=False)
    return {"transition": model.transition, "static_columns": list(model.static_columns), "names": list(cards)}


def check_two_slices(model: Any, arguments: Arguments) -> None:
    """Both slices have all variables, and pgmpy accepts the tables."""
    names = [*arguments["static_columns"], *arguments["names"]]
    assert {(node[0], node[1]) for node in model.nodes()} == {(name, s) for name in names for s in (0, 1)}
    assert model.check_model() and model == DynamicBayesianNetwork(**arguments)


enter_calls(
    "models.TwoSliceBayesianNetwork",
    TwoSliceBayesianNetwork,
    draw_two_slices,
    check_two_slices,
    {
        "transition": Wrong(("x", 3)),
        "static_columns": Wrong((["z"], ["a@t-0"], [None]), ("column", "None")),
        "names": Wrong((["z"], [None], []), ("column", "None", "names")),
        "prior": Wrong((3, "x"), ("prior",)),
    },
)


def draw_questions(rng: np.random.Generator) -> Arguments:
    """Return a network, and rows of a few series in which values may be missing."""
    cards = {name: pick(rng, [2, 3]) for name in "abc"[: int(rng.integers(1, 4))]}
    kind = pick(rng, ["discrete", "continuous", "mixed"])
    if kind != "discrete":
        cards = {name: 0 if kind == "continuous" or chance(rng, 0.5) else card for name, card in cards.items()}
    static = {"s": 0 if kind == "continuous" else 2} if chance(rng, 0.4) else {}
    lags = int(rng.integers(1, 4))
    options = {"groups": "series", "time_column": "time"}
    model = draw_dynamic_network(rng, cards, lags, static, prior=chance(rng, 0.7), **options)
    source = draw_dynamic_network(rng, cards, lags, static, **options)
    history = source.simulate(lags + int(rng.integers(1, 4)), int(rng.integers(1, 4)), int(rng.integers(99)))
    if chance(rng, 0.4) and (all(cards.values()) or not any([*cards.values(), *static.values()])):
        history.loc[rng.random(len(history)) < 0.4, next(iter(cards))] = np.nan
    return {"model": model, "history": history, "steps": int(rng.integers(1, 4)), "coverage": 0.8}


def answer_questions(model: DynamicBayesianNetwork, history: Any, steps: int, coverage: float) -> tuple:
    """Ask everything that is asked of a network."""
    forecast = model.forecast(history, steps, coverage=coverage, n_samples=100)
    drawn = model.simulate(steps, 2) if model.prior is not None else None
    return forecast, model.log_likelihood(history), model.predict_proba(history), model.predict(history, steps), drawn


def check_questions(answers: tuple, arguments: Arguments) -> None:
    """Probabilities sum to one, and bounds enclose means."""
    forecast, logs, shares, states, drawn = answers
    model, history = arguments["model"], arguments["history"]
    n_series = history["series"].nunique()
    assert len(forecast.values) == len(states) == n_series * arguments["steps"]
    assert np.isfinite(logs).all() and len(logs) == len(history) - (model.prior is None) * model.lags * n_series
    for frame in (forecast.values, shares):
        assert np.isfinite(frame.to_numpy()).all()
        for name in model.names:
            if name in model.states:
                np.testing.assert_allclose(frame[name].sum(axis=1), 1.0)
            elif forecast.exact and "upper" in frame[name]:
                assert (frame[name]["lower"] < frame[name]["mean"]).all()
    assert drawn is None or len(drawn) == 2 * arguments["steps"]


enter_calls(
    "models.DynamicBayesianNetwork.questions",
    answer_questions,
    draw_questions,
    check_questions,
    {
        "history": Wrong(
            (
                None,
                3,
                lambda rows: rows.iloc[::-1],
                lambda rows: rows.assign(extra=1.0),
                lambda rows: rows.drop(columns="series"),
                lambda rows: rows.assign(a="wrong"),
            ),
            ("column", "times", "'a'", "groups", "rows"),
        ),
        "steps": Wrong((0, 2.5, "x", None)),
        "coverage": Wrong((0.0, 1.5, "x", None, float("nan"))),
    },
)
