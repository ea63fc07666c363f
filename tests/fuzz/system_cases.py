"""Cases of linear dynamical systems: generators and metrics."""

from typing import Any

import numpy as np

from pgmx import datasets, metrics
from tests.fuzz.calls import Arguments, Wrong, enter_calls
from tests.fuzz.cases import pick
from tests.fuzz.data_set_cases import NATURAL, SCALE, SEED

MATRIX = Wrong((np.ones(3), np.ones((2, 3)), "x", np.zeros((0, 0))), ("estimate", "truth", "shape"))


def draw_system(rng: np.random.Generator) -> Arguments:
    """Return options of a sparse system."""
    n = int(rng.integers(1, 40))
    return {
        "n": n,
        "degree": int(rng.integers(1, min(n, 5) + 1)),
        "kind": pick(rng, ["random", "block", "hub", "small-world"]),
    }


def check_system(result: Any, arguments: Arguments) -> None:
    """Each node has its parents, and the radius is that asked for, or the graph has no cycle."""
    assert (np.diff(result.indptr) == arguments["degree"]).all()
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
for _name in ("coefficient_error", "structure_recall"):
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
