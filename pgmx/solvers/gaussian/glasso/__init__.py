"""The graphical lasso.

- `certificate`: how far a precision matrix is from the optimum of the graphical lasso
- `dual_ascent`: one connected component of a graphical lasso: sweeps over its columns, and its certificate
- `solution`: a solution with its certificate, and the one without a penalty
- `path`: the graphical lasso along a path of penalties
"""
