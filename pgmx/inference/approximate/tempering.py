"""Tempered Gibbs sampling: replicas of a network at several temperatures, and marginals estimated by them.

A compiled kernel sweeps the replicas, exchanges their temperatures and swaps clusters of variables between them.
`search` finds probable configurations with them. `correct_beliefs` averages the beliefs of belief propagation with the
estimates, weighted by their errors.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

import numpy as np

from pgmx._ext import _tempering
from pgmx.checks import check_natural, check_seed
from pgmx.inference.approximate.gibbs import Conditionals, copy_tables
from pgmx.inference.reduced_network import Network

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

#: Total draws per variable over all replicas, which determines the number of sweeps, and the fewest sweeps.
N_DRAWS, FEWEST_SWEEPS = 8_000_000, 4000
#: Independent groups of replicas, and batches per group. The batch means give the standard errors.
N_GROUPS = 2
N_BATCHES = 16
#: Burn-in rounds as a share of the counted rounds.
BURN_IN = 0.1
#: Gelman-Rubin statistic above which the groups disagree.
MOST_R_HAT = 1.1
#: Smallest variance of the bias of beliefs relative to the variance of the means: a smaller bias cannot be detected.
LEAST_BIAS_SHARE = 0.25
#: Standard errors per error estimate: more than 2, since dependent batches make the standard errors rough.
ERROR_WIDTH = 2.5


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


# ---- marginals by tempered sampling ----


class SampleMeans(NamedTuple):
    """Estimates by sampling, in the layout of the variables' cells, and their convergence diagnostics.

    `means` and `standard_errors` are (cells,). `r_hat` is the largest of all variables, `effective_size` the smallest.
    """

    means: np.ndarray
    standard_errors: np.ndarray
    r_hat: float
    effective_size: float


def estimate_by_sampling(
    network: Network, evidence: Mapping[int, int], n_sweeps: int | None = None, random_state: int | None = 0
) -> SampleMeans:
    """Estimate the marginals of all variables by the means of their conditionals (Rao and Blackwell) in two groups."""
    if n_sweeps is None:
        n_sweeps = max(FEWEST_SWEEPS, N_DRAWS // len(network.cardinalities))
    n_sweeps = check_natural(n_sweeps, "n_sweeps", 1)
    seed = np.random.SeedSequence(check_seed(random_state, "random_state"))
    n_cells = int(np.sum(network.cardinalities))
    batches = np.zeros((N_GROUPS, N_BATCHES, n_cells))
    for group, entropy in enumerate(seed.spawn(N_GROUPS)):
        replicas = Replicas(network, evidence, entropy, choose_sampling_betas)
        n_hot = len(replicas.states) - COPIES
        n_cold = max(1, n_hot)  # sweeps of each coldest replica per sweep of each other replica
        length = max(1, n_sweeps // (N_GROUPS * N_BATCHES * (n_hot + COPIES * n_cold)))
        sums = np.zeros((COPIES, n_cells))
        for _ in range(int(BURN_IN * N_BATCHES * length)):
            replicas.advance(sums, n_cold)
        for batch in range(N_BATCHES):
            sums[:] = 0.0
            for _ in range(length):
                replicas.advance(sums, n_cold)
            batches[group, batch] = sums.mean(axis=0) / (length * n_cold)
    starts = np.cumsum(network.cardinalities) - network.cardinalities
    for v, card in enumerate(network.cardinalities.tolist()):  # variables of one state are never drawn
        if v in evidence or card == 1:
            batches[:, :, starts[v] + evidence.get(v, 0)] = 1.0
    means = batches.mean(axis=(0, 1))
    halves = batches.reshape(2 * N_GROUPS, -1, n_cells).mean(axis=1)
    variances = means * (1.0 - means)
    # Variables that always have the same state have no variance to compare with.
    is_free = variances > 1e-9
    r_hats = np.sqrt(1.0 + halves.var(axis=0, ddof=1)[is_free] / variances[is_free])
    r_hat = float(r_hats.max(initial=1.0))
    errors = batches.reshape(-1, n_cells).std(axis=0, ddof=1) / np.sqrt(N_GROUPS * N_BATCHES)
    spread_of_halves = halves.std(axis=0, ddof=1) / np.sqrt(len(halves))
    if errors.any():  # dependent batches underestimate the error; the difference of the halves does not
        errors *= max(1.0, float(np.sqrt((spread_of_halves**2).mean() / (errors**2).mean())))
    if r_hat > MOST_R_HAT:
        errors = np.maximum(errors, spread_of_halves)
    sizes = variances[is_free] / np.maximum(errors[is_free], 1e-12) ** 2
    return SampleMeans(means, errors, r_hat, float(sizes.min(initial=np.inf)))


def correct_beliefs(beliefs: np.ndarray, sampling: SampleMeans, offsets: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    r"""Return corrected beliefs, (cells,), and an estimate of the error of each variable, (n,).

    The bias of beliefs has variance :math:`\tau^2`, the excess of their squared distance from the means over the
    squared standard errors :math:`s^2`: the average over variables, or the variable's own excess if that is larger, and
    at least `LEAST_BIAS_SHARE` times :math:`s^2`. Beliefs and means are weighted by their inverse variances.
    """
    starts = offsets[:-1]
    noise = np.maximum.reduceat(sampling.standard_errors, starts) ** 2
    distance = np.maximum.reduceat(np.abs(beliefs - sampling.means), starts) ** 2
    is_drawn = noise > 0
    shared = max(0.0, float(np.mean((distance - noise)[is_drawn]))) if is_drawn.any() else 0.0
    bias = np.maximum(np.maximum(shared, distance - noise), LEAST_BIAS_SHARE * noise)
    # Observed variables have neither noise nor bias.
    total = np.maximum(noise + bias, 1e-300)
    weight = np.repeat(noise / total, np.diff(offsets))
    return weight * beliefs + (1.0 - weight) * sampling.means, ERROR_WIDTH * np.sqrt(noise * bias / total)
