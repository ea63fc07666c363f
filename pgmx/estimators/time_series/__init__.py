"""Learners of time series.

- `cost`: the memory that learning from time series takes
- `knowledge`: what a user knows of the edges over (name, lag), as ids
- `learner`: what all learners of time series share: options and reading of series
- `runs`: runs of the learners that iterate: limits, callback, progress bar, and why they ended
- `problem`: series with lags as a linear problem, in the units in which it is solved
- `linear`: what all learners of linear dynamical systems share: units, results, forecasts
- `dense`: linear dynamical systems by least squares
- `enforcing`: linear dynamical systems of a known structure
- `sparse`: what the learners of sparse linear dynamical systems share: a run over blocks of targets
- `sparse_problem`: a linear problem as the sparse solvers take it: cross-products or rows
- `inducing`: sparse linear dynamical systems by the lasso
- `scalable`: sparse linear dynamical systems of very many series, from the parents of a few
- `svarm`: structural vector autoregressions, linear and with kernels
- `sem`: structural equations from windows over which the powers of the inputs change
"""
