"""Scores bound to a table, which give a search its source of gains; `resolve` binds the score of `scoring_method`."""
