"""Replicas of a network at several temperatures, which a compiled kernel sweeps, exchanges and mixes."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from pgmx._ext import _tempering
from pgmx.inference.approximate.gibbs import Conditionals, copy_tables
from pgmx.inference.networks.evidence import Network

#: Replicas at each temperature: two, which swap clusters.
COPIES = 2
#: Temperatures of a search.
N_TEMPERATURES = 24
#: Standard deviation of a variable's score over its states times the inverse temperature: hottest and coldest.
HOTTEST, COLDEST = 0.6, 8.0
#: Ratio of neighbouring temperatures when probabilities are estimated.
RATIO = 1.15
#: Number of uniform configurations in which the scores of states are compared.
N_CONFIGURATIONS = 8


class Replicas:
    """Configurations of a network, `COPIES` per inverse temperature, the coldest first.

    `choose_betas` accepts the spreads of the variables' scores. `states`, int32 (replicas, n), holds the
    configurations; observed variables keep their codes. Minus infinity is replaced by a score so low that the other
    cells around a variable cannot compensate for it.
    """

    def __init__(
        self,
        network: Network,
        evidence: Mapping[int, int],
        seed: np.random.SeedSequence,
        choose_betas: Callable[[np.ndarray], np.ndarray],
    ) -> None:
        cards = np.asarray(network.cardinalities)
        tables = copy_tables(network)
        free = np.array([v for v in range(len(cards)) if v not in evidence and cards[v] > 1], dtype=np.int64)
        rng, word = np.random.default_rng(seed), seed.generate_state(1, np.uint64)

        def draw(n_replicas: int) -> np.ndarray:
            states = rng.integers(0, cards, size=(n_replicas, len(cards))).astype(np.int32)
            for v, code in evidence.items():
                states[:, v] = code
            return states

        sample = _tempering.Replicas(*_make_finite(tables, 0), free, draw(N_CONFIGURATIONS), word)
        self.betas = np.repeat(choose_betas(sample.measure_spreads()), COPIES)
        self.states = draw(len(self.betas))
        self.chains = _tempering.Replicas(*_make_finite(tables, 1), free, self.states, word)

    def advance(self, sums: np.ndarray | None = None, n_sweeps: int = 1) -> None:
        """Sweep all replicas once, exchange temperatures, swap clusters.

        With `sums`, float64 (COPIES, cells), the coldest replicas are swept `n_sweeps` times and their conditionals are
        added to `sums`.
        """
        self.chains.sweep(self.betas, sums, n_sweeps)
        self.chains.exchange(self.betas, COPIES)
        self.chains.swap_clusters()


def choose_search_betas(spreads: np.ndarray) -> np.ndarray:
    """Return inverse temperatures from nearly deterministic to nearly uniform states."""
    spreads = spreads[spreads > 0]
    if not len(spreads):
        return np.ones(N_TEMPERATURES)
    weak, strong = np.quantile(spreads, [0.25, 0.75])
    return np.geomspace(COLDEST / weak, HOTTEST / strong, N_TEMPERATURES)


def choose_sampling_betas(spreads: np.ndarray) -> np.ndarray:
    """Return inverse temperatures from 1, the distribution itself, to nearly uniform states."""
    spreads = spreads[spreads > 0]
    hottest = HOTTEST / float(np.quantile(spreads, 0.75)) if len(spreads) else 1.0
    n_steps = max(0, int(np.ceil(np.log(1.0 / hottest) / np.log(RATIO))))
    return np.geomspace(1.0, min(1.0, hottest), min(n_steps + 1, N_TEMPERATURES))


def _make_finite(tables: Conditionals, penalty: int) -> Conditionals:
    """Return tables with minus infinity replaced by a prohibitively low value, or by the minimum without penalty."""
    logs = (tables.node_logs, tables.logs)
    finite = np.concatenate([values[values > -np.inf] for values in logs])
    if len(finite) == sum(map(len, logs)):
        return tables
    low, high = (float(finite.min()), float(finite.max())) if len(finite) else (0.0, 0.0)
    floor = low - penalty * (1.0 + (high - low) * (1 + int(np.diff(tables.pointer).max(initial=0))))
    return tables._replace(node_logs=np.maximum(logs[0], floor), logs=np.maximum(logs[1], floor))
