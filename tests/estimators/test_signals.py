"""SIGINT, SIGTERM and SIGKILL in a process of their own: what is held, how soon, and that nothing is left behind."""

import os
import signal
import subprocess
import sys
import threading
import time

import pytest
from joblib import parallel_config

from helpers.bootstraps import boot
from helpers.markov_tables import ALL
from helpers.processes import start_child, wait_for_child
from pgmx.datasets import load_network, sample
from pgmx.estimators import BestFirstSearch, HillClimbSearch, SimulatedAnnealing

ALARM = sample(load_network("alarm"), 2000, random_state=0)


def interrupt_itself(learner, data, seconds):
    """Send SIGINT to this process after a time; check what is raised, how soon, and what is left."""

    def send():
        time.sleep(seconds)
        sent.append(time.perf_counter())
        os.kill(os.getpid(), signal.SIGINT)

    sent = []
    signal.alarm(120)
    threading.Thread(target=send).start()
    try:
        with parallel_config("threading"):  # the pool of processes of a forked parent is of no use here
            learner.fit(data)
    except KeyboardInterrupt:
        took = time.perf_counter() - sent[0]
    else:
        raise AssertionError("it was not interrupted")
    assert learner.stopped_by_ == "interrupt"
    assert len(learner.edges_)
    assert took < 20, took
    for _ in range(2000):  # a thread that has done its work takes a moment to end
        if threading.active_count() > 1:
            time.sleep(0.01)
    assert threading.active_count() == 1
    assert not os.path.exists("/proc/self/task") or not _children(os.getpid())


def _children(pid):
    with open(f"/proc/{pid}/task/{pid}/children") as file:
        return file.read().split()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.parametrize(
    "learner",
    [
        HillClimbSearch(strategy="thorough", n_restarts=10**6, show_progress=False),
        boot(HillClimbSearch(strategy="thorough"), n_resamples=10**4, n_jobs=2),
    ],
    ids=["search", "bootstrap"],
)
def test_the_signal(learner):
    wait_for_child(start_child(interrupt_itself, learner, ALARM, 0.8))


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
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
    wait_for_child(start_child(interrupt_itself, learner, ALARM, 2.0))


#: A pool of processes is begun by a process of its own: a forked child holds what is left of its parent's.
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
    workers = _children(child.pid)
    assert len(workers) >= 2
    child.send_signal(number)
    assert child.wait(60) == -number
    for _ in range(150):
        workers = [pid for pid in workers if os.path.exists(f"/proc/{pid}")]
        if workers:
            time.sleep(0.1)
    assert workers == []
