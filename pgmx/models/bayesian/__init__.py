"""Bayesian networks: pgmpy graphs from integer edges, parameters, strengths of edges.

- `networks`: from edges between ids to pgmpy's graphs and fitted networks
- `incomplete_rows`: parameters from rows with missing values, by expectation maximisation
- `strengths`: strengths of edges as tables and matrices
"""
