"""Conditional linear Gaussian networks as arrays, and inference in them.

- `families`: parents and parameters of every variable; densities of rows, and sampled rows
- `components`: unobserved continuous variables, integrated out per configuration of the discrete variables
- `beliefs`: distributions over the cliques of a junction tree for many rows at once
- `posterior`: exact inference: distributions of discrete, means and variances of continuous variables
- `pieces`: the missing values of many rows, in blocks that are conditionally independent given the row
- `observed`: log-densities of the observed values of rows
- `missing_cells`: expected counts and moments of missing values, draws, and imputation
- `moments`: observed and expected counts and moments of the families
- `weighting`: approximate inference by likelihood weighting
"""
