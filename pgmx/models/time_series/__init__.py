"""Models of time series: graphs over (variable, lag), and linear dynamical systems.

- `coefficients`: one matrix per lag, dense or sparse: read, checked and counted
- `history`: the rows that a forecast continues, and the labels of the rows that follow
- `companion`: spectral radius, stationary moments and responses of coefficients
- `graph`: the graph over (variable, lag)
- `linear_dynamical_system`: the linear dynamical system
"""
