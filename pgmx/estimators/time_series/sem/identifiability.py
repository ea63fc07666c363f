"""The warning about inputs that the data cannot distinguish."""

import warnings
from collections.abc import Sequence

import numpy as np

from pgmx.checks import caller_level, join_names


class IdentifiabilityWarning(UserWarning):
    """Warning: the powers of some inputs are nearly proportional, so edges among their series are not identified.

    Structural equations are identified if the powers of the inputs change differently. If the powers of two inputs
    change proportionally, any rotation of the two inputs explains the series equally well. Longer, different or more
    windows may help.
    """


def warn_of_proportional(names: Sequence, near: np.ndarray) -> None:
    """Warn of pairs of inputs, bool (N, N), that the data cannot distinguish."""
    pairs = [(names[i], names[j]) for i, j in np.argwhere(np.triu(near)).tolist()]
    if pairs:
        warnings.warn(
            f"not identifiable: columns {join_names(pairs, 5)} of the powers of the inputs are nearly proportional "
            "over the windows. Edges among these series are not reliable. Give more or different windows",
            IdentifiabilityWarning,
            stacklevel=caller_level(),
        )
