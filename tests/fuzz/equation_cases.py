"""Cases of structural equations: generators and learners."""

import warnings
from typing import Any

import numpy as np

from pgmx import datasets, estimators
from tests.fuzz.calls import Arguments, Wrong, enter_calls
from tests.fuzz.cases import pick
from tests.fuzz.data_set_cases import NATURAL, SEED

RANGE = Wrong(((0.0, 1.0), (2.0, 1.0), (1.0,), "x", None))
LEVEL = Wrong((-1.0, "x", None))


def draw_coefficients(rng: np.random.Generator, n: int) -> np.ndarray:
    """Return coefficients of stable equations."""
    matrix = rng.uniform(-0.3, 0.3, (n, n))
    np.fill_diagonal(matrix, 0.0)
    return matrix / n


def draw_switching(rng: np.random.Generator) -> Arguments:
    """Return options of a generator of series."""
    n, n_windows = int(rng.integers(1, 6)), int(rng.integers(1, 6))
    coef = draw_coefficients(rng, n)
    if rng.random() < 0.3:
        coef = np.stack([coef] * n_windows)
    return {"coef": coef, "n_windows": n_windows, "window": int(rng.integers(1, 40)), "same_power": rng.random() < 0.3}


def check_rows(result: Any, arguments: Arguments) -> None:
    """There are as many rows as asked for, and powers of all windows."""
    assert isinstance(result, datasets.SwitchingSeries)
    assert len(result.series) == arguments["n_windows"] * arguments["window"]
    assert (result.exogenous_power > 0).all()


def draw_rows(rng: np.random.Generator) -> Arguments:
    """Return series with the powers of their inputs, some of them or none."""
    n, n_windows = int(rng.integers(2, 5)), int(rng.integers(2, 6))
    drawn = datasets.switching_series(draw_coefficients(rng, n), n_windows, 30, random_state=int(rng.integers(99)))
    exogenous = pick(rng, ["known", "partial", "blind"])
    powers = drawn.exogenous_power
    if exogenous == "partial":
        powers = np.where(rng.random(powers.shape) < 0.5, np.nan, powers)
    return {
        "X": drawn.series,
        "exogenous": exogenous,
        "exogenous_power": None if exogenous == "blind" else powers,
        "fit_intercept": bool(rng.random() < 0.5),
        "threshold": pick(rng, [0.1, "relative"]),
    }


def learn_sem(X: Any, exogenous_power: Any, **options: Any) -> Any:
    """Fit the equations of windows of 30 rows, without warnings of inputs that are proportional by chance."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", estimators.IdentifiabilityWarning)
        return estimators.TensorSEM(**{"window": 30, **options}).fit(X, exogenous_power=exogenous_power)


def learn_sparse_sem(X: Any, exogenous_power: Any, **options: Any) -> Any:
    """Fit sparse equations of windows of 30 rows, without warnings of inputs that are proportional by chance."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", estimators.IdentifiabilityWarning)
        return estimators.SparseTensorSEM(**{"window": 30, **options}).fit(X, exogenous_power=exogenous_power)


def draw_sparse_rows(rng: np.random.Generator) -> Arguments:
    """Return the same series with a penalty."""
    drawn = draw_rows(rng)
    del drawn["threshold"]
    return {**drawn, "lam_ratio": float(rng.uniform(0.01, 1.0)), "adaptive": bool(rng.random() < 0.5)}


def track_sem(X: Any, exogenous_power: Any, **options: Any) -> Any:
    """Follow the equations through the same windows."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", estimators.IdentifiabilityWarning)
        windows = np.split(np.asarray(X), len(X) // 30) if np.ndim(X) == 2 else X
        return estimators.TensorSEMTracker(**options).fit(windows, exogenous_power=exogenous_power)


def check_equations(learner: Any, arguments: Arguments) -> None:
    """The coefficients are finite, no series depends on itself, and edges are instantaneous."""
    assert np.isfinite(learner.coef_).all()
    assert not np.diag(learner.coef_).any()
    assert learner.graph_.lags == 0


enter_calls(
    "datasets.kronecker_coefficients",
    datasets.kronecker_coefficients,
    lambda rng: {"n_factors": int(rng.integers(1, 4))},
    lambda result, arguments: np.testing.assert_equal(len(result), 4 ** arguments["n_factors"]),
    {"n_factors": Wrong((6, *NATURAL.values)), "weights": RANGE, "random_state": SEED},
    0.3,
)
enter_calls(
    "datasets.switching_series",
    datasets.switching_series,
    draw_switching,
    check_rows,
    {
        "coef": Wrong((np.ones((2, 2)), np.ones(3), "x")),
        "n_windows": NATURAL,
        "window": NATURAL,
        "gains": RANGE,
        "deviations": RANGE,
        "noise": LEVEL,
        "random_state": SEED,
    },
    0.3,
)
_WRONG = {"threshold": LEVEL, "exogenous": Wrong(("x", None)), "method": Wrong(("x", None))}
enter_calls(
    "estimators.TensorSEM",
    learn_sem,
    draw_rows,
    check_equations,
    {
        **_WRONG,
        "n_starts": NATURAL,
        "window": Wrong((0, "x")),
        "boundaries": Wrong(([3, 2], "x")),
        "edge_statistic": Wrong(("x", None)),
    },
    0.5,
)
enter_calls(
    "estimators.SparseTensorSEM",
    learn_sparse_sem,
    draw_sparse_rows,
    check_equations,
    {
        "exogenous": _WRONG["exogenous"],
        "lam": Wrong((0.0, -1.0, "x")),
        "lam_ratio": Wrong((0.0, 1.5, "x", None)),
        "adaptive": Wrong(("x", None)),
        "refit": Wrong(("x", None)),
        "tol": Wrong((0.0, "x")),
        "max_iter": NATURAL,
    },
    0.5,
)
enter_calls(
    "estimators.TensorSEMTracker",
    track_sem,
    draw_rows,
    check_equations,
    {**_WRONG, "forgetting": Wrong((0.0, 1.5, "x")), "sweeps": NATURAL},
    0.5,
)
