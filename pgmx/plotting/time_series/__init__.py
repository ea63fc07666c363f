"""Pictures of graphs over (variable, lag), of forecasts, and of edges that change.

- `sources`: graphs and systems of what a user has: a graph, a system or a fitted learner
- `adjacency`: heat maps of the coefficients, lag by lag
- `summary`: the graph over the variables on a circle, with the lags on its edges
- `forecast`: forecasts with their intervals after the rows that they continue
- `edge_paths`: the numbers of edges over successive windows
"""
