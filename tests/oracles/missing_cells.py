"""Rows with missing values under a small discrete Bayesian network, by enumeration of all states."""

import itertools
import math

import numpy as np


def enumerate_row(cards, families, tables, row):
    """Return all complete rows that agree with the known cells of a row, and their joint probabilities.

    ``row[v] == cards[v]`` means a missing value.
    """
    choices = [range(card) if code == card else [int(code)] for card, code in zip(cards, row, strict=True)]
    filled = list(itertools.product(*choices))
    joint = [
        math.prod(
            float(table[tuple(states[v] for v in family)]) for family, table in zip(families, tables, strict=True)
        )
        for states in filled
    ]
    return filled, joint


def log_likelihoods(cards, families, tables, codes):
    """Return the log-probability of the known cells of each row, minus infinity for an impossible row."""
    totals = [math.fsum(enumerate_row(cards, families, tables, row)[1]) for row in np.asarray(codes).T]
    return np.array([math.log(total) if total > 0 else -math.inf for total in totals])


def expected_counts(cards, families, tables, codes, weights):
    """Return the expected counts of the families, arrays in the shape of their tables."""
    counts = [np.zeros(table.shape) for table in tables]
    for row, weight in zip(np.asarray(codes).T, weights, strict=True):
        filled, joint = enumerate_row(cards, families, tables, row)
        total = math.fsum(joint)
        for states, probability in zip(filled, joint, strict=True):
            for family, count in zip(families, counts, strict=True):
                count[tuple(states[v] for v in family)] += weight * probability / total
    return counts


def marginals(cards, families, tables, row):
    """Return the distribution of each variable given the known cells of a row."""
    filled, joint = enumerate_row(cards, families, tables, row)
    out = [np.zeros(card) for card in cards]
    for states, probability in zip(filled, joint, strict=True):
        for v, state in enumerate(states):
            out[v][state] += probability / math.fsum(joint)
    return out
