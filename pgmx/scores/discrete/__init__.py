"""Scores of discrete Bayesian networks.

- `base`: what a decomposable discrete score is made of, as the kernels need it, and the interface of pgmpy over it
- `observed_cells`: families scored by a formula from the cells that occur
- `node_average`: the formula for tables with missing cells
- `aic`: Akaike's information criterion
- `bde`: the Bayesian Dirichlet score with a prior network
- `bdeu`: the Bayesian Dirichlet equivalent uniform score
- `bds`: the Bayesian Dirichlet sparse score
- `bic`: the Bayesian information criterion
- `k2`: the K2 score
- `log_likelihood`: the log-likelihood score
"""
