"""Forests of maximum weight.

- `pair_weights`: where a forest search gets the weights of pairs from
- `distributed_weights`: the same for a table whose rows lie with the workers of a cluster
- `all_pairs`: the best forest from all pairs at once, on threads, each of them with a filter of its own
- `scoring`: from a forest learner's `weight` and data to a score and the weights of pairs
- `spanning_forest`: maximum-weight forests by Prim's algorithm, branchings by Edmonds', and the choice between them
"""
