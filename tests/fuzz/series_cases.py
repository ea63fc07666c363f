"""Cases of learners of time series."""

from typing import Any

import numpy as np
import pandas as pd

from pgmx import estimators
from tests.fuzz.calls import Arguments, Wrong, enter_calls
from tests.fuzz.cases import pick
from tests.fuzz.data_set_cases import NATURAL

SWITCH = Wrong((2, "x", None))


def draw_series(rng: np.random.Generator) -> Arguments:
    """Return a series of random numbers, as an array, a frame or a panel."""
    n, lags = int(rng.integers(2, 5)), int(rng.integers(1, 3))
    rows = rng.standard_normal((int(rng.integers(20, 60)), n))
    kind = pick(rng, ["array", "frame", "panel"])
    data: Any = rows
    if kind == "frame":
        data = pd.DataFrame(rows, index=pd.date_range("2020-01-01", periods=len(rows), freq="D"))
    elif kind == "panel":
        data = [rows, rows[:15]]
    return {"X": data, "lags": lags, "standardize": bool(rng.random() < 0.5), "fit_intercept": bool(rng.random() < 0.5)}


def draw_structure(rng: np.random.Generator) -> Arguments:
    """Return a series and a structure for it."""
    arguments = draw_series(rng)
    rows = arguments["X"][0] if isinstance(arguments["X"], list) else arguments["X"]
    return {**arguments, "structure": rng.random((rows.shape[1], rows.shape[1])) < 0.5}


def learn(name: str):
    """Return a function that fits a learner."""
    return lambda X, **options: getattr(estimators, name)(**options).fit(X)


def check_system(learner: Any, arguments: Arguments) -> None:
    """The system forecasts finite rows."""
    history = arguments["X"][0] if isinstance(arguments["X"], list) else arguments["X"]
    assert np.isfinite(np.asarray(learner.predict(history, 2))).all()
    assert learner.graph_.lags <= arguments["lags"]


WRONG = {"lags": Wrong((0, *NATURAL.values)), "standardize": SWITCH, "fit_intercept": SWITCH}
enter_calls(
    "estimators.DenseLDS",
    learn("DenseLDS"),
    draw_series,
    check_system,
    {**WRONG, "missing": Wrong(("pairwise", 1)), "irregular": Wrong(("x",)), "solver": Wrong(("x", 3))},
    0.5,
)
enter_calls(
    "estimators.SparsityEnforcingLDS",
    learn("SparsityEnforcingLDS"),
    draw_structure,
    check_system,
    {**WRONG, "structure": Wrong((None, np.ones(3), "x"))},
    0.5,
)


def draw_svarm(rng: np.random.Generator) -> Arguments:
    """Return a series and options of a structural vector autoregression without instantaneous edges."""
    arguments = draw_series(rng)
    solver = pick(rng, ["descent", "admm"])
    options = {"loss": pick(rng, ["squared", "absolute"]), "penalty": pick(rng, ["lasso", "ridge"]), "tol": 1e-3}
    series = {"X": arguments["X"], "lags": arguments["lags"]}
    return {**series, "instantaneous": False, "lam_ratio": 0.3, "solver": solver, **options}


SVARM_WRONG = {
    "lags": WRONG["lags"],
    "instantaneous": SWITCH,
    "lam": Wrong((0.0, -1.0, "x")),
    "lam_ratio": Wrong((0.0, None, "x")),
    "solver": Wrong(("x", 3)),
    "orient": Wrong(("nonlinear", "x")),
    "loss": Wrong(("x", None)),
    "epsilon": Wrong((-1.0, "x", None)),
    "penalty": Wrong(("x", None)),
}
enter_calls("estimators.LinearSVARM", learn("LinearSVARM"), draw_svarm, check_system, SVARM_WRONG, 0.5)
enter_calls(
    "estimators.KernelSVARM",
    learn("KernelSVARM"),
    draw_svarm,
    check_system,
    {
        **SVARM_WRONG,
        "kernels": Wrong(("x", (), ("x",), 3)),
        "bandwidth": Wrong((0.0, "x")),
        "max_rank": Wrong((0, -1, 1.5, "2")),
    },
    0.5,
)
enter_calls(
    "estimators.SVARMTracker",
    learn("SVARMTracker"),
    lambda rng: {
        **{name: value for name, value in draw_svarm(rng).items() if name in ("X", "lags", "lam_ratio")},
        "penalty": pick(rng, ["lasso", "ridge"]),
        "kernels": pick(rng, ["linear", ("gaussian", "poly2")]),
    },
    lambda result, arguments: np.testing.assert_equal(np.isfinite(result.strengths_).all(), True),
    {
        **{name: wrong for name, wrong in SVARM_WRONG.items() if name in ("lags", "lam", "lam_ratio", "penalty")},
        "kernels": Wrong(("x", (), ("x",), 3)),
        "bandwidth": Wrong((0.0, "x")),
        "max_rank": Wrong((0, 34, 1.5, "2")),
        "forgetting": Wrong((0.0, 1.5, "x")),
        "detect": SWITCH,
    },
    0.3,
)
PENALTY = Wrong((0.0, -1.0, np.nan, "x"))
COUNT = Wrong((0, -1, 1.5, "x"))
enter_calls(
    "estimators.SparsityInducingLDS",
    learn("SparsityInducingLDS"),
    lambda rng: {**draw_series(rng), "k": 2, "screen": pick(rng, [None, 1, 3])},
    check_system,
    {
        **WRONG,
        "lam": PENALTY,
        "lam_ratio": PENALTY,
        "k": COUNT,
        "screen": COUNT,
        "refit": SWITCH,
        "solver": Wrong(("x", None)),
    },
    0.5,
)
enter_calls(
    "estimators.ScalableLDS",
    learn("ScalableLDS"),
    lambda rng: {**draw_series(rng), "seed_fraction": 0.5, "solver": pick(rng, ["lasso", "sgd"])},
    check_system,
    {**WRONG, "n_seeds": Wrong((0, 99, -1, "x")), "seed_fraction": PENALTY, "k": COUNT, "lam": PENALTY},
    0.5,
)
enter_calls(
    "estimators.BlockBootstrap",
    lambda X, n_resamples, block_length, **options: estimators.BlockBootstrap(
        estimators.SparsityEnforcingLDS(**options), n_resamples=n_resamples, block_length=block_length
    ).fit(X),
    lambda rng: {
        **draw_structure(rng),
        "n_resamples": int(rng.integers(1, 20)),
        "block_length": int(rng.integers(1, 6)),
    },
    lambda result, arguments: np.testing.assert_array_equal(
        result.edge_probability_[1:] > 0, np.broadcast_to(arguments["structure"], result.edge_probability_[1:].shape)
    ),
    {"n_resamples": Wrong((0, *NATURAL.values)), "block_length": Wrong((0, 1.5, "x"))},
    0.3,
)
