"""Conditional linear Gaussian networks as arrays, and inference in them.

- `families`: parents and parameters of every variable; densities, samples, counts and moments of rows
- `components`: unobserved continuous variables, integrated out per configuration of the discrete variables
- `posterior`: exact inference: distributions of discrete, means and variances of continuous variables
- `missing_values`: missing values of many rows, in independent blocks: densities, expected totals, draws, imputation
- `simulation`: exact draws of rows given observed values and interventions
- `row_answers`: answers about missing values of rows, exact or by weighting
- `weighting`: approximate inference by likelihood weighting
"""
