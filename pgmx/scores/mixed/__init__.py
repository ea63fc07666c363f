"""Scores of networks of continuous and discrete variables.

- `sums`: moments of continuous variables within the configurations of discrete variables, each summed once
- `source`: gains of families of continuous and discrete variables
- `base`: the scores over a mixed table
- `conditional`: the conditional Gaussian scores of pgmpy
- `conditional_linear`: the scores of conditional linear Gaussian networks: BIC, AIC and log-likelihood
- `degenerate`: the degenerate Gaussian score, with indicator columns for states
"""
