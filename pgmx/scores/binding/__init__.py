"""Scores bound to a table: where a search gets its source of gains.

- `scoring`: what all scores bound to data share: the interface, the structure prior, and how they are sent
- `discrete`, `gaussian`, `mixed`: pgmx's own scores bound to data
- `incomplete`: scores bound to rows with missing cells, for structural expectation maximisation; those of states
- `incomplete_numbers`, `incomplete_mixed`: those of floats, and of floats beside states
- `foreign`: scores of pgmpy and of users, bound to data and called family by family
- `resolve`: scores by name, and from a user's `scoring_method` and data to a score bound to them
"""
