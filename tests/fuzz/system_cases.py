"""Cases of linear dynamical systems: generators and metrics."""

from typing import Any

import numpy as np
import pandas as pd

from pgmx import datasets, estimators, metrics, plotting
from pgmx.models import LinearDynamicalSystem
from tests.fuzz.calls import Arguments, Wrong, enter_calls
from tests.fuzz.cases import pick
from tests.fuzz.data_set_cases import NATURAL, SCALE, SEED
from tests.fuzz.frames import draw_names

MATRIX = Wrong((np.ones(3), np.ones((2, 3)), "x", np.zeros((0, 0))), ("estimate", "truth", "shape"))


def draw_system(rng: np.random.Generator) -> Arguments:
    """Return options of a sparse system."""
    n = int(rng.integers(1, 40))
    return {
        "n": n,
        "degree": int(rng.integers(1, min(n, 5) + 1)),
        "kind": pick(rng, ["random", "block", "hub", "small-world", "uniform"]),
    }


def check_system(result: Any, arguments: Arguments) -> None:
    """Each node has its parents, and the radius is that asked for, or the graph has no cycle."""
    assert result.nnz == arguments["n"] * arguments["degree"]
    assert arguments["kind"] == "uniform" or (np.diff(result.indptr) == arguments["degree"]).all()
    values = np.abs(np.linalg.eigvals(result.toarray()))
    assert abs(values.max() - 0.9) < 1e-6 or values.max() < 0.1


