"""Solvers of models of time series: arrays in, arrays out.

- `least_squares`: least squares of many targets at once, by cross-products or singular values, over all or some
  predictors
- `svarm`: structural vector autoregressions
"""
