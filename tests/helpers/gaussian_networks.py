"""Small named Gaussian networks, and dense matrices to hold them against."""

import numpy as np
from hypothesis import strategies as st

from pgmx.models import GaussianMarkovNetwork

# Names of every type that users have, in no order.
NAMES = ["wet", 0, "b a", (1, 2), "a", 7, True, 2.5]


def dense_precision(n, share, seed, spread=0.0):
    """Return a positive definite matrix with about a share of its pairs zero; units spread over decades."""
    rng = np.random.default_rng(seed)
    matrix = np.triu(rng.normal(size=(n, n)) * (rng.random((n, n)) < share), 1)
    matrix += matrix.T
    matrix += np.eye(n) * (0.3 - np.linalg.eigvalsh(matrix)[0])
    units = 10.0 ** rng.uniform(-spread, spread, n)
    return matrix * np.outer(units, units)


def named(n=6, share=0.5, seed=0, spread=0.0, **options):
    """Return a network with a mean, of at most eight variables."""
    mean = np.random.default_rng(seed + 1).normal(size=n)
    return GaussianMarkovNetwork.from_precision(
        NAMES[:n], dense_precision(n, share, seed, spread), **{"mean": mean, **options}
    )


@st.composite
def networks(draw, largest=6):
    n = draw(st.integers(1, largest))
    return named(n, draw(st.sampled_from([0.0, 0.3, 0.7, 1.0])), draw(st.integers(0, 10_000)))


def conditional(network, known):
    """Return (matrix, offset) of the means of the others given `known` positions, and their covariance."""
    mean, covariance = network.to_joint_gaussian()
    others = [v for v in range(len(mean)) if v not in known]
    slopes = covariance[np.ix_(others, known)] @ np.linalg.inv(covariance[np.ix_(known, known)])
    left = covariance[np.ix_(others, others)] - slopes @ covariance[np.ix_(known, others)]
    return slopes, mean[others] - slopes @ mean[list(known)], left
