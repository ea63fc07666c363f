"""Approximate engines for networks that are too wide for a junction tree: beliefs, samples, and both combined."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import numpy as np

from pgmx.checks import caller_level, check_natural
from pgmx.inference.approximate.gibbs import gibbs_sample
from pgmx.inference.approximate.loopy import BeliefResult, choose_configuration, loopy_belief_propagation
from pgmx.inference.approximate.tempering import ERROR_WIDTH, MOST_R_HAT, correct_beliefs, estimate_by_sampling
from pgmx.inference.exact.junction_tree import MostProbable
from pgmx.inference.problem import Problem

#: Options of belief propagation and Gibbs sampling.
BELIEF_OPTIONS = ("damping", "max_iter", "max_time", "messages", "tol")
CORRECTION_OPTIONS = ("n_sweeps", "random_state")
GIBBS_OPTIONS = ("burn_in", "n_chains", "n_jobs", "start", "thinning")
#: Samples from which ``method="gibbs"`` estimates probabilities by default.
GIBBS_SAMPLES = 10_000
#: Number of batches of consecutive samples. The spread of the batch frequencies gives the standard error.
N_BATCHES = 20


class Engine(Protocol):
    """Marginals and joint distributions given evidence, by index of the variables; `method` is the engine's name.

    `errors`, (n,), estimates the errors of marginals; `r_hat` and `effective_sample_size` diagnose the sampling.
    """

    method: str
    converged: bool
    errors: np.ndarray
    r_hat: float
    effective_sample_size: float

    def marginal(self, i: int) -> np.ndarray:
        """Return the distribution of a variable."""
        ...

    def joint(self, variables: Sequence[int]) -> np.ndarray:
        """Return the joint distribution of distinct variables, one axis per variable in their order."""
        ...


class BeliefEngine:
    """Answers from belief propagation; accepts the options of `loopy_belief_propagation`."""

    method = "loopy"

    def __init__(self, problem: Problem, codes: Mapping[int, int], options: Mapping[str, Any]) -> None:
        self.problem = problem
        self.codes = codes
        self.potentials = problem.pairwise
        self.beliefs = loopy_belief_propagation(self.potentials, evidence=codes, **options)
        self.converged = self.beliefs.converged
        self.errors = np.full(len(problem.names), np.nan)
        self.r_hat = self.effective_sample_size = np.nan
        self.check()

    def check(self) -> None:
        """Warn if the messages did not converge."""
        warn_unconverged(self.beliefs)

    @property
    def log_partition(self) -> float:
        """Bethe's approximation."""
        return self.beliefs.log_partition

    def marginal(self, i: int) -> np.ndarray:
        """Return the belief of a variable."""
        offsets = self.potentials.node_offsets
        return self.beliefs.node_beliefs[offsets[i] : offsets[i + 1]]

    def joint(self, variables: Sequence[int]) -> np.ndarray:
        """Return the belief of one variable or of the two ends of an edge."""
        if len(variables) == 1:
            return self.marginal(variables[0])
        if len(variables) == 2:
            edges = np.flatnonzero((self.potentials.edges == sorted(variables)).all(axis=1))
            if len(edges):
                begin, end = self.potentials.edge_offsets[edges[0] : edges[0] + 2]
                table = self.beliefs.edge_beliefs[begin:end].reshape(self.potentials.table(int(edges[0])).shape)
                return table if variables[0] < variables[1] else table.T
        raise ValueError(
            f"belief propagation has no joint distribution of {[self.problem.names[v] for v in variables]!r}, because "
            "they do not share an edge: use method='gibbs', or method='exact' with enough memory"
        )

    def map(self) -> MostProbable:
        """Return a configuration of high probability, which is a most probable one on trees."""
        codes = choose_configuration(self.potentials, self.codes, self.beliefs.node_beliefs, self.beliefs.edge_beliefs)
        return MostProbable(codes, float(self.potentials.log_score(codes[:, None])[0]))


