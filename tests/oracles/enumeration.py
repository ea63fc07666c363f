"""Discrete Markov networks by enumeration of every configuration: a few variables, no cleverness.

A network is `cards`, the numbers of states, and `factors`, a list of (scope, table of log-values) where a table is
anything that can be indexed by one state after the other. `evidence` maps variables to states.
"""

import itertools
import math


def configurations(cards, evidence=None):
    """Yield every configuration that agrees with the evidence."""
    choices = [[evidence[v]] if v in (evidence or {}) else range(size) for v, size in enumerate(cards)]
    yield from itertools.product(*choices)


def log_score(factors, states):
    """Return the unnormalised log-probability of one configuration."""
    total = 0.0
    for scope, table in factors:
        for v in scope:
            table = table[states[v]]
        total += float(table)
    return total


def log_partition(cards, factors, evidence=None):
    """Return the logarithm of the sum over all configurations that agree with the evidence."""
    scores = [log_score(factors, states) for states in configurations(cards, evidence)]
    top = max(scores)
    if top == -math.inf:
        return top
    return top + math.log(math.fsum(math.exp(score - top) for score in scores))


def joint(cards, factors, variables, evidence=None):
    """Return {states of `variables`: probability given the evidence}, every combination of states listed."""
    total = log_partition(cards, factors, evidence)
    found = {states: [] for states in itertools.product(*(range(cards[v]) for v in variables))}
    for states in configurations(cards, evidence):
        found[tuple(states[v] for v in variables)].append(math.exp(log_score(factors, states) - total))
    return {states: math.fsum(terms) for states, terms in found.items()}


def marginals(cards, factors, evidence=None):
    """Return for each variable the list of its states' probabilities."""
    return [list(joint(cards, factors, (v,), evidence).values()) for v in range(len(cards))]


def pair_marginal(cards, factors, i, j, evidence=None):
    """Return the joint distribution of two variables as a list of rows, one a state of i."""
    table = joint(cards, factors, (i, j), evidence)
    return [[table[a, b] for b in range(cards[j])] for a in range(cards[i])]


def most_probable(cards, factors, evidence=None):
    """Return the largest unnormalised log-probability and all configurations within rounding of it."""
    scored = [(log_score(factors, states), states) for states in configurations(cards, evidence)]
    best = max(score for score, _ in scored)
    return best, [states for score, states in scored if math.isclose(score, best, rel_tol=1e-12, abs_tol=1e-12)]


def log_conditionals(cards, factors, states, i):
    """Return log p(x_i = a | all others as in `states`) for each a; None where the others are impossible."""
    scores = [log_score(factors, [*states[:i], a, *states[i + 1 :]]) for a in range(cards[i])]
    top = max(scores)
    if top == -math.inf:
        return None
    total = top + math.log(math.fsum(math.exp(score - top) for score in scores))
    return [score - total for score in scores]


def pseudo_log_likelihood(cards, factors, states):
    """Return the sum over variables of log p(x_i | all others); minus infinity for an impossible row."""
    found = (log_conditionals(cards, factors, list(states), i) for i in range(len(cards)))
    return math.fsum(-math.inf if logs is None else logs[states[i]] for i, logs in enumerate(found))
