"""Work in other processes, which may be limited, or die, without harm to the test."""

import os
import pickle
import resource
import signal
import subprocess
import sys
import time
import traceback
import warnings
from collections.abc import Callable
from typing import NamedTuple


class Child(NamedTuple):
    """A forked process and the end of the pipe that its traceback comes through."""

    pid: int
    reader: int


def start_child(function: Callable, *arguments) -> Child:
    """Call a function in a forked child."""
    reader, writer = os.pipe()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # Python 3.12 on forks while a BLAS has threads
        pid = os.fork()
    if pid:
        os.close(writer)
        return Child(pid, reader)
    status = 1
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background jobs ignore it
    try:
        function(*arguments)
        status = 0
    except BaseException:
        os.write(writer, traceback.format_exc().encode()[-60_000:])
    finally:
        sys.stdout.flush()
        os._exit(status)


def wait_for_child(child: Child) -> None:
    """Wait for a child; raise an AssertionError with its traceback if it failed, or with the signal that ended it."""
    with open(child.reader, "rb") as pipe:
        text = pipe.read().decode(errors="replace")
    _, status = os.waitpid(child.pid, 0)
    code = os.waitstatus_to_exitcode(status)
    assert code == 0, f"the child ended with {code}\n{text}"


def set_limits(*, seconds: float, megabytes: int) -> None:
    """Let this process die after a time, and refuse it more memory than it has and some megabytes."""
    with open("/proc/self/statm") as file:
        present = int(file.read().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (present + (megabytes << 20),) * 2)
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.setitimer(signal.ITIMER_REAL, seconds)


def run_in_child(function: Callable, *arguments) -> None:
    """Call a function in a forked child and wait for it."""
    wait_for_child(start_child(function, *arguments))


def is_killed(seconds: float, function: Callable, *arguments) -> bool:
    """Call a function in a forked child that is killed after a time; return whether it was still at work."""
    child = start_child(function, *arguments)
    time.sleep(seconds)
    os.kill(child.pid, signal.SIGKILL)
    with open(child.reader, "rb") as pipe:
        text = pipe.read().decode(errors="replace")
    _, status = os.waitpid(child.pid, 0)
    code = os.waitstatus_to_exitcode(status)
    assert code in (0, -signal.SIGKILL), f"the child ended with {code}\n{text}"
    return code != 0


#: Calls the pickled function of the standard input; shows where each thread is if it has not returned in time.
_CALL = """
import faulthandler, pickle, signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background jobs ignore it
faulthandler.dump_traceback_later(120, exit=True)
function, arguments = pickle.load(sys.stdin.buffer)
function(*arguments)
"""


def run_in_interpreter(function: Callable, *arguments) -> None:
    """Call a function in a new interpreter, without the threads, locks and pools that a forked child would share."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    done = subprocess.run(
        [sys.executable, "-c", _CALL],
        input=pickle.dumps((function, arguments)),
        stderr=subprocess.PIPE,
        env=environment,
        check=False,
    )
    assert done.returncode == 0, f"the process ended with {done.returncode}\n{done.stderr.decode(errors='replace')}"
