"""Maximum-weight branchings: rooted forests whose arcs weigh differently, or are allowed, in one direction only."""

import numpy as np

from pgmx._ext import _branching

__all__ = ["find_maximum_branching"]

_ROOT = 0  # column of a virtual root, from which an arc of weight 0 leads to every variable


def find_maximum_branching(weights: np.ndarray, required: np.ndarray | None = None) -> np.ndarray:
    """Return the parent of each variable, int64 (n,), -1 for a root, in the rooted forest of largest weight.

    ``weights[head, tail]`` is float64; -inf bars an arc. An arc that has no positive weight is used only where
    ``required[head]`` (int64, -1 for none) names it. Among equal arcs the smaller tail wins, and no arc over any arc.
    O(n²) time (Edmonds' algorithm in Tarjan's dense form, see the kernel), 12 n² bytes beside the weights.
    """
    n = len(weights)
    entering = np.full((n + 1, n + 1), -np.inf)
    entering[1:, 1:] = weights
    np.fill_diagonal(entering, -np.inf)
    entering[1:, _ROOT] = 0.0
    for head, tail in enumerate([] if required is None else required.tolist()):
        if tail >= 0:
            entering[head + 1] = -np.inf
            weight = weights[head, tail]
            entering[head + 1, tail + 1] = weight if np.isfinite(weight) else 0.0
    return _branching.maximum_branching(entering)[1:] - 1
