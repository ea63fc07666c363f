"""Scores bound to a table; they give a search its source of gains.

- `scoring`: the common interface of scores bound to data, the structure prior, and pickling
- `discrete`, `gaussian`, `mixed`: pgmx's own scores bound to data
- `incomplete`: scores bound to rows with missing values, for structural EM: the base class and discrete scores
- `incomplete_numbers`, `incomplete_mixed`: scores of continuous and of mixed data with missing values
- `foreign`: scores of pgmpy and of users, bound to data and called family by family
- `resolve`: the names of scores; binds the score for a user's `scoring_method` to the data
"""
