"""Pictures of graphs over (variable, lag), of forecasts, and of edges that change.

- `sources`: the graph or system of user input: a graph, a system or a fitted learner
- `adjacency`: heat maps of the coefficients, one per lag
- `summary`: the graph over the variables on a circle, with the lags on its edges
- `forecast`: forecasts with their intervals after the observed rows
- `edge_paths`: the attributes of edges over successive windows
"""
