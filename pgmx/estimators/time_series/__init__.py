"""Learners of time series."""
