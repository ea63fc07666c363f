"""Weighted means of penalised parameters and parameters refitted without the penalty."""

from collections.abc import Iterator

import numpy as np

from pgmx.inference import PairwisePotentials

#: Weights of the refitted parameters that a selection compares.
RELAXATIONS = (0.0, 0.5, 1.0)


def blend(penalised: PairwisePotentials, refitted: PairwisePotentials, share: float) -> PairwisePotentials:
    """Return (1 - share) times the first parameters plus share times the second, over the edges of both."""
    if share in (0.0, 1.0):
        return refitted if share else penalised
    nodes = (1 - share) * penalised.node_values + share * refitted.node_values
    offsets = np.concatenate([[0], np.cumsum(penalised.cardinalities)])
    tables = [*_scale_tables(penalised, 1 - share), *_scale_tables(refitted, share)]
    return PairwisePotentials.build(penalised.cardinalities, np.split(nodes, offsets[1:-1]), tables)


def _scale_tables(potentials: PairwisePotentials, share: float) -> Iterator[tuple[tuple[int, int], np.ndarray]]:
    for (i, j), table in zip(potentials.edges.tolist(), potentials.tables(), strict=True):
        yield (i, j), share * table


def measure_blends(
    penalised: PairwisePotentials, refitted: PairwisePotentials, codes: np.ndarray, weights: np.ndarray | None
) -> list[float]:
    """Return the negative log-pseudolikelihood per row of codes (n, rows) for each weight in `RELAXATIONS`."""
    return [measure_loss(blend(penalised, refitted, share), codes, weights) for share in RELAXATIONS]


def measure_loss(potentials: PairwisePotentials, codes: np.ndarray, weights: np.ndarray | None) -> float:
    """Return the negative log-pseudolikelihood per row of codes (n, rows)."""
    return float(-np.average(potentials.pseudo_log_likelihood(codes), weights=weights))
