"""Scores bound to a table: where a search gets its source of gains.

- `sending`: how scores travel to other processes and into pickles
- `scoring`: what all scores bound to data share: the interface and the structure prior
- `discrete`, `gaussian`: pgmx's own scores bound to data
- `foreign`: scores of pgmpy and of users, bound to data and called family by family
- `resolve`: from a user's `scoring_method` and data to a score bound to them
"""
