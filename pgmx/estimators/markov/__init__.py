"""Learners of discrete Markov networks."""
