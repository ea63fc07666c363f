"""Cases of learners of streams and of their errors."""

from typing import Any

import numpy as np
import pandas as pd

from pgmx.metrics import PrequentialCurve, prequential
from pgmx.plotting import plot_intervals, plot_prequential
from pgmx.streaming.least_squares import RecursiveLeastSquares
from tests.fuzz.calls import Arguments, Wrong, enter_calls

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
