"""Checkpoints of every search, stopped halfway, and the values that they may have."""

import math
import warnings

import numpy as np

from pgmx.estimators import (
    BestFirstSearch,
    EdgeGrafting,
    GraftingLight,
    GreedyEquivalenceSearch,
    HillClimbSearch,
    OnlineEdgeGrafting,
    SimulatedAnnealing,
)
from tests.fuzz.array_fields import DELETE, ArrayFields
from tests.helpers.learning_tables import dependent_frame

DATA = dependent_frame(0)
KNOWN = {"required_edges": [("e", "a")], "forbidden_edges": [("a", "b")], "max_indegree": 3, "show_progress": False}
LIMIT = 5.0  # seconds for a fit that takes a hundredth of one

SEARCHES = {
    "greedy": lambda **options: HillClimbSearch(**KNOWN, **options),
    "tabu": lambda **options: HillClimbSearch(patience=8, tabu_length=3, **KNOWN, **options),
    "restarts": lambda **options: HillClimbSearch(n_restarts=3, **KNOWN, **options),
    "thorough": lambda **options: HillClimbSearch(strategy="thorough", **KNOWN, **options),
    "annealing": lambda **options: SimulatedAnnealing(n_draws=200, **KNOWN, **options),
    "best first": lambda **options: BestFirstSearch(patience=10, **KNOWN, **options),
    "classes": lambda **options: GreedyEquivalenceSearch(**KNOWN, **options),
}
GRAFTINGS = {
    "edges": lambda **options: EdgeGrafting(lam=0.002, show_progress=False, **options),
    "features": lambda **options: GraftingLight(lam=0.002, show_progress=False, **options),
    "stream": lambda **options: OnlineEdgeGrafting(
        lam=0.002, show_progress=False, hub_threshold=0.0, required_edges=[("a", "e")], **options
    ),
}
LEARNERS = {**SEARCHES, **GRAFTINGS}
UNDER_BETHE = {
    "bethe": lambda **options: EdgeGrafting(loss="bethe", lam=0.02, l2=0.1, show_progress=False, **options),
    "bethe light": lambda **options: GraftingLight(loss="bethe", lam=0.02, l2=0.1, show_progress=False, **options),
}


def other_arrays(array):
    """Return possible values for an array."""
    yield from (DELETE, "x", np.int64(-1), np.nan, np.zeros((3, 3, 3)), np.zeros(0), np.array([np.inf]))
    if array.ndim == 0 and array.dtype.kind in "iub":
        yield from (array.astype(np.int64) + step for step in (-(2**40), -1, 1, 2, 50, 2**40, 2**62))
        yield from (not array.item(), float(array), array.astype(np.int8))
    elif array.ndim == 0 and array.dtype.kind == "f":
        yield from (np.float64(x) for x in (np.inf, -np.inf, 1e12, -1e12, float(array) + 1e-3, float(array) * 1.5, 0))
    elif array.ndim:
        yield from (array[:-1], np.concatenate([array, array[-1:]]), array[::-1], array.astype(np.float32))
        yield np.zeros_like(array)
        yield np.full_like(array, np.nan if array.dtype.kind == "f" else 1)
        yield array.reshape(-1)


def other_cells(cell):
    if cell.dtype.kind == "b":
        return [not cell]
    if cell.dtype.kind == "f":
        return [np.nan, np.inf, -np.inf, 1e300, -1e300, 1e9, 0.0, float(cell) + 1e-3, -float(cell)]
    information = np.iinfo(cell.dtype)
    steps = [int(cell) + step for step in (-1, 1, 2, 5, 25)] + [0, 1, information.min, information.max]
    return [value for value in steps if information.min <= value <= information.max]


def list_changes(raw, every):
    """Return (field, value) of all changes to try, each `every`-th of them."""
    fields, changes = ArrayFields(raw), []
    for field in fields.list_fields():
        value = fields.value(field)
        changes += [(field, other) for other in (other_cells(value) if "." in field else other_arrays(value))]
    changes += [("memo_more", np.arange(3)), ("more", np.zeros((200, 200))), ("history_more", np.zeros(3))]
    return changes[::every]


def stop_halfway(make, path, moment):
    """Leave the checkpoint of a run that is stopped; return what it finds otherwise."""
    plain = make().fit(DATA)
    n_rows, calls = len(plain.history_["seconds"]), []
    make(checkpoint=path, checkpoint_every=0, callback=lambda p: calls.append(p) or len(calls) > moment * n_rows).fit(
        DATA
    )
    return plain


def check(make, path, plain, known_scores, *, sign):
    """Learn from a changed checkpoint: it is refused by name, or the result is right. Return which of these."""
    try:
        with warnings.catch_warnings():
            # whether cliques were left out before is in the checkpoint, and no check can tell
            warnings.filterwarnings("ignore", "some variable had more than")
            learner = make(checkpoint=path, checkpoint_every=1e9).fit(DATA)
    except ValueError as error:
        assert f"checkpoint={str(path)!r}" in str(error), error
        assert "delete the file to begin again, or name another one" in str(error), error
        return "refused"
    edges = learner.edges_.tolist()
    if hasattr(plain, "score_"):
        if edges == plain.edges_.tolist() and learner.score_ == plain.score_:
            return "same"
        assert sign
        names = list(DATA.columns)
        pairs = {(names[tail], names[head]) for tail, head in edges}
        assert ("e", "a") in pairs and ("a", "b") not in pairs
        key = tuple(map(tuple, edges))
        if key not in known_scores:
            again = HillClimbSearch(start_dag=learner.dag_, max_iter=0, show_progress=False).fit(DATA)
            known_scores[key] = again.score_
        assert math.isclose(learner.score_, known_scores[key], rel_tol=1e-9)
        return "another graph, its score right"
    assert math.isclose(learner.objective_, plain.objective_, rel_tol=0, abs_tol=1e-4)
    assert edges == plain.edges_.tolist()
    return "same"
