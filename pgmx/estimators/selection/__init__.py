"""The choice of a penalty for Gaussian graphical models.

- `part_paths`: paths of a Gaussian learner over parts of the rows, by whatever workers there are
- `criteria`: by what a penalty is chosen from a path: EBIC, held-out likelihood, stability of edges
- `selected_graph`: a Gaussian graphical model whose penalty the data choose
"""
