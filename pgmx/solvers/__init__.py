"""Losses of pairwise Markov networks with their penalties, and how they are minimised."""

from pgmx.solvers.bethe_loss import BetheLoss
from pgmx.solvers.exact_loss import ExactLoss
from pgmx.solvers.pseudolikelihood import PseudolikelihoodLoss

__all__ = ["BetheLoss", "ExactLoss", "PseudolikelihoodLoss"]
