"""The tests of the rank kernels once more at each level of PGMX_SIMD below the best, in a process of its own."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import pgmx
from pgmx._ext import _ranks

LEVELS = ("plain", "popcnt", "avx2", "avx512")
BELOW = LEVELS[: LEVELS.index(_ranks.SIMD_LEVEL)]
TESTS = Path(__file__).parents[1]


def run(level, *arguments):
    """Run Python with PGMX_SIMD set to `level`."""
    path = os.pathsep.join([str(Path(pgmx.__file__).parents[1]), str(TESTS)])
    environment = {**os.environ, "PYTHONPATH": path, "PGMX_SIMD": level}
    return subprocess.run(
        [sys.executable, *arguments], cwd=TESTS.parent, env=environment, capture_output=True, text=True, timeout=300
    )


@pytest.mark.slow
@pytest.mark.parametrize("level", BELOW)
def test_the_same_tests_pass(level):
    done = run(level, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(Path(__file__).with_name("test_ranks.py")))
    assert done.returncode == 0, done.stdout[-5000:]
    passed = re.search(r"(\d+) passed", done.stdout)
    assert passed is not None and int(passed[1]) > 30, done.stdout[-500:]


DIGEST = """
import hashlib
import numpy as np
from pgmx._ext import _ranks
from pgmx.statistics import kendall_tau_matrix, spearman
rng = np.random.default_rng(7)
digest = hashlib.sha256()
for n, p in ((50, 30), (700, 13), (9_000, 4)):
    X = rng.normal(size=(n, p)) + rng.normal(size=(n, 1))
    X[:, 1::3] = np.round(2 * X[:, 1::3])
    X[:, 2::3][rng.random(X[:, 2::3].shape) < 0.2] = np.nan
    for matrix in (kendall_tau_matrix(X, missing="pairwise"), spearman(X, missing="pairwise")):
        digest.update(matrix.tobytes())
print(_ranks.SIMD_LEVEL, digest.hexdigest())
"""


def test_every_level_gives_the_same_bits():
    found = [run(level, "-c", DIGEST).stdout.split() for level in (*BELOW, _ranks.SIMD_LEVEL)]
    assert [name for name, _ in found] == [*BELOW, _ranks.SIMD_LEVEL]
    assert len({digest for _, digest in found}) == 1


def test_unknown_levels_are_refused():
    done = run("sse9", "-c", "from pgmx._ext import _ranks")
    assert done.returncode != 0
    assert "ImportError: PGMX_SIMD='sse9' cannot be used" in done.stderr
