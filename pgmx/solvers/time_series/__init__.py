"""Solvers of models of time series: arrays in, arrays out.

- `least_squares`: least squares of many targets at once, by cross-products or singular values, over all or some
  predictors
- `lagged_lasso`: the lasso of many targets on the same predictors, from cross-products, with its certificate
- `screening`: the same from rows, for so many predictors that their cross-products cannot be held
- `seeds`: parents of all nodes from those of some
- `stochastic_gradient`: the lasso by stochastic subgradient descent
- `svarm`: structural vector autoregressions
- `sem`: structural equations from windows of different second moments
"""
