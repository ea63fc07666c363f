"""The choice of a penalty for Gaussian graphical models.

- `criteria`: criteria that choose a penalty from a path: EBIC, held-out likelihood, stability of edges
- `selected_graph`: a Gaussian graphical model whose penalty is chosen from a path
"""
