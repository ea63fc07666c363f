"""Runs one solver on one table in several column orders, in a process of its own; writes a JSON line for each order.

After a warm-up on five columns and 200 rows each order is loaded again and the learning call is timed. A call that uses
more CPU than the limit is ended by the system, and the process with it; the lines written before remain.
"""

import argparse
import importlib
import json
import os
import resource
import time
import warnings
from types import SimpleNamespace

from worker import clock, limit_cpu

import data

LONG = 0.1  # seconds: calls above are made once


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("solver")
    parser.add_argument("path")
    parser.add_argument("score")
    parser.add_argument("pipe", type=int, help="file descriptor that takes the lines")
    parser.add_argument("orders", nargs="+", type=int)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--timeout", type=float, default=300)
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    solver = importlib.import_module(f"solvers.{args.solver}")

    with os.fdopen(args.pipe, "w", buffering=1) as out:
        for k, order in enumerate(args.orders):
            table = data.load(args.path, order)
            problem = SimpleNamespace(frame=table.frame(), states=table.states, score=args.score)
            if k == 0:
                states = {name: table.states[name] for name in table.names[:5]}
                tiny = SimpleNamespace(frame=table.frame(200, 5), states=states, score=args.score)
                for _ in range(2):
                    solver.edges(solver.learn(solver.load(tiny)))
            place = {name: v for v, name in enumerate(table.names)}
            limit_cpu(args.timeout)
            began = time.perf_counter()
            seconds, _, found = clock(lambda p=problem: solver.load(p), solver.learn, args.repeat, args.timeout, LONG)
            wall = time.perf_counter() - began
            limit_cpu(args.timeout)
            line = {
                "order": order,
                "learn": seconds,
                "wall": wall,  # of all calls and their loading: estimates the time of a run of the benchmark
                "kernel": getattr(solver, "KERNEL", None),
                "edges": [(place[tail], place[head]) for tail, head in solver.edges(found)],
                "own_score": solver.own_score(problem, found),
            }
            out.write(json.dumps(line) + "\n")


if __name__ == "__main__":
    main()
