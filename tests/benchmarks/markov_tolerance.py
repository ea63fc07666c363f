"""Cost and truth of small tolerances: reported residuals, float64 residuals from the rows, and CPU seconds.

``python tests/benchmarks/markov_tolerance.py --real FOLDER`` prints one table; FOLDER holds ``density_*.parquet``.
"""

import argparse
from pathlib import Path
from time import process_time

import numpy as np
import pandas as pd

from pgmx.estimators import GroupLassoMarkovNetwork

TABLES = {"nltcs": 0.001, "plants": 0.005, "dna": 0.005}
TOLS = (1e-4, 1e-7, 1e-9)


def measure_violation(potentials, codes, lam, l2):
    """Return the largest distance of 0 from the subdifferential over nodes and all pairs, in float64 from the rows."""
    cards = potentials.cardinalities.tolist()
    tables = dict(zip(map(tuple, potentials.edges.tolist()), potentials.tables(), strict=True))
    fields = [np.repeat(potentials.node(v)[:, None], codes.shape[1], axis=1) for v in range(len(cards))]
    for (i, j), table in tables.items():
        fields[i] += table[:, codes[j]]
        fields[j] += table.T[:, codes[i]]
    fields = [np.exp(field - field.max(axis=0)) for field in fields]
    conditionals = [field / field.sum(axis=0) for field in fields]
    seen = [(np.arange(size)[:, None] == codes[v]).astype(float) for v, size in enumerate(cards)]
    worst = 0.0
    for v, (p, x) in enumerate(zip(conditionals, seen, strict=True)):
        worst = max(worst, float(np.linalg.norm(0.5 * (p - x).mean(axis=1) + l2 * potentials.node(v))))
    begins = np.concatenate([[0], np.cumsum(cards)])
    states = np.concatenate(seen)
    means, shares = np.concatenate(conditionals) @ states.T / codes.shape[1], states @ states.T / codes.shape[1]
    for i in range(len(cards)):
        for j in range(i + 1, len(cards)):
            a, b = slice(*begins[i : i + 2]), slice(*begins[j : j + 2])
            gradient, penalty = 0.5 * (means[a, b] + means[b, a].T) - shares[a, b], lam * np.sqrt(cards[i] * cards[j])
            if (i, j) in tables:
                w = tables[i, j]
                worst = max(worst, float(np.linalg.norm(gradient + l2 * w + penalty * w / np.linalg.norm(w))))
            else:
                worst = max(worst, float(np.linalg.norm(gradient)) - penalty)
    return worst


def main():
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--real", type=Path, required=True)
    arguments = parser.parse_args()
    print("| table | rows | lam | edges | tol | reported | true | CPU s | times that of 1e-4 |")
    print("| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |")
    for name, lam in TABLES.items():
        rows = pd.read_parquet(arguments.real / f"density_{name}.parquet")
        rows = rows[rows.split == "train"].drop(columns="split")
        first = None
        for tol in TOLS:
            began = process_time()
            learner = GroupLassoMarkovNetwork(lam=lam, tol=tol, show_progress=False).fit(rows)
            seconds = process_time() - began
            first = first or seconds
            true = measure_violation(learner.model_.potentials, rows.to_numpy().T.astype(int), lam, learner.l2)
            print(
                f"| {name} | {len(rows):,} | {lam} | {len(learner.edges_)} | {tol:.0e} | {learner.kkt_residual_:.2e} | "
                f"{true:.2e} | {seconds:.2f} | {seconds / first:.0f} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
