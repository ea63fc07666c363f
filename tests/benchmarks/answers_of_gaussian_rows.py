"""Rows under linear Gaussian networks: pgmx, its conditional Gaussian network, which answers mixed rows, and pgmpy.

``python tests/benchmarks/answers.py --gaussian`` calls this module. Networks are random, with two parents per variable
on average; rows are drawn from them. Times are CPU seconds from frame to frame, the best of three runs after a first
call; the other tools run once.
"""

import time

import numpy as np
import pandas as pd

#: Variables of the networks, and rows.
SIZES = (20, 100)
N_ROWS = 10_000


def draw_network(n, rng):
    """Return a network of n variables."""
    from pgmpy.factors.continuous import LinearGaussianCPD

    from pgmx.models import LinearGaussianBayesianNetwork

    network = LinearGaussianBayesianNetwork()
    names = [f"v{k}" for k in range(n)]
    network.add_nodes_from(names)
    for k, name in enumerate(names):
        parents = [names[u] for u in sorted(rng.choice(k, min(k, rng.poisson(2)), replace=False))]
        network.add_edges_from((parent, name) for parent in parents)
        beta = rng.normal(size=1 + len(parents))
        network.add_cpds(LinearGaussianCPD(name, beta, float(rng.uniform(0.5, 2.0)), parents))
    return network


def clock(ask, n_runs):
    """Return the answer and the least CPU time of some runs."""
    seconds = []
    for _ in range(n_runs):
        before = time.process_time()
        answer = ask()
        seconds.append(time.process_time() - before)
    return answer, min(seconds)


def measure():
    """Print the table."""
    print("| variables | question | pgmx | ConditionalGaussianNetwork | pgmpy | difference |")
    print("| ---: | --- | ---: | ---: | ---: | ---: |")
    for n in SIZES:
        rng = np.random.default_rng(n)
        network = draw_network(n, rng)
        for question, *asks in list_questions(network, rng):
            compare(n, question, *asks)


def list_questions(network, rng):
    """Return questions with the calls of pgmx, of the conditional network and of pgmpy, None if it has no answer."""
    from pgmx.models import ConditionalGaussianNetwork

    mixed, theirs = ConditionalGaussianNetwork.from_network(network), network.to_pgmpy()
    rows = network.simulate(N_ROWS, seed=1)[list(network.nodes())]
    holes = rows.mask(rng.random(rows.shape) < 0.2)
    absent = rows.drop(columns=list(rows)[:: rows.shape[1] // 5])
    named, evidence = list(rows)[:2], {"v0": 1.0, "v9": 0.0}
    return [
        (
            "predict, 20 % of the values missing",
            lambda: network.predict(holes, method="map"),
            lambda: mixed.predict(holes),
            None,
        ),
        (
            "predict, 5 columns absent",
            lambda: network.predict(absent),
            lambda: mixed.predict(absent),
            lambda: theirs.predict(absent),
        ),
        (
            "predict_proba, 20 % missing",
            lambda: network.predict_proba(holes),
            lambda: mixed.predict_proba(holes),
            None,
        ),
        ("predict_proba of two named columns", lambda: network.predict_proba(holes, named), None, None),
        ("log_evidence, 20 % missing", lambda: network.log_evidence(holes), lambda: mixed.log_evidence(holes), None),
        (
            "log_likelihood",
            lambda: network.log_likelihood(rows, per_row=True),
            lambda: mixed.log_likelihood(rows),
            lambda: theirs.log_likelihood(rows),
        ),
        (
            "simulate given two values",
            lambda: network.simulate(N_ROWS, evidence=evidence, seed=1),
            None,
            lambda: theirs.simulate(N_ROWS, evidence=evidence, seed=1),
        ),
    ]


def compare(n, question, ours, mixed, theirs):
    """Print the line of a question; drawn rows are not compared."""
    ours()
    answer, seconds = clock(ours, 3)
    cells, differences = [f"{seconds:.3f}"], []
    for ask in (mixed, theirs):
        if ask is None:
            cells.append("-")
            continue
        other, seconds = clock(ask, 1)
        cells.append(f"{seconds:.3f}")
        if not question.startswith("simulate"):
            differences.append(measure_difference(answer, other))
    worst = f"{max(differences):.0e}" if differences else "-"
    print(f"| {n} | {question} | {' | '.join(cells)} | {worst} |", flush=True)


def measure_difference(answer, other):
    """Return the largest difference; relative for a sum over rows, which is pgmpy's log-likelihood."""
    if isinstance(answer, pd.DataFrame):
        common = [name for name in answer if name in other]
        return np.abs(answer[common].to_numpy() - other[common].to_numpy()).max()
    return np.abs(answer - other).max() if np.ndim(other) else abs(answer.sum() - other) / abs(other)
