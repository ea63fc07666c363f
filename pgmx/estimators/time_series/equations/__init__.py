"""Learners of structural equations from windows: dense, sparse and tracked, and resamples of windows."""
