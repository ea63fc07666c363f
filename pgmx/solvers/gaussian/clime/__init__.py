"""Columns of the CLIME estimator.

- `homotopy_path`: the exact path of CLIME columns, and the state of columns that are too dense for it
- `projection`: CLIME columns by an alternating direction method whose projections on {S q = z} are exact
- `vertices`: certificates of CLIME columns, and the exact vertices that supports of q and y point at
- `admm`: CLIME columns by a linearised alternating direction method of multipliers, ended by exact vertices
- `columns`: columns of the CLIME estimator, by the exact path or by ADMM, whichever is cheaper
"""
