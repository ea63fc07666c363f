"""Exact inference by elimination and junction trees.

- `elimination`: in what order to sum variables out of a product of factors, and what that costs, before anything is
  allocated: min-fill, the best of many orders, and a bound on what any order reaches
- `low_degree`: variables of few neighbours summed out exactly, and the parts of a network that remain
- `bucket_elimination`: the log-partition by variable elimination, which frees each table as soon as it is summed
- `conditioning`: elimination within less memory than an order needs: some variables take each of their states in turn
- `family_marginals`: joint distributions of a few variables of a discrete Bayesian network, by elimination among their
  ancestors
- `junction_tree`: sums, maxima, conditional tables and joint distributions over the cliques of a junction tree
- `max_elimination`: most probable states by elimination, which keeps of its tables the states it chose
- `row_posteriors`: the missing cells of many rows under one Bayesian network, by one junction tree
- `row_groups`: such rows in groups of narrow junction trees
- `completions`: rows with missing cells as weighted complete rows
- `exact`: exact inference in discrete Markov networks of small treewidth, by a calibrated junction tree
"""
