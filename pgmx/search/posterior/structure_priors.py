"""Priors of structures that are products over families, and the sums of their weights over all structures."""

from collections.abc import Sequence
from fractions import Fraction
from math import comb, exp, factorial, log

import numpy as np

from pgmx.scores.priors import StructurePrior
from pgmx.scores.set_sizes import log_choices
from pgmx.search.posterior.exact import ExactPosterior
from pgmx.search.posterior.families import FamilyTables, ParentChoices, make_prior_tables

#: Names of priors. Others are objects.
PRIOR_NAMES = ("fair", "uniform")


def compute_log_prior(prior: str | StructurePrior, n: int) -> np.ndarray:
    """Return the log prior of a family of n variables by its number of parents, float64 (n,), up to a constant.

    The cost of parameters under a `ParameterPrior` belongs to the scores of the families. Raises ValueError if the
    prior is not a product over arcs.
    """
    sizes = np.arange(n)
    if isinstance(prior, str):
        return -log_choices(n - 1, sizes) if prior == "fair" else np.zeros(n)
    add, delete, reverse = prior.bonus
    if delete != -add or reverse != 0:
        raise ValueError(
            f"structure_prior={prior!r} changes by {prior.bonus} for an addition, a deletion and a reversal of an "
            "edge, so it is not a product over edges: choose 'fair', 'uniform', EdgePrior(c) or ParameterPrior(cost)"
        )
    return add * sizes


def sum_prior(log_prior: np.ndarray, choices: ParentChoices, max_indegree: int, over: str) -> float:
    """Return the log sum of the prior weights of all structures with these choices of parents.

    Cost: O(n²) fractions if all variables have the same choices, otherwise that of the exact posterior.
    """
    if all(len(free) == choices.n - 1 for free in choices.candidates):
        return _sum_alike([exp(value) for value in log_prior[: max_indegree + 1]], choices.n, over)
    return sum_weights(make_prior_tables(choices, log_prior, max_indegree=max_indegree), over)


def sum_weights(tables: FamilyTables, over: str) -> float:
    """Return the log sum of the weights of all structures."""
    posterior = ExactPosterior(tables, over)
    posterior.solve()
    return posterior.log_total


def _sum_alike(weights: Sequence[float], n: int, over: str) -> float:
    """Return the log sum over all structures of n variables; ``weights[k]`` is the weight of k parents.

    The weight of completing u placed variables depends on u only. Sums have alternating signs, so they are rational.
    """
    rational = [Fraction(weight) for weight in weights]
    choices = [sum((comb(u, k) * weight for k, weight in enumerate(rational) if k <= u), Fraction(0)) for u in range(n)]
    if over == "orders":
        total: Fraction = Fraction(factorial(n))
        for value in choices:
            total *= value
    else:
        completed = [Fraction(0)] * n + [Fraction(1)]
        for u in reversed(range(n)):
            terms = ((-1) ** (t + 1) * comb(n - u, t) * choices[u] ** t * completed[u + t] for t in range(1, n - u + 1))
            completed[u] = sum(terms, Fraction(0))
        total = completed[0]
    return log(total.numerator) - log(total.denominator)
