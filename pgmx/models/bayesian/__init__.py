"""Bayesian networks: pgmpy graphs from integer edges, parameters, and strengths of edges.

- `em`: parameters from rows with missing values; `incomplete_discrete`, `incomplete_continuous` and `incomplete_mixed`
  have the E-step and the M-step for each kind of rows
- `networks`: DAGs, CPDAGs and Bayesian networks of pgmpy from integer edges, with or without parameters
- `strengths`: strengths of edges as tables and matrices
"""
