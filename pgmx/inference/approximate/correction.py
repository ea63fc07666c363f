"""Beliefs of belief propagation, averaged with estimates from tempered Gibbs sampling."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from pgmx.checks import check_natural, check_seed
from pgmx.inference.approximate.tempering import COPIES, Replicas, choose_sampling_betas
from pgmx.inference.networks.evidence import Network

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
LEAST_BIAS = 0.25
#: Standard errors per error estimate: more than 2, since dependent batches make the standard errors rough.
WIDTH = 2.5


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
    is_free = variances > 1e-9
    r_hats = np.sqrt(1.0 + halves.var(axis=0, ddof=1)[is_free] / variances[is_free])
    r_hat = float(r_hats.max(initial=1.0))
    errors = batches.reshape(-1, n_cells).std(axis=0, ddof=1) / np.sqrt(N_GROUPS * N_BATCHES)
    far_apart = halves.std(axis=0, ddof=1) / np.sqrt(len(halves))
    if errors.any():  # dependent batches underestimate the error; the difference of the halves does not
        errors *= max(1.0, float(np.sqrt((far_apart**2).mean() / (errors**2).mean())))
    if r_hat > MOST_R_HAT:
        errors = np.maximum(errors, far_apart)
    sizes = variances[is_free] / np.maximum(errors[is_free], 1e-12) ** 2
    return SampleMeans(means, errors, r_hat, float(sizes.min(initial=np.inf)))


def correct_beliefs(beliefs: np.ndarray, sampling: SampleMeans, offsets: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    r"""Return corrected beliefs, (cells,), and an estimate of the error of each variable, (n,).

    The bias of beliefs has variance :math:`\tau^2`, the excess of their squared distance from the means over the
    squared standard errors :math:`s^2`: the average over variables, or the variable's own excess if that is larger, and
    at least `LEAST_BIAS` times :math:`s^2`. Beliefs and means are weighted by their inverse variances.
    """
    starts = offsets[:-1]
    noise = np.maximum.reduceat(sampling.standard_errors, starts) ** 2
    distance = np.maximum.reduceat(np.abs(beliefs - sampling.means), starts) ** 2
    is_drawn = noise > 0
    shared = max(0.0, float(np.mean((distance - noise)[is_drawn]))) if is_drawn.any() else 0.0
    bias = np.maximum(np.maximum(shared, distance - noise), LEAST_BIAS * noise)
    total = np.maximum(noise + bias, 1e-300)
    weight = np.repeat(noise / total, np.diff(offsets))
    return weight * beliefs + (1.0 - weight) * sampling.means, WIDTH * np.sqrt(noise * bias / total)
