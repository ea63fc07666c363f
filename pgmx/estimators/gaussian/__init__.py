"""Learners of Gaussian graphical models."""
