"""Grafting: which inactive edges of an undirected graph are tested and activated next."""
