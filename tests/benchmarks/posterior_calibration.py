"""Calibration of posterior probabilities and of bootstrap strengths on networks drawn from the prior.

    python tests/benchmarks/posterior_calibration.py --variables 7 --networks 120 --strategy thorough

DAGs are drawn from the prior "fair", parameters from the prior of BDeu with 10 equivalent rows, of variables with two
or three states. For each method it prints the Brier score and the log loss of arcs (probabilities cut to [0.0001,
0.9999]), the expected calibration error in ten bins, and the difference of the sums of arcs seen and said, in standard
errors.
"""

import argparse
import json

import numpy as np
import pandas as pd

from pgmx.estimators import BootstrapStructure, HillClimbSearch, StructurePosterior
from pgmx.search.posterior.exact import ExactPosterior
from pgmx.search.posterior.families import ParentChoices, make_prior_tables
from pgmx.search.posterior.structure_priors import compute_log_prior

EQUIVALENT_ROWS, SMALLEST = 10.0, 1e-4


def draw_dags(n, n_dags, max_indegree, seed):
    """Return adjacency matrices ``[tail, head]`` of DAGs from the prior."""
    choices = ParentChoices.from_masks(np.ones((n, n), dtype=np.uint8), np.empty((0, 2), dtype=np.int64))
    posterior = ExactPosterior(
        make_prior_tables(choices, compute_log_prior("fair", n), max_indegree=max_indegree), "dags"
    )
    posterior.solve()
    drawn = posterior.sample(n_dags, seed)
    for graph in drawn.graph_of.tolist():
        adjacency = np.zeros((n, n))
        for tail, head in drawn.list_edges(graph):
            adjacency[tail, head] = 1
        yield adjacency


def draw_rows(adjacency, n_rows, rng):
    """Return a frame of rows of a network with parameters from the prior."""
    n = len(adjacency)
    cards, placed, rows = rng.integers(2, 4, n), [], np.zeros((n_rows, n), dtype=int)
    while len(placed) < n:
        v = next(v for v in range(n) if v not in placed and set(np.flatnonzero(adjacency[:, v])) <= set(placed))
        cell, n_cells = np.zeros(n_rows, dtype=int), 1
        for u in np.flatnonzero(adjacency[:, v]):
            cell, n_cells = cell * cards[u] + rows[:, u], n_cells * cards[u]
        shares = rng.dirichlet(np.full(cards[v], EQUIVALENT_ROWS / (n_cells * cards[v])), size=n_cells)
        rows[:, v] = (rng.random(n_rows)[:, None] > shares.cumsum(axis=1)[cell][:, :-1]).sum(axis=1)
        placed.append(v)
    return pd.DataFrame({f"x{v}": pd.Categorical(rows[:, v], categories=range(cards[v])) for v in range(n)})


def measure(said, seen):
    """Return the figures of probabilities of arcs."""
    cut, bins = said.clip(SMALLEST, 1 - SMALLEST), np.minimum((said * 10).astype(int), 9)
    error = sum(abs((said - seen)[bins == b].sum()) for b in range(10)) / len(said)
    return {
        "brier": round(float(np.mean((said - seen) ** 2)), 4),
        "log_loss": round(float(-np.mean(seen * np.log(cut) + (1 - seen) * np.log(1 - cut))), 4),
        "calibration_error": round(float(error), 4),
        "z": round(float((seen - said).sum() / np.sqrt(max((said * (1 - said)).sum(), 1e-9))), 2),
    }


def compare(options):
    """Print the figures of all methods."""
    rng = np.random.default_rng(options.seed)
    said, seen = {}, []
    away = ~np.eye(options.variables, dtype=bool)
    limits = {"max_indegree": options.max_indegree, "show_progress": False}
    for number, adjacency in enumerate(
        draw_dags(options.variables, options.networks, options.max_indegree, options.seed)
    ):
        frame = draw_rows(adjacency, options.rows, rng)
        seen.append(adjacency[away])
        posterior = StructurePosterior(method="exact", **limits).fit(frame)
        said.setdefault("posterior", []).append(posterior.arc_probability_.to_numpy()[away])
        for score in ("bdeu", "bic"):
            search = HillClimbSearch(scoring_method=score, strategy=options.strategy, **limits)
            found = BootstrapStructure(search, n_resamples=100, random_state=number, show_progress=False).fit(frame)
            direction = np.nan_to_num(found.direction_probability_.to_numpy())
            said.setdefault(f"bootstrap, {score}", []).append((found.edge_probability_.to_numpy() * direction)[away])
    for method, parts in said.items():
        print(json.dumps({"method": method, **measure(np.concatenate(parts), np.concatenate(seen))}), flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--variables", type=int, default=7)
    parser.add_argument("--networks", type=int, default=120)
    parser.add_argument("--rows", type=int, default=200)
    parser.add_argument("--max-indegree", type=int, default=5)
    parser.add_argument("--strategy", default="thorough")
    parser.add_argument("--seed", type=int, default=0)
    compare(parser.parse_args())
