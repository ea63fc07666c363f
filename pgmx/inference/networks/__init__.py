"""Networks as arrays of log-values.

- `bayesian`: a discrete Bayesian network as arrays: what sampling, scores, likelihoods and divergences read of pgmpy's
  objects
- `regressions`: a linear Gaussian network as arrays
- `log_tables`: logarithms of tables, and of sums over them
- `potentials`: log-potentials of a pairwise Markov network as flat arrays: what learners produce and inference reads
- `factors`: factors of any number of variables, in logarithms, and how they are read from pgmpy's networks
- `evidence`: a network given evidence: the observed variables taken out of its factors
"""
