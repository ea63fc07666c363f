"""Solvers of Gaussian graphical models.

- `column_estimates`: sparse estimates of columns along a path of penalties, with their certificates
- `glasso`: the graphical lasso
- `shifted_product`: products with R + ridge I, from the matrix or a thin factor of it, in single or double precision
- `clime`: columns of the CLIME estimator
- `likelihood`: Gaussian maximum likelihood with zeros for the missing edges of a graph
- `neighborhood`: neighbourhoods of variables: one lasso per column, along a path of penalties
- `screening`: columns of both estimators for wide tables, over candidates, with a check against all variables
"""
