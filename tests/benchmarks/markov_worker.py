"""Measures some learners on one problem, in a process of its own; writes a line of JSON for each run as it ends.

The sections of a learner's time are measured from outside, by wrapping the functions that count pairs, score them and
optimise; each moment is charged to the innermost of them, what is left to the choice of edges.
"""

import argparse
import json
import resource
import sys
import time
import warnings
from contextlib import contextmanager
from functools import wraps

import markov_data
import markov_objective
import markov_solvers
import numpy as np
from worker import reset_peak, resident_mib, user_seconds

PARTS = ("statistics", "scoring", "optimising", "reporting")
LONG = 20.0  # CPU seconds: a learner that takes longer is run once


class Clocks:
    """CPU seconds of the sections of a run."""

    def __init__(self):
        self.seconds = dict.fromkeys(PARTS, 0.0)
        self.loss = None
        self._inside = []
        self._since = 0.0

    @contextmanager
    def part(self, name):
        """Count the following time for a section, minus the sections inside it."""
        self._charge()
        self._inside.append(name)
        try:
            yield
        finally:
            self._charge()
            self._inside.pop()

    def _charge(self):
        now = time.process_time()
        if self._inside:
            self.seconds[self._inside[-1]] += now - self._since
        self._since = now


CLOCKS = Clocks()


def clocks():
    """Return the CPU seconds of this process (user and system), those of the user alone, and wall seconds."""
    return {"total": time.process_time(), "user": user_seconds(), "wall": time.perf_counter()}


def wrap(owner, method, part):
    """Count the time of a method of a class for a section."""
    inner = getattr(owner, method)

    @wraps(inner)
    def outer(self, *args, **kwargs):
        if part == "optimising":
            CLOCKS.loss = self
        with CLOCKS.part(part):
            return inner(self, *args, **kwargs)

    setattr(owner, method, outer)


def instrument():
    """Wrap the classes whose times are listed separately."""
    from pgmx.solvers import BetheLoss, PseudolikelihoodLoss
    from pgmx.statistics import PairTables

    for method in ("flat", "prepare"):
        wrap(PairTables, method, "statistics")
    for owner in (BetheLoss, PseudolikelihoodLoss):
        wrap(owner, "scores", "scoring")
        wrap(owner, "gradients", "scoring")
        wrap(owner, "optimise", "optimising")
        wrap(owner, "objective", "reporting")
        wrap(owner, "kkt_residual", "reporting")


def run(method, problem, setting, seed, judged):
    """Fit one learner; return its record."""
    global CLOCKS
    learner_class, options = markov_solvers.learners()[method]
    limits = (
        {"max_edges": setting["edges_per_variable"] * len(problem.cards)} if "edges_per_variable" in setting else {}
    )
    learner = learner_class(
        lam=setting["lam"],
        l2=setting["l2"],
        loss=setting["loss"],
        tol=setting["tol"],
        max_time=setting["max_time"],
        random_state=seed,
        show_progress=False,
        **limits,
        **options,
    )
    table = problem.table()
    table.planes  # noqa: B018  packed on first use
    CLOCKS = Clocks()
    reset_peak()
    before, begin = resident_mib("VmRSS"), clocks()
    learner.fit(table)
    seconds = {name: now - begin[name] for name, now in clocks().items()}
    peak = resident_mib("VmHWM")
    seconds |= {**CLOCKS.seconds, "choosing": seconds["total"] - sum(CLOCKS.seconds.values())}
    record = {
        "seconds": {name: round(value, 4) for name, value in seconds.items()},
        "rounds": learner.n_iter_,
        "tests": learner.n_tests_,
        "tables": learner.n_tables_,
        "activated": learner.n_activated_,
        "edges": len(learner.edges_),
        "stopped_by": learner.stopped_by_,
        "kkt": learner.kkt_residual_,
        "own_objective": learner.objective_,
        "resident_mib": round(before, 1),
        "peak_mib": round(peak, 1),
    }
    if setting["loss"] == "bethe":
        record["bp_converged"] = bool(CLOCKS.loss.converged)
    network = markov_objective.Network.of(CLOCKS.loss.potentials())
    active = CLOCKS.loss.edges
    CLOCKS = Clocks()
    return record | judge(network, problem, setting, judged) | recalls(problem, network.edges, active)


def judge(model, problem, setting, judged):
    """Return what the outside functions say; the objective, which takes a pass over all rows, where it is asked for."""
    found = {}
    if judged:
        settings = setting["loss"], setting["lam"], setting["l2"], setting.get("single", False)
        found["objective"] = markov_objective.objective(model, problem.codes, *settings)
        if setting.get("certified"):
            found["kkt_outside"] = markov_objective.largest_violation(
                model, problem.codes, setting["lam"], setting["l2"]
            )
    found["npll"] = markov_objective.negative_pseudolikelihood(model.fields(problem.held_out), problem.held_out)
    return found


def recalls(problem, edges, active):
    """Return recall and precision of the edges with parameters, and of all that were activated."""
    if problem.true_edges is None:
        return {}
    recall, precision = markov_objective.recall_and_precision(edges, problem.true_edges)
    activated, _ = markov_objective.recall_and_precision(active, problem.true_edges)
    return {"recall": recall, "precision": precision, "recall_activated": activated}


def run_baseline(method, problem, setting):
    """Fit a model with which pgmx's Markov learners are compared; return its records."""
    begin = clocks()
    model = markov_solvers.BASELINE[method](problem, setting["lam"])
    seconds = {name: round(now - begin[name], 4) for name, now in clocks().items()}
    if method != "node-wise-lasso":
        return [(method, {"seconds": seconds, "edges": len(model.edges), **judge(model, problem, setting, True)})]
    both = markov_objective.negative_pseudolikelihood(model.fields(problem.held_out), problem.held_out)
    network = model.network()
    return [
        (method, {"seconds": seconds, "edges": len(network.edges), "npll": both}),
        (f"{method}-and", {"seconds": seconds, "edges": len(network.edges), **judge(network, problem, setting, True)}),
    ]


def warm_up():
    """Import what is imported late, and make first calls, on a few rows."""
    from pgmx.data import DiscreteTable

    codes = np.random.default_rng(0).integers(0, 2, (4, 50), dtype=np.uint8)
    table = DiscreteTable(list("abcd"), [[0, 1]] * 4, codes)
    for learner_class, options in markov_solvers.learners().values():
        for loss in ("pseudolikelihood", "bethe"):
            learner_class(loss=loss, lam=0.01, show_progress=False, **options).fit(table)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("path")
    parser.add_argument("setting", type=json.loads)
    parser.add_argument("methods", nargs="+")
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    problem, setting = markov_data.load(args.path), args.setting
    instrument()
    warm_up()

    def report(method, seed, record):
        line = {"method": method, "run": seed, "simd": level(), **record}
        sys.stdout.write(json.dumps(line) + "\n")
        sys.stdout.flush()

    waiting = dict.fromkeys(args.methods, 0)
    for seed in range(setting["runs"]):
        for method in list(waiting):
            if method in markov_solvers.BASELINE:
                for name, record in run_baseline(method, problem, setting):
                    report(name, 0, record)
                del waiting[method]
                continue
            record = run(method, problem, setting, seed, judged=seed == 0 and setting.get("judged", True))
            report(method, seed, record)
            if record["seconds"]["total"] > LONG:
                del waiting[method]


def level():
    """Return the instruction set of the kernels."""
    from pgmx._ext import _counts

    return _counts.SIMD_LEVEL


if __name__ == "__main__":
    main()
