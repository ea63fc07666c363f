"""The conditional linear Gaussian network of discrete and continuous variables.

- `parameters`: the class for the parameters of a continuous variable given its parents
- `fitting`: estimation of the families from a mixed table
- `parts`: conversions between distributions and the fields of a network
- `rows`: mixed rows for a network, with missing values
- `predictions`: predictions of missing values
- `queries`: simulation and likelihoods, in addition to predictions
- `network`: the network that learners return: a pgmpy graph whose parameters are arrays
"""
