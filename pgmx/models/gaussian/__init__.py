"""The Gaussian Markov network.

- `linear_gaussian`: a normal distribution as a linear Gaussian Bayesian network: the Cholesky factor of its precision
  as arcs
- `rows`: rows of numbers for a Gaussian network, missing cells and columns marked
- `row_queries`: what a network answers about rows: predictions and likelihoods, from arrays alone
- `incomplete_rows`: parameters of a linear Gaussian network from rows with missing cells
- `checks`: what a Gaussian network is made of, checked: names, matrices, and one number per variable
- `network`: the Gaussian Markov network that learners return: a sparse precision matrix inside, a pgmpy graph
  outside
- `queries`: further questions that it answers: parts of it, samples, entropy, other forms
"""
