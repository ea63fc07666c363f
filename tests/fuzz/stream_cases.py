"""Cases of learners of streams and of their errors."""

from typing import Any

import numpy as np
import pandas as pd

from pgmx.metrics import PrequentialCurve, RegretCurve, prequential, regret
from pgmx.plotting import plot_intervals, plot_prequential, plot_regret
from pgmx.streaming import AdaRakerRegressor, CategoricalSubspace, RakerRegressor
from pgmx.streaming.least_squares import RecursiveLeastSquares
from tests.fuzz.calls import Arguments, Wrong, enter_calls
from tests.fuzz.cases import pick

WRONG_ROWS = Wrong(
    ([[np.nan, 1.0]] * 9, [[np.inf, 1.0]] * 9, np.zeros((0, 2)), "x", None), ("X", "sample", "array", "rows")
)


def draw_stream(rng: np.random.Generator) -> Arguments:
    """Return arguments of `prequential`."""
    X = rng.normal(size=(int(rng.integers(9, 40)), 2))
    rows: Any = [X, X.tolist(), pd.DataFrame(X, columns=["a", "b"])][int(rng.integers(3))]
    return {"learner": RecursiveLeastSquares(), "X": rows, "y": rng.normal(size=len(X)), "window": 7}


def check_curve(curve: PrequentialCurve, arguments: Arguments) -> None:
    """The last value has the error of differences, and the picture shows a line for each learner."""
    y = np.asarray(arguments["y"])
    expected = np.mean(np.diff(y, prepend=0.0) ** 2)
    np.testing.assert_allclose(curve.means["last value"], expected, rtol=1e-9)
    assert len(plot_prequential(curve).get_lines()) == len(curve.errors) == 4


enter_calls(
    "metrics.prequential",
    prequential,
    draw_stream,
    check_curve,
    {
        "X": WRONG_ROWS,
        "y": Wrong((None, [1.0], ["x"] * 9, [np.nan] * 9), ("y", "sample", "string")),
        "window": Wrong((0, -1, 2.5, "x", None)),
        "classes": Wrong(([0, 1],)),
    },
    0.5,
)


def draw_regret(rng: np.random.Generator) -> Arguments:
    """Return arguments of `regret`."""
    n = int(rng.integers(9, 40))
    cls = pick(rng, [RakerRegressor, AdaRakerRegressor])
    learner = cls(n_components=2, kernels=pick(rng, ["gaussian", ("gaussian", "linear", "polynomial3")]))
    return {
        "learner": learner,
        "X": rng.random((n, 2)),
        "y": rng.random(n),
        "changes": pick(rng, [(), [4], [1, n - 1]]),
    }


def check_regret(curve: RegretCurve, arguments: Arguments) -> None:
    """The best switching function is at least as good as the best fixed one, and the picture shows lines."""
    assert (curve.dynamic >= curve.static - 1e-9).all()
    assert curve.n_rows[-1] == len(arguments["y"])
    assert plot_regret(curve).get_lines()


enter_calls(
    "metrics.regret",
    regret,
    draw_regret,
    check_regret,
    {
        "X": WRONG_ROWS,
        "y": Wrong((None, [1.0], [np.nan] * 9), ("y", "sample", "target")),
        "changes": Wrong(([0], [3, 3], [10**6], [1.5], "x")),
        "n_points": Wrong((0, -1, 2.5, "x")),
    },
    0.5,
)


def draw_intervals(rng: np.random.Generator) -> Arguments:
    """Return arguments of `plot_intervals`."""
    y = rng.normal(size=int(rng.integers(1, 30)))
    return {"targets": y, "intervals": np.stack([y - 1.0, y + rng.normal(size=len(y))], axis=1), "flags": [0]}


enter_calls(
    "plotting.plot_intervals",
    plot_intervals,
    draw_intervals,
    lambda ax, arguments: np.testing.assert_equal(len(ax.get_lines()), 3),
    {"intervals": Wrong((np.zeros((50, 2)), np.zeros(3), "x", [[1.0]]), ("intervals", "shape", "string", "float"))},
    0.3,
)


def draw_levels(rng: np.random.Generator) -> Arguments:
    """Return rows of levels with missing values, and options of `CategoricalSubspace`."""
    X = rng.integers(3, size=(int(rng.integers(4, 30)), 3)).astype(float)
    X[rng.random(X.shape) < 0.2] = np.nan
    model, sketch = pick(rng, ["probit", "tobit", "tobit2", "logit"]), pick(rng, ["newton", "gradient"])
    X[0] = 0.0, 1.0, 2.0
    more = {"levels": (0.5, 1.5)} if model == "tobit2" else {}
    return {
        "X": pick(rng, [X, pd.DataFrame(X, columns=list("abc"))]),
        "model": model,
        "sketch": sketch,
        "max_iter": 2,
        "learn_thresholds": bool(rng.random() < 0.5),
        **more,
    }


def check_subspace(learner: CategoricalSubspace, arguments: Arguments) -> None:
    """Observed cells stay, and missing ones get levels, or numbers within the bounds of a tobit of type I."""
    X = np.asarray(arguments["X"])
    filled = learner.impute(X)
    np.testing.assert_array_equal(filled[~np.isnan(X)], X[~np.isnan(X)])
    assert learner.model == "tobit2" or ((filled >= 0) & (filled <= 2)).all()
    assert np.isfinite(filled).all()
    np.testing.assert_allclose(learner.predict_proba(X).sum(axis=2), 1.0, rtol=1e-9)


POSITIVE = Wrong((0.0, -1.0, np.nan, "x", None))
enter_calls(
    "streaming.CategoricalSubspace",
    lambda X, **options: CategoricalSubspace(**options).fit(X),
    draw_levels,
    check_subspace,
    {
        "X": Wrong(
            (np.full((3, 2), np.nan), [[np.inf, 1.0]], np.zeros((0, 3)), "x", None), ("X", "sample", "array", "file")
        ),
        "model": Wrong(("x", 3, None)),
        "sketch": Wrong(("x", 3, None)),
        "n_components": Wrong((0, -1, 1.5, "x", None)),
        "max_iter": Wrong((0, -1, 1.5, "x", None)),
        "lam": POSITIVE,
        "noise": POSITIVE,
        "levels": Wrong(([1.0], [2.0, 1.0], [0.0, np.nan], 3)),
        "offsets": Wrong((2, "x", None)),
    },
    0.5,
)
