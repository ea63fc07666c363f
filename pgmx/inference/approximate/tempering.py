"""Replicas of a network at several temperatures, which a compiled kernel sweeps, exchanges and mixes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from pgmx._ext import _tempering
from pgmx.inference.approximate.gibbs import Conditionals, copy_tables
from pgmx.inference.networks.evidence import Network

#: Replicas at each temperature: two, which swap clusters.
COPIES = 2
#: Temperatures of a search.
N_TEMPERATURES = 24
#: Standard deviations of a variable's score over its states, times the inverse temperature: hottest and coldest.
HOTTEST, COLDEST = 0.6, 8.0


class Replicas:
    """Configurations of a network, `COPIES` per inverse temperature, the coldest first.

    `states`, int32 (replicas, n), holds them; observed variables keep their codes. Cells of minus infinity are replaced
    by a score so low that no other cells around a variable make up for it. `betas=None` takes those of a search.
    """

    def __init__(
        self,
        network: Network,
        evidence: Mapping[int, int],
        seed: np.random.SeedSequence,
        betas: Sequence[float] | np.ndarray | None = None,
    ) -> None:
        cards = np.asarray(network.cardinalities)
        tables = copy_tables(network)
        free = np.array([v for v in range(len(cards)) if v not in evidence and cards[v] > 1], dtype=np.int64)
        n_replicas = COPIES * (N_TEMPERATURES if betas is None else len(betas))
        draws = np.random.default_rng(seed).integers(0, cards, size=(n_replicas, len(cards)))
        self.states = np.ascontiguousarray(draws, dtype=np.int32)
        for v, code in evidence.items():
            self.states[:, v] = code
        if betas is None:
            betas = _choose_betas(_tempering.Replicas(*_make_finite(tables, 0), free, self.states, _read_word(seed)))
        self.betas = np.repeat(np.asarray(betas, dtype=np.float64), COPIES)
        self.chains = _tempering.Replicas(*_make_finite(tables, 1), free, self.states, _read_word(seed))

    def advance(self) -> None:
        """Sweep all replicas once, exchange temperatures, swap clusters."""
        self.chains.sweep(self.betas, 1)
        self.chains.exchange(self.betas, COPIES)
        self.chains.swap_clusters()


def _read_word(seed: np.random.SeedSequence) -> np.ndarray:
    return seed.generate_state(1, np.uint64)


def _choose_betas(chains: _tempering.Replicas) -> np.ndarray:
    """Return the inverse temperatures of a search, from states that are nearly uniform to states that are settled."""
    spreads = chains.measure_spreads()
    spreads = spreads[spreads > 0]
    if not len(spreads):
        return np.ones(N_TEMPERATURES)
    weak, strong = np.quantile(spreads, [0.25, 0.75])
    return np.geomspace(COLDEST / weak, HOTTEST / strong, N_TEMPERATURES)


def _make_finite(tables: Conditionals, penalty: int) -> Conditionals:
    """Return tables without minus infinities: so low that no others make up for it, or, without penalty, the lowest."""
    logs = (tables.node_logs, tables.logs)
    finite = np.concatenate([values[values > -np.inf] for values in logs])
    if len(finite) == sum(map(len, logs)):
        return tables
    low, high = (float(finite.min()), float(finite.max())) if len(finite) else (0.0, 0.0)
    floor = low - penalty * (1.0 + (high - low) * (1 + int(np.diff(tables.pointer).max(initial=0))))
    return tables._replace(node_logs=np.maximum(logs[0], floor), logs=np.maximum(logs[1], floor))
