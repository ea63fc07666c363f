"""One learner on many resamples.

- `resampler`: one resample of a table, and the graph learned from it
- `finished`: graphs of finished resamples as arrays of a checkpoint
- `tallies`: sums over resamples of blocks of rows of time series
- `block_bootstrap`: confidence of edges over (name, lag), by resampling blocks of rows of time series
- `bootstrap`: confidence of edges, by resampling rows
"""