def draw_pair(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Return the coefficients of two systems, both with an edge and a pair without."""
    coefs = rng.standard_normal((2, 4, 4)) * (rng.random((2, 4, 4)) < 0.5)
    coefs[:, 0, 1], coefs[:, 1, 0] = 1.0, 0.0
    return coefs[0], coefs[1]


enter_calls(
    "datasets.sparse_system",
    datasets.sparse_system,
    draw_system,
    check_system,
    {
        "n": NATURAL,
        "degree": Wrong((0, 99, *NATURAL.values)),
        "radius": Wrong((0, *SCALE.values)),
        "kind": Wrong(("x", None, 3)),
        "random_state": SEED,
    },
    0.5,
)
enter_calls(
    "datasets.system_transitions",
    datasets.system_transitions,
    lambda rng: {
        "coef": rng.standard_normal((n := int(rng.integers(1, 6)), n)),
        "n_series": int(rng.integers(1, 9)),
        "noise": float(rng.random()),
        "n_test": 3,
    },
    lambda result, arguments: np.testing.assert_allclose(result.targets, result.test @ arguments["coef"].T),
    {
        "coef": Wrong((np.ones(3), np.ones((2, 3)), "x", np.full((2, 2), np.nan))),
        "n_series": Wrong((0, *NATURAL.values)),
        "noise": Wrong((-0.1, np.nan, "x", None)),
        "n_test": Wrong((0, *NATURAL.values)),
        "random_state": SEED,
    },
    0.3,
)


def draw_events(rng: np.random.Generator) -> Arguments:
    """Return events, a grid and its options."""
    rows = np.round(rng.standard_normal((int(rng.integers(2, 60)), 3)), int(rng.integers(0, 3)))
    rows[0] = 0.0
    events: Any = rows
    arguments: Arguments = {"shape": tuple(int(size) for size in rng.integers(1, 5, 2)), "bounds": (-1, 1, -0.5, 2)}
    if rng.random() < 0.5:
        names = draw_names(rng, 3)
        events = pd.DataFrame(rows, columns=pd.Index(names, tupleize_cols=False)).sample(frac=1, axis=1, random_state=1)
        events[names[2]] = pd.Timestamp("2020-01-01") + pd.to_timedelta(rows[:, 2], unit="h")
        return {"events": events, "columns": names, "step": pick(rng, ["h", "20min", pd.Timedelta("1D")]), **arguments}
    return {"events": events, "step": float(rng.choice([0.1, 0.5, 2.0])), **arguments}


def check_events(result: Any, arguments: Arguments) -> None:
    """Each event is counted once."""
    assert result.counts.to_numpy().sum() + sum(result[2:]) == len(arguments["events"])
    assert (result.counts.sum() == result.cells["n_events"]).all() and (result.counts.sum() > 0).all()


enter_calls(
    "datasets.grid_events",
    datasets.grid_events,
    draw_events,
    check_events,
    {
        "events": Wrong((None, "x", 3, np.ones((2, 2)), lambda events: events[:0]), ("column", "empty")),
        "shape": Wrong(((0, 1), 3, (1.5, 2), None, (2, 2, 2))),
        "columns": Wrong(("xyz", 3, (), ("a", "a", "b"))),
        "bounds": Wrong(((1, 0, 0, 1), (0, 1, 2), "x", (0, 1, 0, np.nan), (50, 60, 50, 60))),
        "step": Wrong((0, -1, "x", "ME", None)),
        "start": Wrong(("x", [3]), ("time",)),
        "min_count": Wrong((0, 99, *NATURAL.values), ("events",)),
    },
    0.5,
)
enter_calls(
    "datasets.gridded_counts",
    datasets.gridded_counts,
    lambda rng: {"n_rows": int(rng.integers(1, 6)), "n_columns": int(rng.integers(1, 6)), "n_hours": 200},
    lambda result, arguments: np.testing.assert_array_equal(result.max(), 1.0),
    {"n_rows": NATURAL, "n_columns": NATURAL, "mean_count": Wrong((0, *SCALE.values)), "random_state": SEED},
    0.3,
)
SHARE = Wrong((-0.1, 1.5, "x", None))
enter_calls(
    "datasets.structural_series",
    datasets.structural_series,
    lambda rng: {
        "n": int(rng.integers(2, 12)),
        "n_rows": int(rng.integers(1, 60)),
        "function": pick(rng, ["even", "odd"]),
    },
    lambda result, arguments: np.testing.assert_equal(result.series.shape, (arguments["n_rows"], arguments["n"])),
    {
        "n": NATURAL,
        "n_rows": NATURAL,
        "edge_probability": SHARE,
        "noise": Wrong((0, *SCALE.values)),
        "random_state": SEED,
    },
    0.3,
)
enter_calls(
    "datasets.kernel_responses",
    datasets.kernel_responses,
    lambda rng: {
        "n": int(rng.integers(2, 12)),
        "n_rows": int(rng.integers(2, 60)),
        "kernel": pick(rng, ["gaussian", "poly2", "linear"]),
    },
    lambda result, arguments: np.testing.assert_equal(result.responses.shape, (arguments["n_rows"], arguments["n"])),
    {"n": NATURAL, "n_rows": NATURAL, "kernel": Wrong(("x", None)), "edge_probability": SHARE, "random_state": SEED},
    0.3,
)
for _name in ("coefficient_error", "structure_recall", "edge_mse"):
    enter_calls(
        f"metrics.{_name}",
        getattr(metrics, _name),
        lambda rng: dict(zip(("coef", "true_coef"), draw_pair(rng), strict=True)),
        lambda result, arguments: np.testing.assert_equal(result >= 0, True),
        {"coef": MATRIX, "true_coef": MATRIX},
        0.3,
    )
enter_calls(
    "metrics.prediction_error",
    metrics.prediction_error,
    lambda rng: {"coef": draw_pair(rng)[0], "X": rng.standard_normal((int(rng.integers(2, 9)), 4))},
    lambda result, arguments: np.testing.assert_equal(result >= 0, True),
    {"coef": MATRIX, "X": Wrong((np.ones((1, 4)), np.ones((5, 3)), "x", None))},
    0.3,
)
enter_calls(
    "metrics.edge_error_rate",
    metrics.edge_error_rate,
    lambda rng: dict(zip(("estimate", "truth"), draw_pair(rng), strict=True)),
    lambda result, arguments: np.testing.assert_equal(0 <= result <= 1, True),
    {"estimate": MATRIX, "truth": MATRIX},
    0.3,
)
enter_calls(
    "metrics.edge_curve",
    metrics.edge_curve,
    lambda rng: dict(zip(("strengths", "truth"), draw_pair(rng), strict=True)),
    lambda result, arguments: np.testing.assert_equal(0 <= result.area <= 1, True),
    {"strengths": Wrong((np.ones((4, 3)), np.full((4, 4), np.nan), "x")), "truth": Wrong((np.ones((4, 4)), "x"))},
    0.3,
)
enter_calls(
    "metrics.success_rate",
    metrics.success_rate,
    lambda rng: dict(zip(("estimates", "truths"), ([part] * 2 for part in draw_pair(rng)), strict=True)),
    lambda result, arguments: np.testing.assert_equal(result in (0.0, 1.0), True),
    {
        "estimates": Wrong((3, None, [], [np.ones((2, 3))] * 2), ("estimate",)),
        "truths": Wrong(("xy", [], 3), ("truth",)),
    },
    0.3,
)


def draw_curves(rng: np.random.Generator) -> Arguments:
    """Return curves of edges, with labels or without."""
    curve = metrics.edge_curve(*draw_pair(rng))
    return {"curves": pick(rng, [curve, {"a": curve, "b": curve}]), "kind": pick(rng, ["roc", "precision_recall"])}


enter_calls(
    "plotting.plot_roc",
    plotting.plot_roc,
    draw_curves,
    lambda result, arguments: np.testing.assert_equal(len(result.get_lines()) >= 2, True),
    {"curves": Wrong((3, {}, {"a": 3}, None), ("edge_curve",)), "kind": Wrong(("x", None, 3))},
    0.2,
)


def draw_tracking(rng: np.random.Generator) -> Arguments:
    """Return a learner, windows and the coefficients in each."""
    coef, other = draw_pair(rng)
    coefs = [coef, coef, other][: int(rng.integers(1, 4))]
    learner = pick(rng, [estimators.DenseLDS(), estimators.TensorSEMTracker(exogenous="blind")])
    return {"learner": learner, "windows": [rng.standard_normal((30, 4)) for _ in coefs], "coefs": coefs}


def check_tracking(result: Any, arguments: Arguments) -> None:
    """There is an error per window, and a picture."""
    assert len(result.to_frame()) == len(arguments["windows"]) == len(result.edge_mse)
    plotting.plot_tracking(result)


enter_calls(
    "metrics.tracking_errors",
    metrics.tracking_errors,
    draw_tracking,
    check_tracking,
    {
        "learner": Wrong((3, None, estimators.GraphicalLasso())),
        "windows": Wrong(
            ([], lambda windows: windows * 2, lambda windows: [None] * len(windows)), ("data", "X", "coefs")
        ),
        "coefs": Wrong(([], lambda coefs: [np.ones((2, 3))] * len(coefs)), ("truth", "true_coef")),
        "exogenous_power": Wrong(([], [1, 2, 3, 4])),
    },
    0.2,
)
enter_calls(
    "plotting.plot_tracking",
    plotting.plot_tracking,
    lambda rng: {
        "curves": metrics.TrackingCurve(rng.random(4), rng.random(4), [2], None),
        "measure": pick(rng, ["edge_error_rate", "edge_mse"]),
        "changes": [1],
    },
    lambda result, arguments: np.testing.assert_equal(len(result.get_lines()), 3),
    {
        "curves": Wrong((3, {}, {"a": 3}, None), ("tracking_errors",)),
        "measure": Wrong(("x", None, 3)),
        "changes": Wrong(("x", [0.5], None, [[1]])),
    },
    0.2,
)


def draw_predictions(rng: np.random.Generator) -> Arguments:
    """Return a system or a learner, and rows."""
    rows = pd.DataFrame(rng.standard_normal((20, 3)), columns=list("abc"))
    system = LinearDynamicalSystem(list("abc"), np.diag([0.5, 0.2, 0.1]), noise_covariance=np.ones(3))
    return {"model": pick(rng, [system, estimators.DenseLDS().fit(rows)]), "X": rows[["b", "a", "c"]], "coverage": 0.8}


def check_predictions(result: Any, arguments: Arguments) -> None:
    """Intervals enclose the predictions, and there is a picture."""
    assert (result.lower < result.predicted).all(axis=None) and (result.predicted < result.upper).all(axis=None)
    assert result.observed.index.tolist() == list(range(1, 20))
    plotting.plot_predictions(result)


enter_calls(
    "metrics.one_step_predictions",
    metrics.one_step_predictions,
    draw_predictions,
    check_predictions,
    {
        "model": Wrong((3, None, "x"), ("one_step_predictions",)),
        "X": Wrong((None, "x", lambda rows: rows.iloc[:1], lambda rows: rows[["a"]]), ("history", "series", "rows")),
        "coverage": Wrong((0, 1, -1, "x", None, np.nan)),
    },
    0.2,
)
enter_calls(
    "plotting.plot_predictions",
    plotting.plot_predictions,
    lambda rng: {"predictions": metrics.one_step_predictions(**draw_predictions(rng)), "series": ["c", "a"]},
    lambda result, arguments: np.testing.assert_equal(len(result.axes), 2),
    {
        "predictions": Wrong((3, {}, {"a": 3}, None), ("one_step_predictions",)),
        "series": Wrong((["z"], [], ["a", "z"])),
    },
    0.2,
)
