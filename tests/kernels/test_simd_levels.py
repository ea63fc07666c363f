"""Every level of the kernels gives the bits of the plain one, sums of logarithms to rounding; each has its process."""

import json
import re
from pathlib import Path

import pytest

from helpers.interpreter import run_python
from pgmx._ext import _counts

LEVELS = ("plain", "popcnt", "avx2", "avx512")
DIGEST = Path(__file__).parents[1] / "helpers" / "simd_digest.py"
#: The kernels that take a level, and the tests of those whose vectors have bodies of their own for odd sizes.
KERNELS = (
    "_checksums",
    "_clime",
    "_counts",
    "_families",
    "_gradraker",
    "_gram_lasso",
    "_lagged_lasso",
    "_pseudolikelihood",
    "_raker",
    "_ranks",
)
TESTS = [Path(__file__).with_name(f"test_{name}.py") for name in ("checksums", "ranks", "conditionals", "clime_paths")]


def ask_level(level):
    return run_python("-c", "from pgmx._ext import _counts; print(_counts.SIMD_LEVEL)", PGMX_SIMD=level)


@pytest.fixture(scope="module")
def best():
    """The level that this processor runs by default."""
    return ask_level(None).stdout.strip()


def compute(level):
    # the correlations come from BLAS, which takes its own level from the processor, and here one thread
    done = run_python(DIGEST, PGMX_SIMD=level, OPENBLAS_NUM_THREADS="1")
    assert done.returncode == 0, done.stderr
    answer = json.loads(done.stdout)
    assert answer["levels"] == [level, level]
    return answer["digests"], answer["losses"]


@pytest.fixture(scope="module")
def plain():
    return compute("plain")


def test_the_default_is_a_level(best):
    assert best in LEVELS


def test_an_empty_variable_asks_for_nothing(best):
    assert ask_level("").stdout.strip() == best


@pytest.mark.slow
@pytest.mark.parametrize("level", LEVELS[1:])
def test_same_bits_as_the_plain_level(level, best, plain):
    if LEVELS.index(level) > LEVELS.index(best):
        done = ask_level(level)
        assert done.returncode != 0
        assert f"ImportError: PGMX_SIMD={level!r} cannot be used: this processor runs" in done.stderr
        assert f"{best}; unset PGMX_SIMD to take the best" in done.stderr
        return
    digests, losses = compute(level)
    plain_digests, plain_losses = plain
    assert digests.keys() == plain_digests.keys()
    assert {name for name in digests if digests[name] != plain_digests[name]} == set()
    assert losses == pytest.approx(plain_losses, rel=1e-13)


@pytest.mark.slow
@pytest.mark.parametrize("level", [level for level in ("plain", "avx2") if level != _counts.SIMD_LEVEL])
def test_the_tests_of_kernels_pass(level, best):
    """Tests of many more sizes than the digests have; the other levels share these bodies."""
    if LEVELS.index(level) > LEVELS.index(best):
        return
    done = run_python(
        "-m",
        "pytest",
        "-q",
        "-n",
        "0",
        "-p",
        "no:cacheprovider",
        "--hypothesis-profile=thorough",
        *TESTS,
        PGMX_SIMD=level,
    )
    assert done.returncode == 0, done.stdout[-5000:]
    passed = re.search(r"(\d+) passed", done.stdout)
    assert passed is not None, done.stdout[-500:]
    assert int(passed[1]) >= 100


def test_an_unknown_level_is_refused(best):
    script = f"""
import importlib
for kernel in {KERNELS}:
    try:
        importlib.import_module(f"pgmx._ext.{{kernel}}")
    except ImportError as error:
        print(error)
"""
    done = run_python("-c", script, PGMX_SIMD="sse9")
    levels = ", ".join(LEVELS[: LEVELS.index(best) + 1])
    message = f"PGMX_SIMD='sse9' cannot be used: this processor runs {levels}; unset PGMX_SIMD"
    assert [line.startswith(message) for line in done.stdout.splitlines()] == [True] * len(KERNELS), done.stdout


def test_case_and_spaces_do_not_matter():
    assert ask_level(" Plain ").stdout.strip() == "plain"
