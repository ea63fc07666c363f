"""The same learner on many resamples.

- `resampler`: one resample of a table, and what a learner makes of it
- `finished`: the graphs of the resamples that are done, as arrays of a checkpoint
- `tallies`: resamples of blocks of rows of series, added up
- `block_bootstrap`: confidence in edges over (name, lag): resamples of blocks of rows of series
- `bootstrap`: confidence in edges: the same learner on many resamples of the rows
"""
