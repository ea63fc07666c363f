"""Faults that are planted into pgmx on purpose, each in a child of its own: the harness must find them all."""

import ctypes
import os
from collections.abc import Callable
from math import nan
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from pgmx import estimators, inference
from pgmx.data import Frame
from pgmx.estimators import BaseStructureLearner, EdgeGrafting, HillClimbSearch
from pgmx.inference import ExactInference
from pgmx.search.knowledge import EdgeConstraints
from tests.fuzz.outcomes import run_cases


class Planted(NamedTuple):
    """What makes a process faulty, the cases that are run in it, and one of the outcomes that must be among theirs."""

    plant: Callable[[], object]
    pattern: str
    kind: str
    n_cases: int = 12


def after_fit(cls: type, change: Callable[[Any], object]) -> Callable[[], None]:
    """Return what makes a learner change its results."""

    def plant() -> None:
        fit = cls._fit  # type: ignore[attr-defined]

        def changed(self: Any, opened: Any, sample_weight: Any) -> None:
            fit(self, opened, sample_weight)
            change(self)

        cls._fit = changed  # type: ignore[attr-defined]

    return plant


def replace_method(owner: Any, name: str, function: Callable) -> Callable[[], None]:
    """Return what replaces a method."""
    return lambda: setattr(owner, name, function)


def close_cycle(learner: Any) -> None:
    """Add the reverse of an edge."""
    if len(learner.edges_):
        learner.edges_ = np.concatenate([learner.edges_, learner.edges_[:1, ::-1]])


def stop_early(learner: Any) -> None:
    """Forget the edges, but not the score that fits them, and say that the search converged."""
    if len(learner.edges_):
        learner.score_ = type(learner)(scoring_method=learner.scoring_method, max_iter=0, show_progress=False)
        learner.edges_ = learner.edges_[:0]
        learner.score_ = nan


def fail_barely(*arguments: Any, **options: Any) -> None:
    """Raise an error that says nothing."""
    raise KeyError("a")


def fail_vaguely(*arguments: Any, **options: Any) -> None:
    """Raise an error of the right type that names nothing."""
    raise ValueError("bad input")


def crash(*arguments: Any, **options: Any) -> None:
    """Read from address 0."""
    ctypes.string_at(0)


def hang(*arguments: Any, **options: Any) -> None:
    """Never return."""
    while True:
        pass


def hoard(*arguments: Any, **options: Any) -> None:
    """Take all memory that there is."""
    hoarded = []
    while True:
        hoarded.append(np.ones(1 << 24))


def halve(self: Any, i: int) -> np.ndarray:
    """Return a distribution that adds up to one half."""
    return np.full(int(self._cards[i]), 0.5 / int(self._cards[i])) if hasattr(self, "_cards") else np.array([0.5])


PLANTED = {
    "a wrong score": Planted(
        after_fit(HillClimbSearch, lambda one: setattr(one, "score_", one.score_ + 1e-3)), "estimators.Hill*", "wrong"
    ),
    "a cycle": Planted(after_fit(HillClimbSearch, close_cycle), "estimators.Hill*", "wrong"),
    "a silent NaN": Planted(
        replace_method(inference, "log_partition", lambda *a, **k: nan), "inference.queries", "wrong", 60
    ),
    "a worse graph": Planted(after_fit(HillClimbSearch, stop_early), "estimators.Hill*", "wrong"),
    "forbidden edges": Planted(
        replace_method(HillClimbSearch, "_read_constraints", lambda self, names: EdgeConstraints(len(names))),
        "estimators.Hill*",
        "wrong",
        25,
    ),
    "a wrong penalty": Planted(
        after_fit(EdgeGrafting, lambda one: setattr(one, "lam_", one.lam_ * 0.8)),
        "estimators.EdgeGrafting",
        "wrong",
        25,
    ),
    "probabilities that do not add up": Planted(
        replace_method(ExactInference, "marginal", halve), "inference.queries", "wrong", 60
    ),
    "options accepted in silence": Planted(
        replace_method(BaseStructureLearner, "_validate", lambda self: None), "estimators.*", "wrong", 60
    ),
    "a bare KeyError": Planted(replace_method(Frame, "encode", fail_barely), "data.encode", "unclear error"),
    "an error that names nothing": Planted(
        replace_method(Frame, "check_shape", fail_vaguely), "data.encode", "unclear error"
    ),
    "a segmentation fault": Planted(
        replace_method(estimators.ChowLiuForest, "_fit", crash), "estimators.Chow*", "crash", 3
    ),
    "an abort": Planted(
        replace_method(estimators.ChowLiuForest, "_fit", lambda *a: os.abort()), "estimators.Chow*", "crash", 3
    ),
    "a hang": Planted(replace_method(estimators.ChowLiuForest, "_fit", hang), "estimators.Chow*", "crash", 2),
    "hoarded memory": Planted(replace_method(estimators.ChowLiuForest, "_fit", hoard), "estimators.Chow*", "crash", 2),
}


def find_planted(folder: Path) -> dict[str, list[str]]:
    """Return the outcomes of the cases that were run with each fault."""
    found = {}
    for name, (plant, pattern, _, n_cases) in PLANTED.items():
        place = folder / name.replace(" ", "_")
        place.mkdir()
        limits = {"seconds": 1.0, "megabytes": 300, "isolate": False}
        outcomes = run_cases(0, range(n_cases), place, pattern=pattern, prepare=plant, **limits)
        found[name] = sorted({outcome.kind for outcome in outcomes})
    return found
