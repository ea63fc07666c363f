"""Cases of the learner of dynamic Bayesian networks."""

from typing import Any

import numpy as np
import pandas as pd

from pgmx.estimators import DynamicBayesianNetworkSearch
from tests.fuzz.calls import Arguments, Wrong, enter_calls
from tests.fuzz.cases import chance, pick
from tests.fuzz.data_set_cases import NATURAL
from tests.oracles.lagged_frames import lag_frame

NAMES = ("columns", "column")


def draw_panel(rng: np.random.Generator) -> Arguments:
    """Return a panel of discrete variables, some of them a step behind others, and options."""
    n_groups, n_times, n = int(rng.integers(1, 5)), int(rng.integers(8, 30)), int(rng.integers(2, 4))
    rows = rng.integers(0, 3, (n_groups, n_times, n))
    rows[:, 1:, 1] = np.where(rng.random((n_groups, n_times - 1)) < 0.7, rows[:, :-1, 0], rows[:, 1:, 1])
    frame = pd.DataFrame(rows.reshape(-1, n), columns=list("abc"[:n]))
    frame["id"] = np.repeat(np.arange(n_groups), n_times)
    frame["t"] = np.tile(np.arange(n_times), n_groups)
    if chance(rng, 0.3):
        frame = frame.sample(frac=1.0, random_state=int(rng.integers(100))).sort_values("t", kind="stable")
    return {
        "X": frame,
        "lags": int(rng.integers(1, 4)),
        "instantaneous": chance(rng, 0.5),
        "strategy": pick(rng, ["greedy", "exact"]),
        "scoring_method": pick(rng, [None, "bic", "bdeu", "k2"]),
        "max_indegree": pick(rng, [1, 2]),
    }


def check_panel(learner: Any, arguments: Arguments) -> None:
    """All rows with their lags are scored, and no edge leads back in time."""
    frame, lags = arguments["X"].sort_values(["id", "t"]), arguments["lags"]
    lagged = lag_frame(frame.drop(columns="t"), lags, "id")
    assert learner.n_rows_ == len(lagged["a", 0])
    assert {head[1] for _, head in learner.graph_.edges()} <= {0} and learner.graph_.lags == lags
    assert arguments["instantaneous"] or not learner.graph_.instantaneous_edges
    assert np.isfinite(learner.score_)


enter_calls(
    "estimators.DynamicBayesianNetworkSearch",
    lambda X, **options: DynamicBayesianNetworkSearch(groups="id", time_column="t", **options).fit(X),
    draw_panel,
    check_panel,
    {
        "lags": Wrong((0, 99, *NATURAL.values)),
        "instantaneous": Wrong((2, "x", None)),
        "strategy": Wrong(("x", 3, None)),
        "scoring_method": Wrong(("x", 3)),
        "static_columns": Wrong(("a", ["a"], ["id"], ["z"], 3)),
        "irregular": Wrong(("x", 3)),
        "required_edges": Wrong(([(("a", 0), ("b", 1))], [(("id", 1), ("a", 0))], [("a", "b")], 3)),
        "missing": Wrong(("em", "x")),
    },
    0.5,
)
