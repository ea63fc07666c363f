"""``pgmpy.estimators``, imported without its announcement of a move that our users cannot act on.

pgmpy.inference imports it too: whoever holds a network of ours, and asks pgmpy's own inference, sees no announcement.
"""

import warnings

with warnings.catch_warnings():
    warnings.simplefilter("ignore", FutureWarning)
    from pgmpy.estimators import StructureEstimator

__all__ = ["StructureEstimator"]
