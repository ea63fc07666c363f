"""The choice of a penalty for Gaussian graphical models.

- `solved_paths`: the solved paths of penalties, in memory and as arrays of a checkpoint
- `criteria`: criteria that choose a penalty from a path: EBIC, held-out likelihood, stability of edges
- `series_path`: the penalty of a linear dynamical system
- `selected_graph`: a Gaussian graphical model whose penalty is chosen from a path
"""
