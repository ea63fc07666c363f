"""Models of time series: graphs over (variable, lag), and linear dynamical systems.

- `coefficients`: one matrix per lag, dense or sparse: read, checked and counted
- `density`: densities of the errors of forecasts
- `history`: the rows that a forecast continues, and the labels of the rows that follow
- `parameters`: the numbers of a system besides its coefficients, checked
- `dynamic_network`: the structure of a graph as pgmpy's dynamic Bayesian network
- `rolling`: errors of forecasts from every row of a series
- `unrolled`: a system as pgmpy's linear Gaussian network over several slices
- `forecasts`: what a system is asked: forecasts, intervals, likelihoods, responses, simulated series
- `companion`: spectral radius, stationary moments and responses of coefficients
- `measures`: measures of whole graphs, and of graphs learned from windows of a series
- `graph`: the graph over (variable, lag)
- `linear_dynamical_system`: the linear dynamical system
"""
