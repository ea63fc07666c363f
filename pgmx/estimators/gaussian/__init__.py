"""Learners of Gaussian graphical models.

- `columns`: columns of a precision, solved in blocks by whatever workers there are
- `estimate`: what a Gaussian learner finds for one penalty, and the network made of it
- `path`: a path of penalties of a Gaussian learner, stored sparsely
- `results`: what learners of Gaussian graphical models hand back
- `learner`: what all learners of Gaussian graphical models share: options, the way from data to a sample, paths
- `clime`: CLIME: constrained l1 minimisation, one linear programme a variable
- `graphical_lasso`: the graphical lasso: penalised Gaussian maximum likelihood
- `neighborhood_lasso`: neighbourhood selection: one lasso a variable
- `wrapping`: learners of Gaussian graphical models that are wrapped around another one
- `nonparanormal`: gaussian graphical models of unknown monotone functions of the variables
"""
