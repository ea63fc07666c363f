"""A process that interrupts its own learner."""

import os
import signal
import threading
import time

from joblib import parallel_config


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
    for _ in range(2000):  # a thread that has done its work takes a moment to end
        if threading.active_count() > 1:
            time.sleep(0.01)
    assert threading.active_count() == 1
    assert not os.path.exists("/proc/self/task") or not list_children(os.getpid())


def list_children(pid):
    """Return the ids of the children that a process's main thread has begun."""
    with open(f"/proc/{pid}/task/{pid}/children") as file:
        return file.read().split()
