"""Columns of wide tables, each over candidates that are checked against all variables, without R.

- `blocks`: the candidates, the check, and the sparse solutions
- `neighborhood`: neighbourhoods of variables
- `clime`: columns of the CLIME estimator
"""
