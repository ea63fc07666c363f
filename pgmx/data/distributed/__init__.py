"""Tables whose rows stay with the workers of a dask cluster, part by part.

- `sources`: the parts of a table: paths, frames, slices of a table in memory, partitions of dask
- `parts`: what a worker does: code the rows of a part, keep them, count them
- `part_sums`: what a worker does with a request: it calls a function with its parts, and adds what comes back
- `remote_parts`: these parts as the driver sees them: requests to the workers, and sums of the answers
- `row_weights`: weights of the rows that workers keep, and resamples that every worker draws from its own rows
- `row_answers`: what is answered for each row where it lies, as a collection of dask
- `table`: the coded table as the driver sees it: columns, states, and sums over the parts
- `numeric_parts`, `numeric_table`, `numeric_distribution`: the same of numbers: blocks of floats that workers keep, the
  table, and the way to it
- `placement`: which worker gets which parts
- `distribution`: from a source to a table of codes: the states of all parts merged, then every part coded by them
"""
