"""Errors of marginals compared with uniform ones, and scores of most probable states compared with annealing."""

import warnings
from time import process_time

import numpy as np
from inference_peers import ask_with_limits, find_pgmpy_map, find_pgmpy_marginals, find_pyagrum_marginals

from pgmx._ext import _tempering
from pgmx.inference import TreewidthError, map_assignment, marginals
from pgmx.inference.approximate.bounds import reweight_trees
from pgmx.inference.approximate.gibbs import copy_tables

EXACT_BYTES = 2**33
#: Restarts of the annealer, and its inverse temperatures in units of a network of couplings of about 1.
N_RESTARTS = 10
HOT, COLD = 0.2, 8.0


def ask_marginals(problem):
    """Yield a row per engine: mean and largest error of a variable, and the share that its estimate covers."""
    try:
        exact = marginals(problem.potentials, method="exact", memory=EXACT_BYTES)
    except TreewidthError:
        exact = None
    for method, options in (("corrected", {}), ("loopy", {}), ("loopy", {"damping": 0.5}), ("gibbs", {})):
        before = process_time()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            answer = marginals(problem.potentials, method=method, **options)
        row = {"problem": problem.name, "engine": method, **options, "seconds": process_time() - before}
        estimates = np.array(list(answer.error.values()))
        if exact is not None:
            errors = np.array([np.abs(answer.array(v) - exact.array(v)).max() for v in exact])
            row |= {"mean error": float(errors.mean()), "largest error": float(errors.max())}
            row |= {"coverage": float((errors <= estimates).mean())}
        yield row | {"mean estimate": float(estimates.mean())}
    if exact is not None:
        errors = np.array([np.abs(exact.array(v) - 1 / len(exact.array(v))).max() for v in exact])
        yield {"problem": problem.name, "engine": "uniform", "mean error": float(errors.mean())}
        before = process_time()
        beliefs = find_reweighted_marginals(problem.potentials)
        seconds = process_time() - before
        errors = np.array([np.abs(beliefs[v] - exact.array(v)).max() for v in exact])
        yield {
            "problem": problem.name,
            "engine": "tree-reweighted",
            "seconds": seconds,
            "mean error": float(errors.mean()),
        }


def find_reweighted_marginals(potentials):
    """Return the distributions of the variables of a connected network by tree-reweighted belief propagation."""
    beliefs, arrays = reweight_trees(potentials).edge_beliefs, [np.ones(1)] * potentials.n_variables
    for e, (i, j) in enumerate(potentials.edges.tolist()):
        cells = beliefs[potentials.edge_offsets[e] : potentials.edge_offsets[e + 1]]
        table = cells.reshape(potentials.cardinalities[i], potentials.cardinalities[j])
        arrays[i], arrays[j] = table.sum(axis=1), table.sum(axis=0)
    return arrays


def ask_peers(problem):
    """Yield a row per engine and question: marginals and most probable states given one observation."""
    potentials, evidence = problem.potentials, {0: 0}
    before = process_time()
    exact = marginals(potentials, evidence, method="exact", memory=EXACT_BYTES)
    row = {"problem": problem.name, "question": "marginals", "engine": "pgmx"}
    yield row | {"seconds": process_time() - before}
    for engine, find in (("pyAgrum", find_pyagrum_marginals), ("pgmpy", find_pgmpy_marginals)):
        answer, figure = ask_with_limits(find, potentials, evidence)
        row["engine"] = engine
        if answer is None:
            yield row | {"failure": figure}
        else:
            error = max(float(np.abs(answer[v] - exact.array(v)).max()) for v in exact)
            yield row | {"seconds": figure, "largest error": error}
    before = process_time()
    best = map_assignment(potentials, evidence, method="exact", memory=EXACT_BYTES)
    row = {"problem": problem.name, "question": "map", "engine": "pgmx"}
    yield row | {"seconds": process_time() - before, "score": best.log_value}
    answer, figure = ask_with_limits(find_pgmpy_map, potentials, evidence)
    row["engine"] = "pgmpy"
    if answer is None:
        yield row | {"failure": figure}
    else:
        codes = np.array([{**answer, **evidence}[v] for v in range(potentials.n_variables)])
        yield row | {"seconds": figure, "score": float(potentials.log_score(codes[:, None])[0])}


def ask_map(problem):
    """Yield the score, bound and seconds of the search, and of the best of some annealing runs in equal time."""
    before = process_time()
    answer = map_assignment(problem.potentials, method="search")
    seconds = process_time() - before
    row = {"problem": problem.name, "engine": "search", "seconds": seconds, "score": answer.log_value}
    yield row | {"bound": answer.bound}
    yield {"problem": problem.name, "engine": "annealing", "score": anneal(problem.potentials, seconds)}


def anneal(potentials, seconds, seed=0):
    """Return the best score of restarts of simulated annealing, compiled too, that take so many CPU seconds in all."""
    rng, n = np.random.default_rng(seed), potentials.n_variables
    words, best = np.array([seed], dtype=np.uint64), -np.inf
    scale = float(np.std(potentials.edge_values)) or 1.0
    n_sweeps = 20
    for _ in range(N_RESTARTS):
        before = process_time()
        states = rng.integers(0, potentials.cardinalities, size=(1, n)).astype(np.int32)
        chain = _tempering.Replicas(*copy_tables(potentials), np.arange(n), states, words)
        for beta in np.geomspace(HOT, COLD, n_sweeps) / scale:
            chain.sweep(np.array([beta]))
        state = states[0].copy()
        chain.improve(state, 0)
        best = max(best, float(potentials.log_score(state[:, None])[0]))
        spent = max(process_time() - before, 1e-4)
        n_sweeps = max(20, int(n_sweeps * seconds / N_RESTARTS / spent))
    return best
