"""Learners of Bayesian networks by tests of conditional independence."""
