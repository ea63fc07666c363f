"""Learners of time series.

- `cost`: the memory for learning from time series
- `knowledge`: the user's knowledge of edges over (name, lag), as ids
- `learner`: the base class of the learners of time series: options and reading of series
- `runs`: runs of the learners that iterate: limits, callback, progress bar, and why they ended
- `problem`: series with lags as a linear problem, in the units in which it is solved
- `linear`: the base class of the learners of linear dynamical systems: units, results, forecasts
- `dense`: linear dynamical systems by least squares
- `enforcing`: linear dynamical systems of a known structure
- `sparse`: the base class of the learners of sparse linear dynamical systems: a run over blocks of targets
- `sparse_problem`: a linear problem as input of the sparse solvers: cross-products or rows
- `inducing`: sparse linear dynamical systems by the lasso
- `scalable`: sparse linear dynamical systems of very many series, from the parents of a few series
- `svarm`: structural vector autoregressions, linear and with kernels
- `sem`: structural equations from windows with different powers of the inputs
"""
