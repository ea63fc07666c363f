"""The graphical lasso.

- `certificate`: duality gap of a precision matrix for the graphical lasso
- `dual_ascent`: one connected component of a graphical lasso: sweeps over its columns, and its certificate
- `solution`: a solution with its certificate, and the solution without a penalty
- `path`: the graphical lasso along a path of penalties
"""
