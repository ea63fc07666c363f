"""What learners of Bayesian networks take from pgmpy: its base class, its scores and its metrics."""

import warnings

from pgmpy.metrics import get_metrics
from pgmpy.structure_score import BaseStructureScore

with warnings.catch_warnings():
    # pgmpy.estimators announces its own move whenever it is imported, which our users cannot act on
    warnings.simplefilter("ignore", FutureWarning)
    from pgmpy.estimators import StructureEstimator

# one place to mend when they move
__all__ = ["BaseStructureScore", "StructureEstimator", "get_metrics"]
