"""Penalised losses of pairwise Markov networks, and their minimisation."""
