"""The conditional linear Gaussian network of discrete and continuous variables.

- `network`: the network that learners return: a pgmpy graph whose parameters are arrays
- `cpds`: the distribution of a continuous variable given its parents; distributions from and into the network's fields
- `fitting`: estimation of the families from a mixed table
- `predictions`: predictions of missing values
- `queries`: simulation and likelihoods
"""
