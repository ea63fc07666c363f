"""The Gaussian Markov network.

- `linear_gaussian`: conversion of a normal distribution into a linear Gaussian Bayesian network, by a Cholesky factor
  of its precision
- `rows`: numeric rows for a Gaussian network, with missing values and absent columns
- `row_queries`: row-wise methods of a network: predictions and likelihoods, computed from arrays only
- `checks`: checks of the parameters of a Gaussian network: names, matrices and vectors
- `network`: the Gaussian Markov network that learners return: a sparse precision matrix in a pgmpy graph
- `queries`: its other methods: conditional and marginal distributions, samples, entropy, conversions
"""
