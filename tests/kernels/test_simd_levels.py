"""Every level of the kernels gives the bits of the plain one; each runs in a process of its own."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import pgmx

LEVELS = ("plain", "popcnt", "avx2", "avx512")
TESTS = Path(__file__).parents[1]
DIGEST = TESTS / "helpers" / "simd_digest.py"


def run(level, *arguments):
    """Run Python with PGMX_SIMD set to `level`, unset for None."""
    environment = {name: value for name, value in os.environ.items() if name != "PGMX_SIMD"}
    environment["PYTHONPATH"] = os.pathsep.join([str(Path(pgmx.__file__).parents[1]), str(TESTS)])
    if level is not None:
        environment["PGMX_SIMD"] = level
    return subprocess.run([sys.executable, *arguments], env=environment, capture_output=True, text=True, timeout=300)


def level_name(level):
    return run(level, "-c", "from pgmx._ext import _counts; print(_counts.SIMD_LEVEL)")


@pytest.fixture(scope="module")
def best():
    """The level that this processor runs by default."""
    return level_name(None).stdout.strip()


@pytest.fixture(scope="module")
def plain():
    return digest("plain")


def digest(level):
    done = run(level, str(DIGEST))
    assert done.returncode == 0, done.stderr
    answer = json.loads(done.stdout)
    assert answer["level"] == level
    return answer["found"]


def test_the_default_is_a_level(best):
    assert best in LEVELS


def test_an_empty_variable_asks_for_nothing(best):
    assert level_name("").stdout.strip() == best


@pytest.mark.parametrize("level", LEVELS[1:])
def test_same_bits_as_the_plain_level(level, best, plain):
    if LEVELS.index(level) > LEVELS.index(best):
        done = level_name(level)
        assert done.returncode != 0
        assert f"ImportError: PGMX_SIMD={level!r} cannot be used: this processor runs" in done.stderr
        assert f"{best}; unset PGMX_SIMD to take the best" in done.stderr
        return
    found = digest(level)
    for table, expected in plain.items():
        for what, value in expected.items():
            assert found[table][what] == value, f"{what} of {table}"
    assert found.keys() == plain.keys()


@pytest.mark.parametrize("kernel", ["_counts", "_families"])
def test_an_unknown_level_is_refused(kernel, best):
    done = run("sse9", "-c", f"from pgmx._ext import {kernel}")
    assert done.returncode != 0
    runs = ", ".join(LEVELS[: LEVELS.index(best) + 1])
    expected = f"ImportError: PGMX_SIMD='sse9' cannot be used: this processor runs {runs}; unset PGMX_SIMD"
    assert expected in done.stderr


def test_case_and_spaces_do_not_matter():
    done = level_name(" Plain ")
    assert done.stdout.strip() == "plain"
