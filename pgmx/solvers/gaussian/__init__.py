"""Solvers of Gaussian graphical models."""
