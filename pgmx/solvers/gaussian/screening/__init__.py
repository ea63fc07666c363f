"""Columns of wide tables, solved over candidates with a check against all variables, without R.

- `blocks`: the candidates, the check, and the sparse solutions
- `neighborhood`: neighbourhoods of variables
- `clime`: columns of the CLIME estimator
"""
