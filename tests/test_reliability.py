"""The table of docs/reliability.md, cell by cell."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from helpers.reliability import LEARNERS, fit, frame_of

PAGE = Path(__file__).parents[1] / "docs" / "reliability.md"
SCRIPT = Path(__file__).parent / "helpers" / "reliability.py"
TOLERANCE = {"Markov": 1e-5, "EdgeGrafting": 1e-5}


def read_table():
    """Return the promises of the page: learner -> (rows, chunks, n_jobs, processor)."""
    lines = [line for line in PAGE.read_text(encoding="utf-8").splitlines() if line.startswith("| `")]
    cells = ([cell.strip() for cell in line.strip("|").split("|")] for line in lines)
    return {name.replace("`", ""): tuple(promises) for name, *promises in cells}


PROMISES = read_table()
every_learner = pytest.mark.parametrize("name", LEARNERS)


def check(promise, name, result, expected):
    if promise == "equal":
        assert result == expected
    elif promise == "rounding":
        rtol = max((rtol for word, rtol in TOLERANCE.items() if word in name), default=1e-9)
        assert result[0] == expected[0]
        assert result[1] == pytest.approx(expected[1], rel=rtol)
    else:
        assert promise == "differs"
        assert result != expected


@pytest.fixture(scope="module")
def results():
    return {name: fit(name, frame_of(name)) for name in LEARNERS}


def test_the_page_has_a_row_for_each_learner_that_is_tried():
    assert list(PROMISES) == list(LEARNERS)
    assert {promise for row in PROMISES.values() for promise in row} == {"equal", "rounding", "differs"}


@every_learner
def test_order_of_the_rows(name, results):
    frame = frame_of(name)
    shuffled = frame.sample(frac=1, random_state=1, ignore_index=True)
    check(PROMISES[name][0], name, fit(name, shuffled), results[name])


@every_learner
def test_chunks(name, results):
    frame = frame_of(name)
    chunks = (frame.iloc[i : i + 137] for i in range(0, len(frame), 137))
    check(PROMISES[name][1], name, fit(name, chunks), results[name])


@every_learner
def test_jobs(name, results):
    check(PROMISES[name][2], name, fit(name, frame_of(name), n_jobs=2), results[name])


@pytest.mark.slow
def test_processor(results):
    """The plainest kernels of pgmx, and those of an older BLAS."""
    done = subprocess.run(
        [sys.executable, str(SCRIPT)],
        env={
            **os.environ,
            "PYTHONPATH": os.pathsep.join(sys.path),
            "PGMX_SIMD": "plain",
            "OPENBLAS_CORETYPE": "Nehalem",
        },
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    others = json.loads(done.stdout)
    for name in LEARNERS:
        edges, number = others[name]
        check(PROMISES[name][3], name, ([tuple(edge) for edge in edges], number), results[name])
