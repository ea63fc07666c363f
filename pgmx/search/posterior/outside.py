"""The posterior mass of structures with a parent from outside the candidates, estimated from sampled DAGs.

For DAGs drawn from the posterior over the candidates, the mean of exp(g_u) rho(k + 1) / rho(k) over the DAGs in which u
is not a descendant of v is an unbiased estimate of the odds of u as one further parent of v, with the gain g of u and
the number k of parents of v. Families that were not drawn, but have one parent w less than a frequent family, count
with the odds of u in place of w: otherwise a better substitute of a parent would not be found.
"""

import warnings
from collections.abc import Sequence

import numpy as np

from pgmx.checks import caller_level
from pgmx.scores.gains import GainSource, expect_families
from pgmx.search.posterior.families import EXPECTED, ParentChoices
from pgmx.search.posterior.sampled import SampledDags

#: Largest logarithm of the odds of one parent from outside.
MOST_LOG_ODDS = 50.0

#: Share of the DAGs from which the parents of a family are omitted one by one.
FREQUENT = 0.05

#: Mass outside the candidates of a variable above which a fit warns.
MOST_OUTSIDE = 0.2


class OutsideMass:
    """Estimates of the mass of structures with one parent of a variable from outside its candidates.

    `allowed` are all parents that variables may have. A distinct family costs one row of gains, and is kept.
    """

    def __init__(self, source: GainSource, allowed: ParentChoices, log_prior: np.ndarray, *, max_indegree: int):
        self.source, self.allowed = source, allowed
        self.log_prior, self.max_indegree = log_prior, max_indegree
        self._rows: dict[tuple[int, bytes], np.ndarray] = {}
        self._gains = np.empty((allowed.n, allowed.n))
        self._mask = np.zeros((allowed.n, allowed.n), dtype=np.uint8)
        for v in range(allowed.n):
            self._mask[v, allowed.candidates[v]] = self._mask[v, allowed.required[v]] = 1

    def estimate(self, graphs: SampledDags, choices: ParentChoices) -> np.ndarray:
        """Return first-order probabilities of arcs from outside the candidates, float64 (n, n) ``[child, parent]``."""
        n, found = choices.n, graphs.families
        families = list(zip(found.children, found.parents, strict=True))
        counts = np.bincount(found.family_of.ravel(), np.repeat(graphs.multiplicities, n), minlength=len(families))
        shares = (counts[:, None] - graphs.count_descendants()) / graphs.n_samples
        frequent = [number for number in range(len(families)) if counts[number] >= FREQUENT * graphs.n_samples]
        smaller = self._list_smaller(families, frequent, counts)
        self.source.restrict(self._mask)  # tables restrict it to their candidates
        self._request([*families, *((child, parents) for child, parents, _, _ in smaller)])
        odds = np.zeros((n, n))
        for number, (child, parents) in enumerate(families):
            if len(parents) < self.max_indegree:
                odds[child] += shares[number] * np.exp(np.minimum(self._find_changes(child, parents), MOST_LOG_ODDS))
        for child, parents, other, number in smaller:
            changes = self._find_changes(child, parents)
            odds[child] += shares[number] * np.exp(np.minimum(changes - changes[other], MOST_LOG_ODDS))
        for v in range(n):
            odds[v, choices.candidates[v]] = odds[v, choices.required[v]] = 0.0
        return odds / (1.0 + odds.sum(axis=1, keepdims=True))

    def _list_smaller(
        self, families: list[tuple[int, np.ndarray]], frequent: list[int], counts: np.ndarray
    ) -> list[tuple[int, np.ndarray, int, int]]:
        """Return child, parents, the omitted parent and the number of the larger family, for families not drawn."""
        drawn = {(child, parents.tobytes()) for child, parents in families}
        smaller: dict[tuple[int, bytes], tuple[int, np.ndarray, int, int]] = {}
        for number in sorted(frequent, key=lambda number: -counts[number]):
            child, parents = families[number]
            for other in np.setdiff1d(parents, self.allowed.required[child]).tolist():
                rest = parents[parents != other]
                key = (child, rest.tobytes())
                if key not in drawn:
                    smaller.setdefault(key, (child, rest, other, number))
        return list(smaller.values())

    def _request(self, families: list[tuple[int, np.ndarray]]) -> None:
        """Request the counts of new families in messages, if workers count."""
        new = [(v, parents) for v, parents in families if (v, parents.tobytes()) not in self._rows]
        for first in range(0, len(new), EXPECTED):
            expect_families(self.source, new[first:], n_needed=min(EXPECTED, len(new) - first))

    def _find_changes(self, child: int, parents: np.ndarray) -> np.ndarray:
        """Return the change of the log weight by each allowed variable as one further parent, (n,); -inf for others."""
        key, k = (child, parents.tobytes()), len(parents)
        if key not in self._rows:
            changes = np.full(self.allowed.n, -np.inf)
            free = np.setdiff1d(self.allowed.candidates[child], parents)
            self.source.rescore(child, parents, self._gains)
            changes[free] = self._gains[child, free]
            self._rows[key] = changes + (self.log_prior[k + 1] - self.log_prior[k] if len(free) else 0.0)
        return self._rows[key]


def add_outside(arcs: np.ndarray, outside: np.ndarray) -> np.ndarray:
    """Return arc probabilities ``[tail, head]`` with those from outside, ``[child, parent]``, at most 1 per pair."""
    added = np.where(outside.T > 0, outside.T, 0.0)
    added = np.minimum(added, np.maximum(1.0 - arcs.T, 0.0))
    pairs = added + added.T
    return arcs + added / np.maximum(pairs, 1.0)


def warn_of_outside(outside: np.ndarray, names: Sequence, n_candidates: Sequence[int]) -> None:
    """Warn of the variable with the largest mass outside its candidates."""
    mass = outside.sum(axis=1)
    child = int(np.argmax(mass))
    warnings.warn(
        f"{names[child]!r} has parents from outside its {n_candidates[child]} candidates with probability "
        f"{mass[child]:.2f} (the most probable one is {names[int(np.argmax(outside[child]))]!r}): "
        "these probabilities are of first order. Give a larger n_candidates",
        UserWarning,
        stacklevel=caller_level(),
    )
