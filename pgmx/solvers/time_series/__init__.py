"""Solvers of models of time series: arrays in, arrays out.

- `least_squares`: least squares of many targets at once, by cross-products or singular values, over all or some
  predictors
- `lagged_lasso`: the lasso of many targets on the same predictors, from cross-products, with its certificate
- `screening`: the same from rows, if there are too many predictors to store their cross-products
- `seeds`: parents of all nodes from the parents of some nodes
- `stochastic_gradient`: the lasso by stochastic subgradient descent
- `svarm`: structural vector autoregressions
- `sem`: structural equations from windows of different second moments
"""
