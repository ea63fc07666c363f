"""The tests nearest to the kernels, and random calls, on kernels built with bounds checks and sanitizers.

One build serves all: AddressSanitizer and UBSan where gcc has them, bounds checks alone elsewhere.
"""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from helpers.sanitizers import find_sanitizers, sanitizer_environment

ROOT = Path(__file__).parents[2]

#: What is run: the kernels themselves, and the few lines between them and a test.
TESTS = [
    "tests/kernels",
    "tests/search/test_dag_moves.py",
    "tests/search/test_dag_moves_lists.py",
    "tests/search/test_spanning_pair_weights.py",
    "tests/search/test_all_pairs.py",
    "tests/search/test_edge_heap.py",
    "tests/search/test_pair_levels.py",
    "tests/search/test_exact_posterior.py",
    "tests/search/test_posterior_families.py",
    "tests/inference/test_loopy.py",
    "tests/inference/test_gibbs.py",
    "tests/inference/test_orders.py",
    "tests/inference/test_bucket_elimination.py",
    "tests/solvers",
    "tests/statistics/test_pair_tables.py",
    "tests/statistics/test_pair_tables_store.py",
]

# An index that is out of range: only a build with bounds checks notices. Without one nothing is read there.
PROBE = """
import numpy as np
from pgmx._ext import _belief, _counts, _families, _pseudolikelihood
print(_counts.__file__, _belief.__file__, _families.__file__, _pseudolikelihood.__file__, sep="\\n")
try:
    _counts.count_pairs(np.zeros((1, 8), dtype=np.uint64), np.array([7]), 0, 0, np.zeros((1, 1), dtype=np.uint32))
except IndexError as error:
    print("IndexError:", error)
else:
    print("unchecked")
"""


OVERFLOW = """
import ctypes
library = ctypes.CDLL(None)
library.malloc.restype = ctypes.c_void_p
ctypes.memset(library.malloc(8), 0, 9)
"""

SANITIZERS = find_sanitizers()


def run(tree, *arguments, timeout, **variables):
    switch = "PGMX_SANITIZE" if SANITIZERS else "PGMX_DEBUG"
    environment = {**os.environ, switch: "1", "PYTHONPATH": str(tree), **variables}
    done = subprocess.run(
        [sys.executable, *arguments], cwd=tree, env=environment, capture_output=True, text=True, timeout=timeout
    )
    assert done.returncode == 0, f"{done.stdout[-5000:]}\n{done.stderr[-5000:]}"
    return done.stdout


def run_with_kernels(tree, *arguments, timeout):
    """Run Python on the kernels of the tree."""
    return run(tree, *arguments, timeout=timeout, **(sanitizer_environment(SANITIZERS) if SANITIZERS else {}))


@pytest.fixture(scope="module")
def debug_tree(tmp_path_factory):
    """A copy of the source with its kernels built in place, with all checks."""
    pytest.importorskip("Cython", reason="building the kernels needs Cython")
    pytest.importorskip("setuptools", reason="building the kernels needs setuptools")
    tree = tmp_path_factory.mktemp("debug")
    for name in ("setup.py", "pyproject.toml", "README.md", "LICENSE"):
        if (ROOT / name).exists():
            shutil.copy(ROOT / name, tree)
    built = shutil.ignore_patterns("*.so", "*.pyd", "__pycache__")
    tests = [
        f"tests/{name}"
        for name in ("kernels", "search", "inference", "solvers", "statistics", "oracles", "helpers", "fuzz")
    ]
    for folder in ("cython_ext", "pgmx", *tests):
        shutil.copytree(ROOT / folder, tree / folder, ignore=built)
    shutil.copy(ROOT / "tests" / "conftest.py", tree / "tests")
    run(tree, "setup.py", "-q", "build_ext", "--inplace", "--parallel", str(os.cpu_count() or 1), timeout=1200)
    return tree


@pytest.mark.debug_build
def test_out_of_range_is_noticed(debug_tree):
    *files, found = run_with_kernels(debug_tree, "-c", PROBE, timeout=120).splitlines()
    assert len(files) == 4
    assert all(Path(file).is_relative_to(debug_tree) for file in files)
    assert found.startswith("IndexError: Out of bounds")


@pytest.mark.debug_build
def test_kernel_tests_and_random_calls_pass(debug_tree, capsys):
    options = ("-q", "-n", "0", "-m", "not debug_build and not slow", "-p", "no:cacheprovider")
    answer = run_with_kernels(debug_tree, "-m", "pytest", *TESTS, *options, timeout=1800)
    passed = re.search(r"(\d+) passed", answer)
    assert passed is not None and int(passed[1]) > 500, answer[-2000:]
    assert "failed" not in answer
    cases = run_with_kernels(debug_tree, "-m", "tests.fuzz", "--cases", "300", "--megabytes", "4000", timeout=600)
    assert "300 cases" in cases
    checks = "AddressSanitizer, UBSan and bounds checks" if SANITIZERS else "bounds checks alone: gcc has no libasan"
    with capsys.disabled():
        print(f"\nkernels built with {checks}: {passed[1]} kernel tests and 300 fuzz cases passed")


@pytest.mark.debug_build
@pytest.mark.skipif(not SANITIZERS, reason="gcc has no libasan")
def test_a_write_behind_a_block_ends_the_process(debug_tree):
    kernels = list((debug_tree / "pgmx" / "_ext").glob("*.so"))
    assert len(kernels) >= 20 and all(b"__asan_report" in kernel.read_bytes() for kernel in kernels)
    with pytest.raises(AssertionError, match="AddressSanitizer: heap-buffer-overflow"):
        run_with_kernels(debug_tree, "-c", OVERFLOW, timeout=60)
