"""Scores of discrete Bayesian networks, one per module."""
