"""Ctrl-C at a moment that a test chooses, by the number of a call or by the clock."""

import os
import signal
import sys
import threading
import time
from contextlib import contextmanager

from joblib import parallel_config


class Calls:
    """How many functions of the named packages were called, and at which call Ctrl-C comes."""

    def __init__(self, at, packages):
        self.n, self.at, self.packages = 0, at, packages

    def __call__(self, frame, event, _):
        if event == "call" and frame.f_globals.get("__name__", "").startswith(self.packages):
            self.n += 1
            if self.n == self.at:
                raise KeyboardInterrupt


@contextmanager
def interrupt_at_call(at=None, packages=("pgmx.search", "pgmx.solvers", "pgmx.scores.gains")):
    """Raise KeyboardInterrupt at the start of the n-th function; without a number only count them."""
    calls = Calls(at, packages)
    sys.setprofile(calls)
    try:
        yield calls
    finally:
        sys.setprofile(None)


def interrupt_itself(learner, data, seconds):
    """Send SIGINT to this process after a time; check what is raised, how soon, and what is left."""

    def send():
        time.sleep(seconds)
        sent.append(time.perf_counter())
        os.kill(os.getpid(), signal.SIGINT)

    sent = []
    threading.Thread(target=send).start()
    try:
        with parallel_config("threading"):  # joblib keeps processes for the next call
            learner.fit(data)
    except KeyboardInterrupt:
        took = time.perf_counter() - sent[0]
    else:
        raise AssertionError("it was not interrupted")
    assert learner.stopped_by_ == "interrupt"
    assert len(learner.edges_)
    assert took < 20, took
    for _ in range(2000):  # a task takes a moment to end
        if list_stacks_at_work():
            time.sleep(0.01)
    assert list_stacks_at_work() == []  # an idle thread may be left, of a pool whose making was interrupted
    assert not os.path.exists("/proc/self/task") or not list_children(os.getpid())


def list_stacks_at_work():
    """Return the functions of pgmx that other threads are in."""
    stacks = []
    for thread, frame in sys._current_frames().items():
        while frame is not None and thread != threading.get_ident():
            if frame.f_globals.get("__name__", "").startswith("pgmx."):
                stacks.append(frame.f_code.co_qualname)
            frame = frame.f_back
    return stacks


def list_children(pid):
    """Return the ids of the children that a process's main thread has begun."""
    with open(f"/proc/{pid}/task/{pid}/children") as file:
        return file.read().split()
