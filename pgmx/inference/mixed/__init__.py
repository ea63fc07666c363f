"""Conditional linear Gaussian networks as arrays, and what is inferred in them.

- `families`: parents and parameters of every variable; densities of rows, and rows drawn
- `components`: floats that are not observed, integrated out for each configuration of the states that they depend on
- `beliefs`: distributions over the cliques of a junction tree for many rows at once
- `posterior`: exact answers: distributions of states, means and variances of floats
- `pieces`: missing cells of many rows, in pieces that are independent in each row
- `observed`: log-densities of what rows know
- `missing_cells`: what is expected of them, draws of them, and best guesses
- `moments`: counts and moments of the families, of known rows and expected ones
- `weighting`: answers by likelihood weighting
"""
