"""Names of bins."""

from itertools import pairwise

import numpy as np


def label_bins(edges: np.ndarray) -> list[str]:
    """Return one name per bin: ``below 1.5``, ``1.5 to 3``, ``3 and above``; inner edges alone are shown.

    Edges have as many digits as needed to make them differ, at least 3.
    """
    inner = edges[1:-1]
    if not len(inner):
        return [f"{edges[0]:.6g}" if edges[0] == edges[-1] else "all"]
    for digits in range(3, 18):
        texts = [f"{edge + 0.0:.{digits}g}" for edge in inner]  # + 0.0: no -0
        if len(set(texts)) == len(texts):
            break
    between = [f"{low} to {high}" for low, high in pairwise(texts)]
    return [f"below {texts[0]}", *between, f"{texts[-1]} and above"]
