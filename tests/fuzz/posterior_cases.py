"""Cases of StructurePosterior: exact sums against an enumeration, chains within the error of their length."""

import warnings
from math import comb, log
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.exceptions import ConvergenceWarning

from pgmx.estimators import StructurePosterior
from pgmx.scores import BDeu
from tests.fuzz.calls import Arguments
from tests.fuzz.cases import Case, entry, fault, pick
from tests.fuzz.frames import draw_codes
from tests.oracles.posterior import EnumeratedPosterior

WRONG: dict[str, list] = {
    "method": ["sum", 3],
    "over": ["graphs", None],
    "structure_prior": ["flat", 2],
    "n_candidates": [-1, 1.5],
    "max_indegree": [-1, "x"],
    "n_chains": [0, "x"],
    "r_hat": [0.5, np.nan],
    "n_dags": [0, -1],
}


@entry("estimators.StructurePosterior", 1.0)
def draw_posterior(rng: np.random.Generator) -> Case:
    """Return a case of a posterior over structures of up to four discrete variables."""
    n, n_rows = int(rng.integers(1, 5)), int(pick(rng, [2, 20, 300]))
    names = [f"x{v}" for v in range(n)]
    frame = pd.DataFrame(draw_codes(rng, n, n_rows).T.astype(int), columns=names)
    method, over, prior = (
        pick(rng, ["auto", "exact", "mcmc"]),
        pick(rng, ["dags", "orders"]),
        pick(rng, ["fair", "uniform"]),
    )
    options: Arguments = {"method": method, "over": over, "structure_prior": prior, "show_progress": False}
    if method == "mcmc":
        options["n_steps"] = 65_536
    faults = []
    if rng.random() < 0.3:
        option = pick(rng, list(WRONG))
        options[option] = pick(rng, WRONG[option])
        faults = [fault(option)]

    def call(folder: Path) -> Any:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            return StructurePosterior(**options).fit(frame)

    def check(result: Any) -> None:
        local = BDeu(frame).local_score
        size = n - 1
        oracle = EnumeratedPosterior(
            n,
            lambda v, parents: (
                local(names[v], tuple(names[u] for u in parents))
                - (log(comb(size, len(parents))) if prior == "fair" else 0)
            ),
            over=over,
        )
        error = np.abs(result.arc_probability_.to_numpy() - oracle.arcs).max(initial=0)
        assert error < (0.1 if method == "mcmc" else 1e-9), error

    return Case("", call, check, faults, plan=f"{options} {n_rows} rows of {n}")
