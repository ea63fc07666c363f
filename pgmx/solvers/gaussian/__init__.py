"""Solvers of Gaussian graphical models.

- `column_estimates`: sparse estimates of columns along a path of penalties, with their certificates
- `glasso`: the graphical lasso
- `shifted_product`: products with R + ridge I, from the matrix or from a thin factor of it, in single or double
  precision
- `clime`: columns of the CLIME estimator
- `likelihood`: the Gaussian maximum likelihood with zeros where a graph has no edges
- `neighborhood`: neighbourhoods of variables: one lasso per column, along a path of penalties
- `screening`: columns of both for wide tables, over candidates that are checked against all variables
"""
