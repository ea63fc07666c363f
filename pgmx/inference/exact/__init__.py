"""Exact inference by elimination and junction trees.

- `elimination_order`: orders and their cost, computed before any table is allocated
- `variable_elimination`: the log-partition and the most probable states, also by cutset conditioning
- `junction_tree`: marginals, joint distributions, most probable states and samples from a calibrated junction tree
- `family_marginals`: joint distributions of a few variables of a Bayesian network, by elimination among their ancestors
- `components`: questions and rows of a network, answered by the connected components of its hidden variables
"""
