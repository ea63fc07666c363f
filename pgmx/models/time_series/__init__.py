"""Models of time series: graphs over (variable, lag), and linear dynamical systems.

- `graph`: the graph over (variable, lag), also as pgmpy's dynamic Bayesian network
- `linear_dynamical_system`: the linear dynamical system, also as pgmpy's linear Gaussian network over several slices
- `forecasts`: methods of a system: forecasts, intervals, likelihoods, responses, simulation, errors of forecasts
- `coefficients`: parameters of a system, with their checks: one matrix per lag, dense or sparse, and vectors
- `companion`: spectral radius, stationary moments and impulse responses
- `history`: the last rows before a forecast, and the labels of forecasts
- `dynamic`: the dynamic Bayesian network of any order, over discrete and continuous variables
- `measures`: measures of whole graphs, and of graphs learned from windows of a series
"""
