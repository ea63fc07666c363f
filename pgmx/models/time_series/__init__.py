"""Models of time series: graphs over (variable, lag), and linear dynamical systems.

- `coefficients`: coefficients as one matrix per lag, dense or sparse, with their checks
- `density`: densities of forecast errors
- `history`: the last rows before a forecast, and the labels of forecasts
- `parameters`: checks of the parameters of a system other than its coefficients
- `dynamic_network`: the structure of a graph as pgmpy's dynamic Bayesian network
- `rolling`: forecast errors with every row of a series as origin
- `unrolled`: a system as pgmpy's linear Gaussian network over several slices
- `forecasts`: methods of a system: forecasts, intervals, likelihoods, responses, simulation
- `companion`: spectral radius, stationary moments and impulse responses
- `measures`: measures of whole graphs, and of graphs learned from windows of a series
- `graph`: the graph over (variable, lag)
- `linear_dynamical_system`: the linear dynamical system
"""
