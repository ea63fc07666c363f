"""Time the same learning job without knowledge and with tiers, candidates, forbidden and required edges.

Run it from the checkout, with pgmx installed:

    python tests/benchmarks/knowledge.py --out knowledge.json

All variants of a problem are measured in one process, in turn, so that a change of the machine's speed meets all of
them: user-CPU seconds of `fit` on the coded table with its planes made, the median over --repeat rounds. Knowledge is
taken from the network that the rows were sampled from: each statement is true.
"""

import argparse
import gc
import json
import resource
import shlex
import statistics
import sys
from itertools import pairwise
from pathlib import Path

import numpy as np
from hill_climb import HERE, machine

import data
from pgmx._ext._counts import SIMD_LEVEL
from pgmx.data.inputs import encode
from pgmx.estimators import ChowLiuForest, HillClimbSearch


def variants(problem):
    """Return {name: knowledge options}."""
    n, names = len(problem.names), problem.names
    edges = [(names[tail], names[head]) for tail, head in problem.true_edges]
    rng = np.random.default_rng(0)
    order = topological_order(n, problem.true_edges)
    quarter = [round(share * n / 4) for share in range(5)]
    tiers = [[names[v] for v in order[first:last]] for first, last in pairwise(quarter)]
    chosen = {edge for tail, head in edges for edge in ((tail, head), (head, tail))}
    while len(chosen) < 10 * n:
        tail, head = rng.choice(n, 2, replace=False)
        chosen.add((names[tail], names[head]))
    # against the true direction, and as many pairs again that have no edge
    forbidden = {(head, tail) for tail, head in edges}
    while len(forbidden) < 2 * len(edges):
        tail, head = rng.choice(n, 2, replace=False)
        if (names[tail], names[head]) not in edges:
            forbidden.add((names[tail], names[head]))
    parents = {names[v] for v in range(n)} - {head for _, head in edges}
    one_parent = {head: (tail, head) for tail, head in edges}
    return {
        "none": {},
        "tiers": {"tiers": tiers},
        "roots": {"root_nodes": sorted(parents)},
        "candidates": {"candidate_edges": sorted(chosen)},
        "forbidden": {"forbidden_edges": sorted(forbidden)},
        "required": {"required_edges": sorted(one_parent.values())[::4]},
    }


def topological_order(n, edges):
    """Return the ids so that each edge leads onwards, the smallest id first among those that may come next."""
    left, order = set(range(n)), []
    while left:
        ready = sorted(left - {head for tail, head in edges if tail in left})
        order += ready
        left -= set(ready)
    return order


def learners(options):
    """Return {method: learner}."""
    return {
        "hill climbing": HillClimbSearch(scoring_method="bic", return_type="dag", show_progress=False, **options),
        "forest": ChowLiuForest(weight="bic", **options),
    }


def seconds_of(learner, table, least=0.05):
    """Return user-CPU seconds of a fit; short ones are repeated until the clock can measure them."""
    n_calls, spent = 0, 0.0
    gc.collect()
    while spent < least:
        start = resource.getrusage(resource.RUSAGE_SELF).ru_utime
        learner.fit(table)
        spent += resource.getrusage(resource.RUSAGE_SELF).ru_utime - start
        n_calls += 1
    return spent / n_calls


def run(problem, repeat):
    """Return {method: {variant: {seconds, edges, score}}}, medians over rounds that take the variants in turn."""
    table = encode(problem.frame())
    _ = table.planes  # built on first access, and all that a table remembers
    jobs = {
        (method, name): learner
        for name, options in variants(problem).items()
        for method, learner in learners(options).items()
    }
    measured = {job: [] for job in jobs}
    for _ in range(repeat + 1):
        for job, learner in jobs.items():
            measured[job].append(seconds_of(learner, table))
    found = {}
    for (method, name), seconds in measured.items():
        learner = jobs[method, name]
        found.setdefault(method, {})[name] = {
            "seconds": statistics.median(seconds[1:]),  # the first round warms up
            "seconds_all": seconds[1:],
            "n_edges": len(learner.edges_),
            "score": learner.score_,
        }
    return found


def markdown(results):
    """Return one table: seconds with each kind of knowledge, and the share of the time without any."""
    names = list(next(iter(next(iter(results["problems"].values())).values())))
    lines = [
        f"pgmx kernels: {results['kernel']}. User-CPU seconds of `fit` on the coded table, {results['rows']:,} rows, "
        f"median of {results['repeat']}; in brackets the share of the time without knowledge.",
        "",
        "| network | method | " + " | ".join(names) + " |",
        "| --- | --- |" + " ---: |" * len(names),
    ]
    for network, methods in results["problems"].items():
        for method, found in methods.items():
            base = found["none"]["seconds"]
            cells = [f"{found[name]['seconds']:.3g} ({found[name]['seconds'] / base:.2f})" for name in names]
            lines.append(f"| {network} | {method} | " + " | ".join(cells) + " |")
    where = results["machine"]
    lines += [
        "",
        f"- Processor: {where['processor']} ({', '.join(where['instruction_sets'])}), {where['cores']} cores, "
        f"{where['system']}, Python {where['python']}, load {where['load_at_start']} at the start.",
        f"- Made by `{results['command']}`.",
    ]
    return "\n".join(lines)


def main(argv=None):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--networks", nargs="+", default=["alarm", "andes", "pigs"], metavar="NAME")
    parser.add_argument("--rows", type=int, default=10_000)
    parser.add_argument("--repeat", type=int, default=5, help="rounds of which the median counts; default 5")
    parser.add_argument("--out", type=Path, default=Path("knowledge.json"))
    parser.add_argument("--report", type=Path, nargs="+", help="only print the tables of these files")
    parser.add_argument("--data", type=Path, default=HERE.parents[1] / "build" / "benchmarks", help="sampled tables")
    args = parser.parse_args(argv)
    if args.report:
        for path in args.report:
            print(markdown(json.loads(path.read_text())))
        return
    results = {
        "command": shlex.join(["python", "tests/benchmarks/knowledge.py", *(sys.argv[1:] if argv is None else argv)]),
        "machine": machine(),
        "kernel": SIMD_LEVEL,
        "rows": args.rows,
        "repeat": args.repeat,
        "problems": {},
    }
    for network in args.networks:
        problem = data.load(data.make(args.data, network, args.rows), 0)
        results["problems"][network] = run(problem, args.repeat)
        args.out.write_text(json.dumps(results, indent=1))
    print(markdown(results))


if __name__ == "__main__":
    main()
