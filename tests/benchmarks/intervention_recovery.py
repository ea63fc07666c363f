"""Recovery of bundled networks from rows in which variables were set, and from the same rows taken as observations.

Rows of an experiment come from the network in which the target is uniform and has no parents. Experiments have equal
numbers of rows: one for each variable, or one for each of as many random pairs. The distance (SHD) is that of the
learned PDAG from the true DAG, so that an edge without a direction counts 1.
"""

import argparse
import json
import statistics
import time
from pathlib import Path

import numpy as np
import pandas as pd
from pgmpy.factors.discrete import TabularCPD

from pgmx.datasets import load_network
from pgmx.estimators import GreedyEquivalenceSearch, HillClimbSearch
from pgmx.metrics import shd

SHARES = (0.0, 0.1, 0.25, 0.5, 0.75, 1.0)


def draw_rows(model, n_rows, share, size, seed):
    """Return rows, and which variables were set in them."""
    rng, names = np.random.default_rng(seed), list(model.nodes())
    if size == 1:
        targets = [[name] for name in names]
    else:
        targets = [[names[v] for v in rng.choice(len(names), 2, replace=False)] for _ in names]
    n_set = int(share * n_rows)
    counts = [n_rows - n_set, *(n_set // len(targets) + (k < n_set % len(targets)) for k in range(len(targets)))]
    frames, was_set = [], []
    for number, (target, count) in enumerate(zip([[], *targets], counts, strict=True)):
        if not count:
            continue
        uniform = []
        for name in target:
            states = model.get_cpds(name).state_names[name]
            values = [[1 / len(states)]] * len(states)
            uniform.append(TabularCPD(name, len(states), values, state_names={name: states}))
        options = {"virtual_intervention": uniform} if uniform else {}
        frames.append(model.simulate(count, seed=1000 * seed + number, show_progress=False, **options)[names])
        was_set.append(pd.DataFrame({name: [name in target] * count for name in names}))
    states = {name: pd.CategoricalDtype(model.get_cpds(name).state_names[name]) for name in names}
    return pd.concat(frames, ignore_index=True).astype(states), pd.concat(was_set, ignore_index=True)


def measure(learner, data, **known):
    """Return the fitted learner, and the best CPU seconds of three runs."""
    best = np.inf
    for _ in range(3):
        start = time.process_time()
        learner.fit(data, **known)
        best = min(best, time.process_time() - start)
    return learner, best


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--networks", nargs="+", default=["asia", "sachs", "alarm"])
    parser.add_argument("--rows", nargs="+", type=int, default=[100, 1000, 10000])
    parser.add_argument("--problems", type=int, default=10)
    parser.add_argument("--out", type=Path, help="add the curves to this file of records")
    parser.add_argument("--method", choices=["hill-climb", "ges"], default="hill-climb")
    arguments = parser.parse_args()
    curves = []
    make = {"hill-climb": HillClimbSearch, "ges": GreedyEquivalenceSearch}[arguments.method]
    print(
        "| network | targets | rows | taken as | " + " | ".join(f"{share:.0%}" for share in SHARES) + " | time ratio |"
    )
    for name in arguments.networks:
        model = load_network(name)
        for size in (1, 2):
            for n_rows in arguments.rows:
                known, plain, ratios = [], [], []
                for share in SHARES:
                    distances = []
                    for seed in range(arguments.problems):
                        data, was_set = draw_rows(model, n_rows, share, size, seed)
                        learner = make(scoring_method="bdeu", show_progress=False)
                        without, seconds = measure(learner, data)
                        apart = shd(model, without.graph_)
                        found, longer = measure(learner, data, interventions=was_set)
                        distances.append((shd(model, found.graph_), apart))
                        if share == 0.5:
                            ratios.append(longer / seconds)
                    known.append(statistics.mean(own for own, _ in distances))
                    plain.append(statistics.mean(other for _, other in distances))
                target = "single" if size == 1 else "double"
                start = f"| {name} | {target} | {n_rows:,} | "
                print(start + "interventions | " + " | ".join(f"{value:.1f}" for value in known), end=" | ")
                print(f"{statistics.median(ratios):.2f} |")
                for taken_as, means in (("interventions", known), ("observations", plain)):
                    curves.append(
                        {"network": name, "targets": target, "n_rows": n_rows, "taken_as": taken_as, "shd": means}
                    )
                print(start + "observations | " + " | ".join(f"{value:.1f}" for value in plain) + " | |", flush=True)
    if arguments.out is not None:
        keys = ("network", "targets", "n_rows", "taken_as")
        stored = json.loads(arguments.out.read_text())["curves"] if arguments.out.exists() else []
        measured = {tuple(curve[key] for key in keys) for curve in curves}
        kept = [curve for curve in stored if tuple(curve[key] for key in keys) not in measured]
        arguments.out.write_text(json.dumps({"shares": SHARES, "curves": kept + curves}, indent=1) + "\n")


if __name__ == "__main__":
    main()
