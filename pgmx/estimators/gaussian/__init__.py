"""Learners of Gaussian graphical models.

- `cost`: the memory for learning a Gaussian graphical model
- `estimate`: the estimate of a Gaussian learner for one penalty, and its network
- `stored`: the content of a checkpoint of a Gaussian learner: estimates, columns, and the state of a path
- `columns`: columns of a precision, solved in blocks by parallel workers
- `path`: a path of penalties of a Gaussian learner, stored sparsely
- `results`: results of learners of Gaussian graphical models
- `learner`: base classes of the learners of Gaussian graphical models: options, reading of data, paths
- `clime`: CLIME: constrained l1 minimisation, one linear programme per variable
- `graphical_lasso`: the graphical lasso: penalised Gaussian maximum likelihood
- `neighborhood_lasso`: neighbourhood selection: one lasso per variable
- `wrapping`: learners of Gaussian graphical models that wrap another one
- `nonparanormal`: Gaussian graphical models of unknown monotone functions of the variables
"""
