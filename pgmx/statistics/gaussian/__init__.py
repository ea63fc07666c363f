"""Correlation matrices of numeric tables.

- `nearest_correlation`: the nearest correlation matrix to a symmetric matrix with negative eigenvalues
- `thin_factor`: a correlation matrix of fewer rows than columns, stored as its factor: the standardised rows
- `correlations`: components of |R_ij| > λ and their matrices, without the whole matrix if it is large
- `passes`: one pass over rows that gives a correlation matrix, or a thin factor of it
- `sample`: the input of Gaussian graphical models: the correlation matrix of a table, or only a covariance matrix
"""
