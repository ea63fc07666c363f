"""Distributed tables: the rows stay with the workers of a dask cluster, in partitions.

- `sources`: the partitions of a table: paths, frames, slices of a table in memory, partitions of dask
- `parts`: functions that workers call: code the rows of a partition, keep them, count them
- `part_sums`: how a worker answers a request: it calls a function with its partitions, and adds the results
- `remote_parts`: the partitions in the driver: requests to the workers, and sums of the answers
- `row_weights`: weights of the rows that workers keep, and resamples that every worker draws from its own rows
- `row_answers`: one answer for each row, computed by the workers, as a collection of dask
- `table`: the coded table in the driver: columns, states, and sums over the partitions
- `numeric_parts`, `numeric_table`, `numeric_distribution`: the same for numeric tables: float64 blocks that workers
  keep, the table, and its construction
- `placement`: which worker gets which partitions
- `distribution`: from a source to a coded table: the states of all partitions are merged, then every partition is coded
"""
