"""What learners of Bayesian networks take from pgmpy: its base class, its scores and its metrics."""

from pgmpy.metrics import get_metrics
from pgmpy.structure_score import BaseStructureScore

from pgmx.models.pgmpy_estimators import StructureEstimator

# one place to mend when they move
__all__ = ["BaseStructureScore", "StructureEstimator", "get_metrics"]
