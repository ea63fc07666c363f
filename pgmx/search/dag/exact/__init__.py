"""The exact search: the network of highest score, and the proof.

- `parent_sets`: the sets of parents that each variable can have in a best network
- `components`: which variables are solved together, best networks of each, and upper bounds by groups
- `exact`: the search itself, its limits, and what it proves when it ends early
"""
