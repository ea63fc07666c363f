"""The search for a most probable configuration: a dual bound from above, tempering and local search from below."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from pgmx.checks import check_natural, check_seed
from pgmx.inference.approximate.dual_bound import DualBound
from pgmx.inference.approximate.tempering import COPIES, Replicas, choose_search_betas
from pgmx.inference.networks.evidence import ZeroProbabilityError
from pgmx.inference.networks.factors import LogFactors

if TYPE_CHECKING:
    from pgmx.inference.problem import Problem

#: Default number of message passes and of replica sweeps.
N_PASSES = 500
N_SWEEPS = 20_000
#: Relative distance between bound and score under which they count as equal.
ROUNDING = 1e-9
#: Relative decrease of the bound under which passes end.
SETTLED = 1e-7


class BestConfiguration(NamedTuple):
    """Codes of all variables, (n,), their score, and a bound on the score of every configuration."""

    codes: np.ndarray
    log_value: float
    bound: float


def search_configuration(
    problem: Problem,
    evidence: Mapping[int, int],
    n_sweeps: int = N_SWEEPS,
    n_passes: int = N_PASSES,
    random_state: int | None = 0,
) -> BestConfiguration:
    """Search for a configuration of high probability given evidence as codes, with an upper bound on the best score.

    `n_sweeps` is the total number of sweeps of all replicas, `n_passes` the number of message passes.
    """
    n_sweeps, n_passes = check_natural(n_sweeps, "n_sweeps", 0), check_natural(n_passes, "n_passes", 1)
    seed = np.random.SeedSequence(check_seed(random_state, "random_state"))
    network, n = problem.model, len(problem.names)
    dual = DualBound(problem.pairwise, evidence)
    dual.tighten(n_passes, SETTLED)
    bound = dual.bound
    if isinstance(network, LogFactors):  # the pairwise network leaves out constants
        bound += sum(float(table) for scope, table in zip(network.scopes, network.tables, strict=True) if not scope)
    best = dual.codes[:n]
    replicas = Replicas(network, evidence, seed, choose_search_betas)
    n_replicas = len(replicas.states)
    value = -np.inf
    for at in range(max(1, n_sweeps // n_replicas)):
        if at and n_sweeps:
            replicas.advance()
        if replicas.chains.improve(best, at % (2 * COPIES)) > 0.0 or not at:
            value = float(network.log_score(best[:, None])[0])
            if bound - value <= ROUNDING * max(1.0, abs(bound)):
                break
    if value == -np.inf:
        raise ZeroProbabilityError(
            evidence,
            template=f"no configuration of positive probability{{given}} was found in {n_sweeps} sweeps: check the "
            "evidence, raise n_sweeps, or use method='exact' with enough memory",
        )
    return BestConfiguration(best.astype(np.int64), value, max(bound, value))
