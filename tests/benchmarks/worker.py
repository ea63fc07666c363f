"""Measures one solver on one problem, in a process of its own; appends what it finds to a file of JSON lines.

The order is: import, a warm-up of every call on five columns and 200 rows, the frame, one end-to-end call during which
the peak memory is taken, the "learn" clock, the "end to end" clock, the tool's own score. A call which uses more CPU
than the limit is ended by the system (RLIMIT_CPU); the lines written before remain.
"""

import argparse
import contextlib
import ctypes
import gc
import importlib
import json
import math
import resource
import statistics
import warnings
from pathlib import Path
from types import SimpleNamespace

import data

SHORT = 0.05  # seconds: calls below are timed in blocks of BLOCK seconds
BLOCK = 0.2
LONG = 10.0  # seconds: calls above are made once


def user_seconds():
    """Return the user-CPU seconds of this process, all threads, and of its finished children."""
    own, children = (resource.getrusage(who).ru_utime for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return own + children


def limit_cpu(seconds):
    """Let this process use so many CPU seconds more, then be ended by SIGXCPU."""
    usage = resource.getrusage(resource.RUSAGE_SELF)
    hard = resource.getrlimit(resource.RLIMIT_CPU)[1]
    soft = math.ceil(usage.ru_utime + usage.ru_stime + seconds)
    resource.setrlimit(resource.RLIMIT_CPU, (soft if hard == resource.RLIM_INFINITY else min(soft, hard), hard))


def clock(prepare, call, repeat, timeout, long=LONG):
    """Return (user-CPU seconds per call: the median of ``repeat`` measurements, all of them, the last result).

    A call over ``long`` seconds is made once.
    """

    def measure(n_calls):
        arguments = [prepare() for _ in range(n_calls)]
        gc.collect()
        limit_cpu(timeout * n_calls)
        start = user_seconds()
        for argument in arguments:
            result = call(argument)
        return (user_seconds() - start) / n_calls, result

    first, result = measure(1)
    if first > long:
        return first, [first], result
    n_calls = 1 if first >= SHORT else min(200, math.ceil(BLOCK / max(first, 1e-6)))
    measured = [measure(n_calls)[0] for _ in range(repeat)]
    return statistics.median(measured), measured, result


def resident_mib(field):
    """Return ``VmRSS`` (now) or ``VmHWM`` (peak) in MiB; without /proc the peak serves for both."""
    try:
        for line in Path("/proc/self/status").read_text().splitlines():
            if line.startswith(field):
                return int(line.split()[1]) / 1024
    except OSError:
        pass
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def reset_peak():
    """Give freed memory back and let the peak start from now (Linux); elsewhere making the frame counts too."""
    gc.collect()
    with contextlib.suppress(AttributeError, OSError, TypeError):
        ctypes.CDLL(None).malloc_trim(0)
    with contextlib.suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("solver")
    parser.add_argument("path")
    parser.add_argument("seed", type=int)
    parser.add_argument("out")
    parser.add_argument("--score", default="bic")
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--timeout", type=float, default=300)
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    solver = importlib.import_module(f"solvers.{args.solver}")

    def report(**line):
        with open(args.out, "a") as out:
            out.write(json.dumps(line) + "\n")

    table = data.load(args.path, args.seed)
    few = table.names[:5]
    states = {name: table.states[name] for name in few}
    tiny = SimpleNamespace(frame=table.frame(200, 5), states=states, score=args.score)
    for _ in range(2):
        solver.edges(solver.end_to_end(tiny))
        solver.edges(solver.learn(solver.load(tiny)))

    problem = SimpleNamespace(frame=table.frame(), states=table.states, score=args.score)
    place = {name: v for v, name in enumerate(table.names)}
    del table

    def ids(result):
        return sorted((place[tail], place[head]) for tail, head in solver.edges(result))

    reset_peak()
    before = resident_mib("VmRSS")
    limit_cpu(args.timeout)
    start = user_seconds()
    result = solver.end_to_end(problem)
    first = user_seconds() - start
    report(frame_mib=before, peak_mib=resident_mib("VmHWM"), kernel=getattr(solver, "KERNEL", None))
    report(edges=ids(result), end_to_end=first, end_to_end_all=[first])

    median, measured, learned = clock(lambda: solver.load(problem), solver.learn, args.repeat, args.timeout)
    report(learn=median, learn_all=measured, same_graph=ids(learned) == ids(result))
    if first <= LONG:
        median, measured, _ = clock(lambda: problem, solver.end_to_end, args.repeat, args.timeout)
        report(end_to_end=median, end_to_end_all=measured)
    limit_cpu(args.timeout)
    report(own_score=solver.own_score(problem, learned))


if __name__ == "__main__":
    main()
