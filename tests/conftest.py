"""What every test shares: repeatable hypothesis runs, and seeds from one place."""

import numpy as np
import pytest
from hypothesis import settings

settings.register_profile("pgmx", derandomize=True, deadline=None)
settings.load_profile("pgmx")


def pytest_addoption(parser):
    parser.addoption("--seeds", type=int, default=1, metavar="N", help="run tests that take a `seed` with N of them")


def pytest_generate_tests(metafunc):
    if "seed" in metafunc.fixturenames:
        metafunc.parametrize("seed", range(metafunc.config.getoption("--seeds")))


@pytest.fixture
def rng(seed):
    return np.random.default_rng(seed)
