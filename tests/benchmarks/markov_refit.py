"""Held-out selection with and without refitted parameters: the fit to fresh rows, relative to the penalised choice.

``python tests/benchmarks/markov_refit.py --real FOLDER`` prints one table; FOLDER holds ``density_plants.parquet``.
"""

import argparse
import warnings
from pathlib import Path
from time import process_time

import numpy as np
import pandas as pd

from pgmx.datasets import preferential_attachment_network, sample_markov_network
from pgmx.estimators import GroupLassoMarkovNetwork

N_FRESH = 5000


def scale_free_rows():
    """Return rows of a preferential attachment network of 40 variables with 3 states."""
    table = sample_markov_network(
        preferential_attachment_network(40, n_states=3, random_state=1), 20_000, random_state=2
    )
    return pd.DataFrame(np.asarray(table.codes).T, columns=[f"x{v}" for v in range(len(table.columns))])


def measure(rows, n_rows, seed, refit, lam_ratio):
    """Return negative log pseudolikelihood per fresh row, the relaxation and CPU seconds."""
    order = np.random.default_rng(seed).permutation(len(rows))
    states = {name: sorted(rows[name].unique()) for name in rows}
    began = process_time()
    learner = GroupLassoMarkovNetwork(
        selection="held_out",
        refit=refit,
        lam_ratio=lam_ratio,
        state_names=states,
        random_state=seed,
        show_progress=False,
    ).fit(rows.iloc[order[:n_rows]])
    seconds = process_time() - began
    fresh = rows.iloc[order[-N_FRESH:]]
    return -float(np.mean(learner.model_.pseudo_log_likelihood(fresh))), learner.relaxation_, seconds


def main():
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--real", type=Path, required=True)
    parser.add_argument("--seeds", type=int, default=8)
    parser.add_argument("--lam-ratio", type=float, default=0.05)
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")  # that the smallest penalty was chosen
    plants = pd.read_parquet(arguments.real / "density_plants.parquet").drop(columns="split")
    print("| table | rows | refit=False | refit=True, relative: mean | least | most | relaxations 0, .5, 1 | CPU s |")
    print("| --- | ---: | ---: | ---: | ---: | ---: | --- | --- |")
    for name, rows in {"plants": plants, "scale-free": scale_free_rows()}.items():
        for n_rows in (200, 500):
            plain, refitted = (
                [measure(rows, n_rows, seed, refit, arguments.lam_ratio) for seed in range(arguments.seeds)]
                for refit in (False, True)
            )
            ratios = np.array([after[0] / before[0] for before, after in zip(plain, refitted, strict=True)])
            shares = [sum(one[1] == share for one in refitted) for share in (0.0, 0.5, 1.0)]
            print(
                f"| {name} | {n_rows} | {np.mean([one[0] for one in plain]):.3f} | {ratios.mean():.4f} | "
                f"{ratios.min():.4f} | {ratios.max():.4f} | {shares[0]}, {shares[1]}, {shares[2]} | "
                f"{np.mean([one[2] for one in plain]):.1f}, {np.mean([one[2] for one in refitted]):.1f} |"
            )


if __name__ == "__main__":
    main()
