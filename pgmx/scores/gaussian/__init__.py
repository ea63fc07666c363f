"""Scores of linear Gaussian networks.

- `base`: the scores of linear Gaussian networks over one covariance matrix
- `aic`: Akaike's information criterion for linear Gaussian networks
- `bge`: the Bayesian Gaussian equivalent score
- `bic`: the Bayesian information criterion for linear Gaussian networks
- `log_likelihood`: the log-likelihood score of linear Gaussian networks
"""
