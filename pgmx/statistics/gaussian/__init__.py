"""Correlation matrices of tables of numbers.

- `nearest_correlation`: the correlation matrix that lies nearest to a symmetric matrix with an eigenvalue below zero
- `pairwise_moments`: covariances of columns with missing cells, each pair of columns over the rows that are known in
  both
- `thin_factor`: a correlation matrix of fewer rows than columns, stored as a factor of it: the standardised rows
- `correlations`: components of |R_ij| > λ and the matrix of one of them, without the whole matrix where that is large
- `distributed_moments`: moments of tables of numbers whose rows lie with the workers of a cluster
- `passes`: one pass over rows that ends in a correlation matrix, or in a thin factor of it
- `sample`: what Gaussian graphical models need to know of a table: its correlation matrix, and how it came about
- `covariance`: a sample known by a covariance matrix alone
"""
