"""Random pools of conditioning variables."""

import numpy as np

from pgmx.statistics.independence.source import SetPools


def draw_pools(adjacent, rng):
    """Return pools that contain the neighbours, and tested variables of which some are neighbours."""
    n = len(adjacent)
    others = ~np.eye(n, dtype=bool)
    return SetPools(adjacent | (others & (rng.random((n, n)) < 0.4)), others & (rng.random((n, n)) < 0.5))
