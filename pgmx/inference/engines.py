"""Which engine answers a question about a network: a junction tree, or belief propagation where that is too large."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence

import numpy as np

from pgmx.checks import caller_level, check_natural, join_names
from pgmx.inference.approximate.gibbs import gibbs_sample
from pgmx.inference.approximate.loopy import BeliefResult, loopy_belief_propagation
from pgmx.inference.exact.elimination import TreewidthError
from pgmx.inference.exact.exact import ExactInference
from pgmx.inference.problem import Problem

__all__ = [
    "AUTO_MEMORY",
    "BELIEF_OPTIONS",
    "EXACT_MEMORY",
    "GIBBS_OPTIONS",
    "believed",
    "check_options",
    "drawn",
    "most_bytes",
    "solved",
    "warn_unconverged",
]

#: Most bytes of a junction tree that ``method="auto"`` builds.
AUTO_MEMORY = 2**28
#: Most bytes that ``method="exact"`` takes unless told otherwise.
EXACT_MEMORY = 2**31
#: Options that belief propagation and Gibbs sampling take.
BELIEF_OPTIONS = ("damping", "max_iter", "max_time", "messages", "tol")
GIBBS_OPTIONS = ("burn_in", "n_chains", "n_jobs", "start", "thinning")
#: Samples from which ``method="gibbs"`` estimates probabilities unless told otherwise.
GIBBS_SAMPLES = 10_000


def check_options(options: Mapping, known: Sequence[str], method: str) -> None:
    """Refuse an option that no engine would read."""
    unknown = [name for name in options if name not in known]
    if unknown:
        told = f"takes {join_names(known)}" if known else "takes none"
        raise TypeError(f"unknown option(s) {join_names(unknown)}: method={method!r} {told}")


def most_bytes(method: str, memory: int | None) -> int:
    """Return the memory that a junction tree may take: as told, or the default of the method."""
    if memory is not None:
        return memory
    return AUTO_MEMORY if method == "auto" else EXACT_MEMORY


def solved(
    problem: Problem, codes: dict[int, int], method: str, memory: int | None, options: dict
) -> ExactInference | BeliefResult:
    """Return the calibrated tree, or the beliefs where that is asked for or the tree is too large for "auto"."""
    if method != "loopy":
        try:
            return problem.exact(codes, most_bytes(method, memory))
        except TreewidthError as error:
            if method == "exact":
                raise error.offering("loopy belief propagation (method='loopy')") from None
    found = loopy_belief_propagation(problem.pairwise(), evidence=codes, **options)
    warn_unconverged(found)
    return found


def drawn(problem: Problem, codes: dict[int, int], n_samples: int = GIBBS_SAMPLES, **options) -> np.ndarray:
    """Return samples to estimate probabilities from, one row a variable."""
    return gibbs_sample(problem.model, check_natural(n_samples, "n_samples", 1), evidence=codes, **options)


def warn_unconverged(found: BeliefResult) -> None:
    """Warn the caller of pgmx when belief propagation did not converge."""
    if not found.converged:
        warnings.warn(
            f"loopy belief propagation did not converge: its messages still change by {found.residual:.2g} after "
            f"{found.n_iter} sweeps; give more (max_iter), damping=0.5, or use Gibbs sampling",
            RuntimeWarning,
            stacklevel=caller_level(),
        )


def believed(problem: Problem, ids: Sequence[int], found: BeliefResult) -> np.ndarray:
    """Return the belief of one variable or of the two ends of an edge."""
    potentials = problem.pairwise()
    if len(ids) == 1:
        return found.node_beliefs[potentials.node_offsets[ids[0]] : potentials.node_offsets[ids[0] + 1]]
    if len(ids) == 2:
        at = np.flatnonzero((potentials.edges == sorted(ids)).all(axis=1))
        if len(at):
            begin, end = potentials.edge_offsets[at[0] : at[0] + 2]
            table = found.edge_beliefs[begin:end].reshape(potentials.table(int(at[0])).shape)
            return table if ids[0] < ids[1] else table.T
    raise ValueError(
        f"belief propagation has no joint distribution of {[problem.names[v] for v in ids]!r}, which share no edge: "
        "use method='gibbs', or method='exact' with enough memory"
    )
