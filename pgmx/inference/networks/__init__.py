"""Networks as arrays of log-values.

- `bayesian`: a discrete Bayesian network as arrays, read from pgmpy's objects for sampling, scores, likelihoods and
  divergences
- `regressions`: a linear Gaussian network as arrays
- `log_tables`: logarithms of tables, and of sums over them
- `potentials`: log-potentials of a pairwise Markov network as flat arrays, produced by learners and read by inference
- `factors`: factors of any number of variables, in logarithms, and their conversion from pgmpy's networks
- `evidence`: a network given evidence: the observed variables are removed from its factors
"""
