"""Cases of Gradraker."""

from typing import Any

import networkx as nx
import numpy as np

from pgmx import streaming
from tests.fuzz.calls import Arguments, Wrong, enter_calls
from tests.fuzz.cases import pick
from tests.fuzz.data_set_cases import NATURAL

NUMBER = Wrong((-1.0, np.nan, "x", None))
WRONG: dict[str, Wrong] = {
    "X": Wrong(([], ["nowhere"] * 9, "x", None), ("X", "sample", "names")),
    "y": Wrong((None, [1.0]), ("y", "sample", "array")),
    "hops": Wrong((0, (), (1, -1), 1.5)),
    "n_components": NATURAL,
    "variances": Wrong((0.0, (), (1.0, -1.0))),
    "step": NUMBER,
    "penalty": NUMBER,
    "kernels": Wrong(("rbf", "laplacian_l1", [])),
    "unit_rows": Wrong((2, "x", None)),
    "separate_hops": Wrong((2, "x", None)),
    "weight_step": NUMBER,
}


def draw_nodes(rng: np.random.Generator) -> Arguments:
    """Return nodes of a random graph, targets that are labels as well, and options."""
    n = int(rng.integers(9, 30))
    graph = nx.gnp_random_graph(n, 0.2, seed=int(rng.integers(1000)), directed=bool(rng.random() < 0.5))
    return {
        "X": rng.permutation(n).tolist(),
        "y": rng.permutation(np.arange(n) % 3).astype(float),
        "graph": graph,
        "layers": pick(rng, [None, [nx.path_graph(5)]]),
        "hops": pick(rng, [1, (1, 2), (2,)]),
        "n_components": int(rng.integers(1, 6)),
        "separate_hops": bool(rng.random() < 0.5),
        "unit_rows": bool(rng.random() < 0.5),
        "kernels": pick(rng, ["gaussian", ("cauchy", "linear"), "polynomial3"]),
        "penalty": float(rng.uniform(0.0, 0.3)),
        "variances": pick(rng, [1.0, (0.1, 5.0)]),
        "step": float(rng.uniform(0.01, 0.7)),
        "weight_step": float(rng.uniform(0.0, 4.0)),
    }


def check_learner(learner: Any, arguments: Arguments) -> None:
    """Weights add up to 1, and codes give the same predictions as rows."""
    np.testing.assert_allclose(learner.kernel_weights_.sum(axis=0), 1.0)
    predictions = learner.predict(arguments["X"])
    np.testing.assert_array_equal(learner.predict_encoded(learner.encode_row(arguments["X"])), predictions)


def enter_learner(name: str, cls: Any) -> None:
    """Enter the cases of one learner."""

    def learn(X: Any, y: Any, **options: Any) -> Any:
        return cls(**options).fit(X, y)

    enter_calls(f"streaming.{name}", learn, draw_nodes, check_learner, WRONG, 0.5)


enter_learner("GradrakerRegressor", streaming.GradrakerRegressor)
enter_learner("GradrakerClassifier", streaming.GradrakerClassifier)
