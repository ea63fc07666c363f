"""Structural vector autoregressions: sparse additive models of all series at once.

- `kernels`: kernels of one variable, and thin factors of their matrices
- `blocks`: blocks of columns, one per lag, series and kernel
- `problem`: the group lasso of all targets: objectives, dual points and gaps
- `admm`: the alternating direction method of multipliers, with one factorisation for all targets
- `descent`: block coordinate descent with working sets, along a path of penalties
- `freedom`: degrees of freedom of solutions
"""
