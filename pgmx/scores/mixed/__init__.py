"""Scores of networks of floats beside states.

- `sums`: moments of floats within the configurations of discrete columns, each summed once
- `source`: gains of families of both kinds
- `base`: the scores over a mixed table
- `conditional`: the conditional Gaussian scores of pgmpy
- `conditional_linear`: the scores of conditional linear Gaussian networks: BIC, AIC and log-likelihood
- `degenerate`: the degenerate Gaussian score, states as columns of 0 and 1
"""
