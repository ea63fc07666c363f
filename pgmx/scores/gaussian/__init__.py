"""Scores of linear Gaussian networks, one per module."""
