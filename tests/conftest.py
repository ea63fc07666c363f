"""What every test shares: repeatable hypothesis runs, seeds from one place, and what is costly made once."""

import json
import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

# Processes of tests run side by side: further threads of BLAS would wait for each other, at three times the CPU time.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
import pytest
from hypothesis import settings

from helpers.bif_grammars import share_grammars
from helpers.interpreter import run_python

#: First letters of the files in tests/estimators whose tests ask for the fixture `client`.
CLUSTER_FILES = ("test_cluster", "test_distributed_", "test_parallel_arrays")

HASH_SEED_DIGESTS = Path(__file__).parent / "helpers" / "hash_seed_digests.py"

# `--hypothesis-profile=thorough` tries more examples; those of tests with a number of their own: helpers/examples.py.
settings.register_profile("thorough", derandomize=True, deadline=None, max_examples=50)
settings.register_profile("pgmx", derandomize=True, deadline=None, max_examples=6)
settings.load_profile("pgmx")


def pytest_addoption(parser):
    parser.addoption("--seeds", type=int, default=1, metavar="N", help="run tests that take a `seed` with N of them")


def pytest_generate_tests(metafunc):
    if "seed" in metafunc.fixturenames:
        metafunc.parametrize("seed", range(metafunc.config.getoption("--seeds")))


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    """Run the files that share the cluster one after the other in one process: it starts once, not for each file."""
    if config.getoption("dist") != "loadfile":
        return None
    from xdist.scheduler import LoadFileScheduling

    class OneCluster(LoadFileScheduling):
        def _split_scope(self, nodeid):
            path = super()._split_scope(nodeid)
            return "the cluster" if path.removeprefix("tests/estimators/").startswith(CLUSTER_FILES) else path

    return OneCluster(config, log)


@pytest.hookimpl(wrapper=True)
def pytest_collect_file():
    """Leave doctests to the package: modules of tests have none, and would be imported twice."""
    collectors = yield
    return [collector for collector in collectors if type(collector).__name__ != "DoctestModule"]


@pytest.fixture
def rng(seed):
    return np.random.default_rng(seed)


@pytest.fixture(scope="session")
def hash_seed_digests():
    """What processes of two hash seeds, numbers of threads and levels of the kernels print, as two dictionaries."""
    script = ("-W", "error::RuntimeWarning", HASH_SEED_DIGESTS)
    with ThreadPoolExecutor() as pool:
        jobs = [
            pool.submit(run_python, *script, "1", PYTHONHASHSEED="0"),
            pool.submit(run_python, *script, "2", PYTHONHASHSEED="1", PGMX_SIMD="plain"),
        ]
    for job in jobs:
        assert job.result().returncode == 0, job.result().stderr
    return [json.loads(job.result().stdout) for job in jobs]


@pytest.fixture(scope="session", autouse=True)
def grammars_of_bif_files():
    with pytest.MonkeyPatch.context() as patch:
        share_grammars(patch.setattr)
        yield
