"""The search for a most probable configuration: a dual bound from above, tempering and local search from below."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from pgmx._ext import _trws
from pgmx.checks import check_natural, check_seed
from pgmx.inference.approximate.tempering import COPIES, Replicas, choose_search_betas
from pgmx.inference.networks import LogFactors, PairwisePotentials
from pgmx.inference.reduced_network import ReducedNetwork, ZeroProbabilityError

if TYPE_CHECKING:
    from pgmx.inference.problem import Problem

#: Default number of message passes and of replica sweeps.
N_PASSES = 500
N_SWEEPS = 20_000
#: Relative distance between bound and score under which they count as equal.
ROUNDING = 1e-9
#: Relative decrease of the bound under which passes end.
LEAST_DECREASE = 1e-7
#: Passes between two checks of the bound.
BLOCK = 10


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
    dual.tighten(n_passes, LEAST_DECREASE)
    bound = dual.bound
    if isinstance(network, LogFactors):  # the pairwise network leaves out constants
        bound += sum(float(table) for scope, table in zip(network.scopes, network.tables, strict=True) if not scope)
    # Auxiliary variables come after the network's.
    best = dual.codes[:n]
    replicas = Replicas(network, evidence, seed, choose_search_betas)
    n_replicas = len(replicas.states)
    value = -np.inf
    for at in range(max(1, n_sweeps // n_replicas)):
        if at and n_sweeps:
            replicas.advance()
        # The score is computed from the tables again, since sums of changes collect rounding errors.
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


# ---- the bound: sequential tree-reweighted message passing ----


class DualBound:
    """The dual of the linear relaxation of a pairwise network given evidence, lowered by `tighten`.

    `bound` is an upper bound on the score of every configuration. The messages choose the configuration `codes`,
    int32 (n,).
    """

    def __init__(self, potentials: PairwisePotentials, evidence: Mapping[int, int]) -> None:
        self._evidence = dict(evidence)
        self._constant = 0.0
        if evidence:
            reduced = ReducedNetwork(potentials, evidence)
            self._constant = reduced.constant
            potentials = PairwisePotentials.build(
                reduced.cards,
                _add_node_tables(reduced),
                ((scope, table) for scope, table in reduced.factors if len(scope) == 2),
            )
        pointer, neighbour, edge = potentials.neighbours()
        variable = np.repeat(np.arange(potentials.n_variables), np.diff(pointer))
        ends = np.lexsort((variable, edge)).reshape(-1, 2)
        twin = np.empty(len(edge), dtype=np.int64)
        twin[ends] = ends[:, ::-1]
        message_at = np.append(0, np.cumsum(potentials.cardinalities[variable]))
        nodes, tables = _make_finite(potentials)
        values = (potentials.node_offsets, nodes, potentials.edge_offsets, tables)
        self._arrays = (*values, pointer, neighbour, edge, twin, message_at, np.zeros(message_at[-1]))
        self._codes = np.empty(potentials.n_variables, dtype=np.int32)
        self.bound = np.inf

    @property
    def codes(self) -> np.ndarray:
        """A configuration that agrees with the evidence."""
        codes = self._codes.copy()
        for v, code in self._evidence.items():
            codes[v] = code
        return codes

    def tighten(self, n_passes: int, tol: float) -> None:
        """Make at most `n_passes` passes; stop when `BLOCK` passes lower the bound by a relative change below `tol`."""
        for first in range(0, n_passes, BLOCK):
            before = self.bound
            bound = _trws.pass_messages(*self._arrays, self._codes, min(BLOCK, n_passes - first))
            self.bound = min(before, bound + self._constant)
            if before - self.bound < tol * max(1.0, abs(self.bound)):
                break


def _add_node_tables(reduced: ReducedNetwork) -> list[np.ndarray]:
    nodes = [np.zeros(card) for card in reduced.cards]
    for scope, table in reduced.factors:
        if len(scope) == 1:
            nodes[scope[0]] = nodes[scope[0]] + table
    return nodes


def _make_finite(potentials: PairwisePotentials) -> tuple[np.ndarray, np.ndarray]:
    """Return the values of nodes and edges, minus infinity replaced by a value too low for all others to compensate."""
    values = (potentials.node_values, potentials.edge_values)
    finite = np.concatenate([part[part > -np.inf] for part in values])
    if len(finite) == sum(map(len, values)):
        return values
    low, high = float(finite.min(initial=0.0)), float(finite.max(initial=0.0))
    floor = low - 1.0 - (high - low) * (potentials.n_variables + potentials.n_edges)
    return np.maximum(values[0], floor), np.maximum(values[1], floor)
