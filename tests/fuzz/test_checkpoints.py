"""Checkpoints with any value changed, signed and unsigned: refused by name, or a right result all the same."""

import json
import re
import signal

import numpy as np
import pytest

from tests.fuzz import tamper
from tests.fuzz.array_fields import ArrayFields
from tests.fuzz.checkpoint_files import DATA, LEARNERS, LIMIT, SEARCHES, UNDER_BETHE, check, list_changes, stop_halfway
from tests.helpers.processes import run_in_child

pytestmark = pytest.mark.slow


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


@pytest.mark.parametrize(
    ("name", "every"),  # of all: `test_every_change`
    [
        ("thorough", 29),
        ("edges", 67),
        ("bethe", 83),
        pytest.param("bethe", 23, marks=pytest.mark.slow),
        pytest.param("bethe light", 41, marks=pytest.mark.slow),
    ],
)
def test_some_changes(tmp_path, name, every):
    counts = run({**LEARNERS, **UNDER_BETHE}[name], tmp_path, sign=True, every=every)
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
        ("tabu", np.array([[7, 0, 1]]), "values in 'tabu'"),
        ("memo_rounds_left", -1, "memo_rounds_left=-1, expected 0 to 1"),
        ("memo_position", 2**40, "memo_position"),
        ("stage", 9, "stage=9, expected 0 to 7"),
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
        with pytest.raises(ValueError, match=rf"run\.ckpt.*{re.escape(words)}.*delete the file to begin again"):
            make(checkpoint=path).fit(DATA)

    run_in_child(child)


def test_the_tool_signs_what_it_changes(tmp_path, capsys):
    path, other = tmp_path / "run.ckpt", tmp_path / "other.ckpt"
    stop_halfway(SEARCHES["greedy"], path, 0.5)
    tamper.main([str(path), "--list"])
    assert "best_score = array(" in capsys.readouterr().out
    for sign, words in (([], "its digest differs"), (["--sign"], "best_score=1.0")):
        tamper.main([str(path), "--set", "best_score=1.0", *sign, "--out", str(other)])
        with pytest.raises(ValueError, match=rf"other\.ckpt.*{words}"):
            SEARCHES["greedy"](checkpoint=other).fit(DATA)
    tamper.main([str(path), "--sign", "--out", str(other)])
    assert SEARCHES["greedy"](checkpoint=other).fit(DATA).converged_


@pytest.mark.slow
@every_learner
@pytest.mark.parametrize(
    ("sign", "moment", "every"),
    [
        (False, 0.6, 3),
        (True, 0.2, 3),
        (True, 0.6, 1),
        (True, 0.9, 3),
    ],  # without the sign digests refuse, with it checks
)
def test_every_change(tmp_path, make, sign, moment, every):
    counts = run(make, tmp_path, sign=sign, every=every, moment=moment)
    assert counts["refused"] > 50 / every