class CorrectedEngine(BeliefEngine):
    """Beliefs of single variables averaged with Gibbs samples; pairs and the log-partition are not corrected."""

    method = "corrected"

    def __init__(
        self,
        problem: Problem,
        codes: Mapping[int, int],
        n_sweeps: int | None = None,
        random_state: int | None = 0,
        **options: Any,
    ) -> None:
        # First, since the constructor of the base class calls `check`.
        self.sampling = estimate_by_sampling(problem.model, codes, n_sweeps, random_state)
        super().__init__(problem, codes, options)
        # Auxiliary variables of factors of three or more variables come after the network's variables.
        self.offsets = self.potentials.node_offsets[: len(problem.names) + 1]
        beliefs = self.beliefs.node_beliefs[: self.offsets[-1]]
        self.node_beliefs, self.errors = correct_beliefs(beliefs, self.sampling, self.offsets)
        self.r_hat, self.effective_sample_size = self.sampling.r_hat, self.sampling.effective_size
        self.converged = self.r_hat <= MOST_R_HAT

    def check(self) -> None:
        """Warn if independent groups of samples disagree."""
        if self.sampling.r_hat > MOST_R_HAT:
            warnings.warn(
                f"Gibbs sampling did not converge: R-hat is {self.sampling.r_hat:.3g}, more than {MOST_R_HAT}. Its "
                "estimated error is only rough. Increase n_sweeps",
                RuntimeWarning,
                stacklevel=caller_level(),
            )

    def marginal(self, i: int) -> np.ndarray:
        """Return the corrected belief of a variable."""
        return self.node_beliefs[self.offsets[i] : self.offsets[i + 1]]


class SampleEngine:
    """Relative frequencies of Gibbs samples; accepts the options of `gibbs_sample`."""

    method = "gibbs"
    converged = True

    def __init__(
        self, problem: Problem, codes: Mapping[int, int], n_samples: int = GIBBS_SAMPLES, **options: Any
    ) -> None:
        n_samples = check_natural(n_samples, "n_samples", 1)
        self.cards = problem.model.cardinalities.tolist()
        self.rows = gibbs_sample(problem.model, n_samples, evidence=codes, **options)
        self.r_hat = self.effective_sample_size = np.nan
        self.errors = self._estimate_errors()

    def _estimate_errors(self) -> np.ndarray:
        # Successive samples are correlated: the spread of batches accounts for that, the spread of samples does not.
        length = self.rows.shape[1] // N_BATCHES
        if not length:
            return np.full(len(self.rows), np.nan)
        errors = np.zeros(len(self.rows))
        batches = self.rows[:, : N_BATCHES * length].reshape(-1, N_BATCHES, length)
        for state in range(max(self.cards)):
            deviations = (batches == state).mean(axis=2).std(axis=1, ddof=1)
            np.maximum(errors, ERROR_WIDTH * deviations / np.sqrt(N_BATCHES), out=errors)
        return errors

    def marginal(self, i: int) -> np.ndarray:
        """Return the relative frequencies of the states of a variable."""
        return np.bincount(self.rows[i], minlength=self.cards[i]) / self.rows.shape[1]

    def joint(self, variables: Sequence[int]) -> np.ndarray:
        """Return the relative frequencies of the configurations of some variables."""
        shape = tuple(self.cards[v] for v in variables)
        cells = np.ravel_multi_index([self.rows[v].astype(np.intp) for v in variables], shape)
        return np.bincount(cells, minlength=int(np.prod(shape))).reshape(shape) / self.rows.shape[1]


def warn_unconverged(beliefs: BeliefResult) -> None:
    """Warn the caller of pgmx when belief propagation did not converge."""
    if not beliefs.converged:
        warnings.warn(
            f"loopy belief propagation did not converge: its messages still change by {beliefs.residual:.2g} after "
            f"{beliefs.n_iter} sweeps. Increase max_iter, set damping=0.5, or use Gibbs sampling",
            RuntimeWarning,
            stacklevel=caller_level(),
        )
