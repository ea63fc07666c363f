"""The exact search: the network of highest score, with a proof of optimality.

- `parent_sets`: the parent sets that each variable can have in a best network
- `components`: the components that are solved separately, their best networks, and upper bounds by groups
- `exact`: the search itself, its limits, and its upper bound when it ends early
"""
