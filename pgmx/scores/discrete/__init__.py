"""Scores of discrete Bayesian networks.

- `base`: the terms of a decomposable discrete score, as the kernels need them, and the base class of the scores
- `observed_cells`: families scored by a formula over the cells that occur
- `node_average`: the formula for tables with missing values
- `aic`: Akaike's information criterion
- `bde`: the Bayesian Dirichlet score with a prior network
- `bdeu`: the Bayesian Dirichlet equivalent uniform score
- `bds`: the Bayesian Dirichlet sparse score
- `bic`: the Bayesian information criterion
- `k2`: the K2 score
- `log_likelihood`: the log-likelihood score
"""
