"""Forests of maximum weight.

- `pair_weights`: where a forest search gets the weights of pairs from
- `branching`: maximum-weight branchings, where the two directions of an arc differ in weight or in what is allowed
- `scoring`: from a forest learner's `weight` and data to a score and the weights of pairs
- `spanning_forest`: maximum-weight forests: Prim's algorithm, and the choice between it and branchings
"""
