"""Posterior probabilities of the structures of Bayesian networks.

1. Score the sets of candidate parents of each variable (`families`), with a prior (`structure_priors`).
2. Sum over all structures of few variables (`exact`).
3. Sample structures of more: candidate parents (`candidates`), chains (`chains`), their agreement (`diagnostics`), and
   the mass of parents that are not candidates (`outside`).
"""
