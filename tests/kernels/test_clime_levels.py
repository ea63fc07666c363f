"""The tests of exact CLIME paths once more at each level of PGMX_SIMD, in a process of its own."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import pgmx
from pgmx._ext import _counts

LEVELS = ("plain", "popcnt", "avx2", "avx512")
BELOW = LEVELS[: LEVELS.index(_counts.SIMD_LEVEL)]
TESTS = Path(__file__).parents[1]


def run(level, *arguments):
    """Run Python with PGMX_SIMD set to `level`."""
    path = os.pathsep.join([str(Path(pgmx.__file__).parents[1]), str(TESTS)])
    environment = {**os.environ, "PYTHONPATH": path, "PGMX_SIMD": level}
    return subprocess.run(
        [sys.executable, *arguments], cwd=TESTS.parent, env=environment, capture_output=True, text=True, timeout=600
    )


@pytest.mark.slow
@pytest.mark.parametrize("level", [level for level in ("plain", "avx2") if level in BELOW])
def test_the_same_tests_pass(level):
    done = run(
        level, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(Path(__file__).with_name("test_clime_paths.py"))
    )
    assert done.returncode == 0, done.stdout[-5000:]
    passed = re.search(r"(\d+) passed", done.stdout)
    assert passed is not None and int(passed[1]) >= 12, done.stdout[-500:]


def test_unknown_levels_are_refused():
    done = run("sse9", "-c", "from pgmx._ext import _clime")
    assert done.returncode != 0
    assert "ImportError: PGMX_SIMD='sse9' cannot be used" in done.stderr
