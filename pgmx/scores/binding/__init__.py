"""Scores bound to a table: what a search asks for gains.

- `scoring`: what all scores bound to data share: the structure prior, row weights, and how they travel
- `foreign`: scores of pgmpy and of users, bound to data and called family by family
- `native`: pgmx's own scores bound to data
- `resolve`: from a user's `scoring_method` and data to a source of gains
"""
