"""Checkpoints with any value changed, signed and unsigned: refused by name, or a right result all the same."""

import json
import re
import signal

import numpy as np
import pytest

from helpers.learning_tables import dependent_frame
from pgmx.estimators import (
    BestFirstSearch,
    EdgeGrafting,
    GraftingLight,
    HillClimbSearch,
    OnlineEdgeGrafting,
    SimulatedAnnealing,
)
from tests.fuzz import tamper
from tests.fuzz.array_fields import DELETE, ArrayFields
from tests.helpers.processes import run_in_child

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
}
GRAFTINGS = {
    "edges": lambda **options: EdgeGrafting(lam=0.002, show_progress=False, **options),
    "features": lambda **options: GraftingLight(lam=0.002, show_progress=False, **options),
    "stream": lambda **options: OnlineEdgeGrafting(
        lam=0.002, show_progress=False, hub_threshold=0.0, required_edges=[("a", "e")], **options
    ),
}
LEARNERS = {**SEARCHES, **GRAFTINGS}


def other_arrays(array):
    """Return what may stand in the place of an array."""
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
        learner = make(checkpoint=path, checkpoint_every=1e9).fit(DATA)
    except ValueError as error:
        assert f"checkpoint={str(path)!r}" in str(error), error
        assert "delete the file to begin anew, or name another one" in str(error), error
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
        assert learner.score_ == pytest.approx(known_scores[key], rel=1e-9)
        return "another graph, its score right"
    assert learner.objective_ == pytest.approx(plain.objective_, abs=1e-4)
    assert edges == plain.edges_.tolist()
    return "same"


def attack(make, path, plain, *, sign, every, counts):
    raw, known_scores = path.read_bytes(), {}
    signal.signal(signal.SIGALRM, signal.SIG_DFL)  # a hang, in a kernel too, ends the child
    for field, value in list_changes(raw, every):
        fields = ArrayFields(raw)
        fields.set_value(field, value)
        path.write_bytes(fields.to_bytes(sign=sign, changed=field))
        signal.setitimer(signal.ITIMER_REAL, LIMIT)
        (path.parent / "case").write_text(f"{field}={value!r}")
        try:
            outcome = check(make, path, plain, known_scores, sign=sign)
        except BaseException as error:
            raise AssertionError(f"{field}={value!r}: {type(error).__name__}: {error}") from error
        counts[outcome] = counts.get(outcome, 0) + 1
    signal.setitimer(signal.ITIMER_REAL, 0)


def run(make, folder, *, sign, every, moment=0.5):
    path = folder / "run.ckpt"
    plain = stop_halfway(make, path, moment)
    assert path.exists()

    def child():
        counts = {}
        attack(make, path, plain, sign=sign, every=every, counts=counts)
        (folder / "counts").write_text(json.dumps(counts))

    try:
        run_in_child(child)
    except AssertionError as error:
        raise AssertionError(f"{(folder / 'case').read_text()}: {error}") from error
    return json.loads((folder / "counts").read_text())


every_learner = pytest.mark.parametrize("make", LEARNERS.values(), ids=LEARNERS)


@every_learner
def test_some_changes(tmp_path, make):
    counts = run(make, tmp_path, sign=True, every=67 if make in GRAFTINGS.values() else 29)
    assert counts["refused"] > 3


@pytest.mark.parametrize(
    ("field", "value", "words"),
    [
        ("best_score", np.nan, "best_score=nan"),
        ("best_score", np.inf, "best_score=inf"),
        ("best_score", 1e12, "the graph has the score"),
        ("best_edges", np.array([[10**6, 0]]), "outside 0 to 4"),
        ("edges", np.array([[4, 0], [0, 4]]), "a cycle in 'edges'"),
        ("edges", np.array([[4, 0], [0, 1]]), "not allowed"),
        ("edges", np.array([[2, 3]]), "that is required"),
        ("tabu", np.array([[7, 0, 1]]), "numbers in 'tabu'"),
        ("memo_rounds_left", -1, "memo_rounds_left=-1, expected 0 to 1"),
        ("memo_position", 2**40, "memo_position"),
        ("stage", 9, "stage=9, expected 0 to 5"),
        ("clock_seconds", np.inf, "clock_seconds"),
        ("history_score", np.zeros(3), "different lengths"),
        ("memo_more", np.zeros(3), "an unknown array 'memo_more'"),
    ],
)
def test_faults_that_were_seen(tmp_path, field, value, words):
    make, path = SEARCHES["thorough"], tmp_path / "run.ckpt"
    for max_iter in range(8, 100):  # until the search is where it has such a value
        make(checkpoint=path, checkpoint_every=1e9, max_iter=max_iter).fit(DATA)
        fields = ArrayFields(path.read_bytes())
        if field in fields.arrays or field.endswith("more"):
            break
    fields.set_value(field, value)
    path.write_bytes(fields.to_bytes(sign=True))

    def child():
        signal.alarm(20)
        with pytest.raises(ValueError, match=rf"run\.ckpt.*{re.escape(words)}.*delete the file to begin anew"):
            make(checkpoint=path).fit(DATA)

    run_in_child(child)


def test_the_tool_signs_what_it_changes(tmp_path, capsys):
    path, other = tmp_path / "run.ckpt", tmp_path / "other.ckpt"
    stop_halfway(SEARCHES["greedy"], path, 0.5)
    tamper.main([str(path), "--list"])
    assert "best_score = array(" in capsys.readouterr().out
    for sign, words in (([], "its digest is another one"), (["--sign"], "best_score=1.0")):
        tamper.main([str(path), "--set", "best_score=1.0", *sign, "--out", str(other)])
        with pytest.raises(ValueError, match=rf"other\.ckpt.*{words}"):
            SEARCHES["greedy"](checkpoint=other).fit(DATA)
    tamper.main([str(path), "--sign", "--out", str(other)])
    assert SEARCHES["greedy"](checkpoint=other).fit(DATA).converged_


@pytest.mark.slow
@every_learner
@pytest.mark.parametrize("moment", [0.2, 0.6, 0.9])
@pytest.mark.parametrize("sign", [False, True])
def test_every_change(tmp_path, make, sign, moment):
    counts = run(make, tmp_path, sign=sign, every=1, moment=moment)
    assert counts["refused"] > 50
