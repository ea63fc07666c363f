"""Exact inference by elimination and junction trees.

- `elimination`: elimination orders and their cost, computed before any table is allocated: min-fill, the best of many
  orders, and a lower bound on the width of every order
- `low_degree`: exact elimination of variables with few neighbours, and the connected components that remain
- `bucket_elimination`: the log-partition by variable elimination, which frees each table after summing over it
- `conditioning`: cutset conditioning: elimination with less memory, once per configuration of some variables
- `family_marginals`: joint distributions of a few variables of a discrete Bayesian network, by elimination among their
  ancestors
- `junction_tree`: sums, maxima, conditional tables and joint distributions over the cliques of a junction tree
- `max_elimination`: most probable states by elimination, which stores only the chosen states of its tables
- `row_posteriors`: distributions of the missing values of many rows under one Bayesian network, by one junction tree
- `row_groups`: groups of such rows whose junction trees are narrow
- `completions`: rows with missing values as weighted complete rows
- `exact`: exact inference in discrete Markov networks of small treewidth, by a calibrated junction tree
"""
