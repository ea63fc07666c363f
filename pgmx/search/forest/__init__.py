"""Forests of maximum weight.

- `branching`: maximum-weight branchings: rooted forests whose arcs weigh differently, or are allowed, in one
  direction only
- `pair_weights`: where a forest search gets the weights of pairs from
- `scoring`: from a forest learner's `weight` and data to a score and the weights of pairs
- `spanning_forest`: maximum-weight forests: undirected ones by Prim's algorithm, and the choice between them and
  branchings
"""
