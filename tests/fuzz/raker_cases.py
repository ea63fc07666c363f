"""Cases of Raker and AdaRaker."""

from typing import Any

import numpy as np

from pgmx import datasets, streaming
from tests.fuzz.calls import Arguments, Wrong, enter_calls
from tests.fuzz.cases import pick
from tests.fuzz.data_set_cases import NATURAL, SEED
from tests.fuzz.stream_cases import WRONG_ROWS

NUMBER = Wrong((-1.0, np.nan, "x", None))
WRONG: dict[str, Wrong] = {
    "X": WRONG_ROWS,
    "y": Wrong((None, [1.0], [[1.0, 2.0]] * 9), ("y", "sample", "array")),
    "n_components": NATURAL,
    "kernels": Wrong(("rbf", [], 3)),
    "variances": Wrong((0.0, (), (1.0, -1.0), "x")),
    "step": NUMBER,
    "weight_step": NUMBER,
    "penalty": NUMBER,
}


def draw_rows(rng: np.random.Generator) -> Arguments:
    """Return rows, targets that are labels as well, and options of all four learners."""
    X = rng.random((int(rng.integers(9, 40)), 2))
    return {
        "X": X,
        "y": rng.integers(0, int(rng.integers(2, 4)), len(X)).astype(float),
        "n_components": int(rng.integers(1, 6)),
        "kernels": pick(
            rng, ["gaussian", "laplacian_l1", ("cauchy", "gaussian"), ("linear", "polynomial2", "laplacian")]
        ),
        "variances": pick(rng, [1.0, (0.1, 5.0)]),
        "orthogonal": bool(rng.random() < 0.5),
        "step": float(rng.uniform(0.01, 0.7)),
        "weight_step": float(rng.uniform(0.0, 4.0)),
        "penalty": float(rng.uniform(0.0, 0.3)),
    }


def check_learner(learner: Any, arguments: Arguments) -> None:
    """Weights add up to 1, and predictions are numbers or labels."""
    np.testing.assert_allclose(learner.kernel_weights_.sum(axis=2), 1.0)
    predictions = learner.predict(arguments["X"])
    assert np.isfinite(predictions).all()
    if hasattr(learner, "classes_"):
        assert np.isin(predictions, learner.classes_).all()
    if hasattr(learner, "drift_"):
        assert isinstance(learner.drift_, streaming.Drift)


def draw_options(rng: np.random.Generator, is_adaptive: bool) -> Arguments:
    """Return rows and options of Raker with a schedule of steps, or of AdaRaker with a base of intervals."""
    arguments = draw_rows(rng)
    if is_adaptive:
        return {**arguments, "base": int(rng.integers(2, 9))}
    return {**arguments, "step": pick(rng, [arguments["step"], "constant", "inverse_sqrt", _halve])}


def _halve(row: int) -> float:
    return 0.5 / (1 + row // 16)


def enter_learner(name: str, cls: Any) -> None:
    """Enter the cases of one learner."""
    is_adaptive = name.startswith("Ada")

    def learn(X: Any, y: Any, **options: Any) -> Any:
        return cls(**options).fit(X, y)

    wrong = {**WRONG, "base": Wrong((1, 0, 65, 2.5, "x", None))} if is_adaptive else WRONG
    enter_calls(f"streaming.{name}", learn, lambda rng: draw_options(rng, is_adaptive), check_learner, wrong, 0.5)


def draw_supports(rng: np.random.Generator) -> Arguments:
    """Return rows and options of learners with exact kernels."""
    arguments = draw_rows(rng)
    for name in ("n_components", "orthogonal"):
        del arguments[name]
    return {**arguments, "budget": pick(rng, [None, 1, 5, 100])}


def enter_exact(name: str, cls: Any) -> None:
    """Enter the cases of a learner with exact kernels."""

    def learn(X: Any, y: Any, **options: Any) -> Any:
        return cls(**options).fit(X, y)

    def check(learner: Any, arguments: Arguments) -> None:
        n, budget = len(arguments["X"]), arguments["budget"]
        assert learner.n_supports_ == min(n, budget or n)
        np.testing.assert_allclose(learner.kernel_weights_.sum(axis=1), 1.0)
        predictions = learner.predict(arguments["X"])
        assert np.isfinite(predictions).all()

    wrong = {name: value for name, value in WRONG.items() if name != "n_components"}
    enter_calls(f"streaming.{name}", learn, draw_supports, check, {**wrong, "budget": Wrong((0, -1, 1.5, "x"))}, 0.5)


enter_exact("OnlineKernelRegressor", streaming.OnlineKernelRegressor)
enter_exact("OnlineKernelClassifier", streaming.OnlineKernelClassifier)
enter_learner("RakerRegressor", streaming.RakerRegressor)
enter_learner("RakerClassifier", streaming.RakerClassifier)
enter_learner("AdaRakerRegressor", streaming.AdaRakerRegressor)
enter_learner("AdaRakerClassifier", streaming.AdaRakerClassifier)


def check_stream(stream: Any, arguments: Arguments) -> None:
    """Rows are in [0, 1], and functions last as long as asked for."""
    assert isinstance(stream, datasets.DriftingStream)
    assert len(stream.X) == len(stream.y) == arguments["n_rows"]
    assert len(stream.changes) == -(-arguments["n_rows"] // arguments["every"]) - 1


enter_calls(
    "datasets.drifting_stream",
    datasets.drifting_stream,
    lambda rng: {"n_rows": int(rng.integers(1, 50)), "every": int(rng.integers(1, 30))},
    check_stream,
    {"n_rows": NATURAL, "n_features": NATURAL, "noise": NUMBER, "random_state": SEED},
    0.3,
)
