"""Forests of maximum weight.

- `pair_weights`: the weights of pairs for a forest search
- `distributed_weights`: the same for distributed data
- `all_pairs`: the best forest from all pairs at once, on threads with separate filters
- `scoring`: the score and the weights of pairs for a forest learner's `weight` and data
- `spanning_forest`: maximum-weight forests by Prim's algorithm, branchings by Edmonds', and the choice between them
"""
