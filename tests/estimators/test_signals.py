"""SIGINT, SIGTERM and SIGKILL in a process of their own: what is held, how soon, and that nothing is left behind."""

import os
import signal
import subprocess
import sys
import time

import pytest

from helpers.bootstraps import boot
from helpers.interrupts import interrupt_itself, list_children
from helpers.markov_tables import ALL
from helpers.processes import run_in_interpreter
from pgmx.datasets import load_network, sample
from pgmx.estimators import BestFirstSearch, HillClimbSearch, SimulatedAnnealing

ALARM = sample(load_network("alarm"), 2000, random_state=0)


@pytest.mark.parametrize(
    "learner",
    [
        pytest.param(
            HillClimbSearch(strategy="thorough", n_restarts=10**6, show_progress=False), marks=pytest.mark.slow
        ),
        pytest.param(boot(HillClimbSearch(strategy="thorough"), n_resamples=10**4, n_jobs=2), marks=pytest.mark.slow),
    ],
    ids=["search", "bootstrap"],
)
def test_the_signal(learner):
    run_in_interpreter(interrupt_itself, learner, ALARM, 0.8)


@pytest.mark.slow
@pytest.mark.parametrize(
    "learner",
    [
        HillClimbSearch(strategy="thorough", n_restarts=10**6, n_jobs=2, show_progress=False),
        SimulatedAnnealing(n_draws=10**9, show_progress=False),
        BestFirstSearch(patience=10**9, show_progress=False),
        *(make(lam=1e-5, tol=1e-7, max_time=100, show_progress=False) for make in ALL.values()),
    ],
)
def test_the_signal_in_other_learners(learner):
    run_in_interpreter(interrupt_itself, learner, ALARM, 2.0)


RESAMPLE_IN_PROCESSES = """
import sys
from pathlib import Path
from joblib import parallel_config
from helpers.bootstraps import boot
from pgmx.datasets import load_network, sample
from pgmx.estimators import HillClimbSearch

def mark(progress):
    if progress.n_iter == 4000:  # by then both have begun: a worker watches its parent from its first task on
        Path(sys.argv[1]).touch()

with parallel_config("loky", n_jobs=2):
    boot(HillClimbSearch(), n_resamples=10**5, callback=mark).fit(sample(load_network("alarm"), 2000, random_state=0))
"""


@pytest.mark.slow
@pytest.mark.skipif(not os.path.exists("/proc/self/task"), reason="needs the list of children that Linux has")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_worker_processes_end_with_their_parent(number, tmp_path):
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    child = subprocess.Popen([sys.executable, "-c", RESAMPLE_IN_PROCESSES, tmp_path / "begun"], env=environment)
    for _ in range(1200):
        if not (tmp_path / "begun").exists():
            time.sleep(0.1)
    workers = list_children(child.pid)
    assert len(workers) >= 2
    child.send_signal(number)
    assert child.wait(60) == -number
    for _ in range(150):
        workers = [pid for pid in workers if os.path.exists(f"/proc/{pid}")]
        if workers:
            time.sleep(0.1)
    assert workers == []
