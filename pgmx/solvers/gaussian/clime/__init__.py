"""Columns of the CLIME estimator.

- `homotopy_path`: the exact path of CLIME columns, and the state of columns that are too dense for it
- `projection`: CLIME columns by an alternating direction method whose projections on {S q = z} are exact
- `vertices`: certificates of CLIME columns, and the exact vertices given by the supports of q and y
- `admm`: CLIME columns by a linearised alternating direction method of multipliers, with exact vertices at the end
- `columns`: columns of the CLIME estimator, by the exact path or by ADMM, whichever is cheaper
"""
