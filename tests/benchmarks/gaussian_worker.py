"""Measures one method on one problem of gaussian.py, in a process of its own; appends JSON lines to a file.

First a warm-up on six variables (imports, compilers), then the clock: user-CPU seconds, the median of `repeat`
measurements; a call that takes long (ten seconds for the goals, three for the rest) is made once, calls below 0.05 s
are timed in blocks of 0.2 s. A call over the limit of CPU seconds is ended by the system. The judge comes after,
outside the clock.
"""

import argparse
import importlib
import json
import os
import resource
import statistics
import warnings
from dataclasses import replace

import gaussian_data
import gaussian_objective
import numpy as np
from worker import clock, limit_cpu, reset_peak, resident_mib, user_seconds

CLIME_EDGE = 1e-2  # entries of CLIME's symmetrised matrix above it are edges, for all tools alike
EDGE = 1e-8  # of the others, whose zeros are exact or nearly so


def judge(problem, task, matrix, covariance, lam):
    """Return what the outside functions say of one answer."""
    columns = problem.solved
    if task == "glasso":
        found = gaussian_objective.graphical_lasso(problem.covariance, matrix, lam)
        if covariance is not None:
            found["inverse_error"] = gaussian_objective.inverse_error(matrix, covariance)
        edges = gaussian_objective.edges_of(matrix, EDGE)
    elif task == "clime":
        found = gaussian_objective.clime(problem.shifted, matrix, lam, columns)
        found["nonzeros"] = float((matrix != 0).sum() / matrix.shape[1])
        if problem.columns is not None:
            return found
        edges = gaussian_objective.edges_of(gaussian_objective.smaller_magnitude(matrix), CLIME_EDGE)
    else:
        found = gaussian_objective.neighborhood(problem.covariance, matrix, lam)
        edges = gaussian_objective.edges_of(gaussian_objective.smaller_magnitude(matrix), EDGE)
    return {**found, "edges": int(edges.sum()), "f1": gaussian_objective.f1(edges, problem.edges)}


def product_seconds(problem, repeat):
    """Return the user-CPU seconds of p x p products in float64, one after the other."""
    left, seconds = problem.covariance, []
    right = np.random.default_rng(0).standard_normal(left.shape)
    for _ in range(repeat):
        begin = user_seconds()
        left @ right
        seconds.append(user_seconds() - begin)
    return seconds


def measure(problem, setting, solver, method, report):
    """Time one method and judge its answer."""
    task, lams = setting["task"], [multiple * problem.unit for multiple in setting["multiples"]]
    call = solver.METHODS[task][method]
    problem.covariance, problem.shifted  # noqa: B018  ready before the clock
    if setting["products"]:
        product_seconds(problem, 2)
        products = product_seconds(problem, setting["repeat"])
    reset_peak()
    before = resident_mib("VmRSS")
    report(load=round(os.getloadavg()[0], 2))
    limits = setting["repeat"], setting["limit"], setting["long"]
    median, measured, raw = clock(lambda: problem, lambda p: call(p, lams), *limits)
    report(seconds=median, seconds_all=measured, resident_mib=before, peak_mib=resident_mib("VmHWM"))
    limit_cpu(600)
    if setting["products"]:
        products += product_seconds(problem, setting["repeat"])
        report(product=statistics.median(products), product_all=products)
    if hasattr(solver, "facts"):
        report(**solver.facts(task, raw))
    answers = solver.answers(task, raw)
    report(judged=[judge(problem, task, *answer, lam) for answer, lam in zip(answers, lams, strict=True)])


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("path")
    parser.add_argument("setting", type=json.loads)
    parser.add_argument("solver")
    parser.add_argument("method")
    parser.add_argument("out")
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    solver = importlib.import_module(f"solvers.gaussian.{args.solver}")

    def report(**line):
        with open(args.out, "a") as out:
            out.write(json.dumps(line, default=float) + "\n")

    task = args.setting["task"]
    few = gaussian_data.sample("chain", 6, 60)
    solver.METHODS[task][args.method](few, [multiple * few.unit for multiple in args.setting["multiples"]])
    problem = gaussian_data.load(args.path)
    if args.setting["columns"]:
        spread = np.linspace(0, problem.p - 1, args.setting["columns"])
        problem = replace(problem, columns=np.unique(spread.astype(np.int64)))
    measure(problem, args.setting, solver, args.method, report)


if __name__ == "__main__":
    main()
