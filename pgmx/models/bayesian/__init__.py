"""Bayesian networks: graphs of pgmpy from integer edges, parameters from (incomplete) rows, strengths of edges."""
