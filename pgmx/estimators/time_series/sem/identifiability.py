"""The warning about inputs that the data cannot tell apart."""

import warnings
from collections.abc import Sequence

import numpy as np

from pgmx.checks import caller_level, join_names


class IdentifiabilityWarning(UserWarning):
    """The powers of some inputs are nearly proportional over the windows: edges among their series are not identified.

    Structural equations are identified by inputs whose powers change differently; where two of them change alike, any
    rotation of the two inputs explains the series as well. Longer or other windows may help, and so may more of them.
    """


def warn_of_proportional(names: Sequence, near: np.ndarray) -> None:
    """Warn of pairs of inputs, bool (N, N), that the data cannot tell apart."""
    pairs = [(names[i], names[j]) for i, j in np.argwhere(np.triu(near)).tolist()]
    if pairs:
        warnings.warn(
            f"not identifiable: columns {join_names(pairs, 5)} of the powers of the inputs are nearly proportional "
            "over the windows, and edges among these series mean little; give more windows, or others",
            IdentifiabilityWarning,
            stacklevel=caller_level(),
        )
