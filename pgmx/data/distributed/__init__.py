"""Distributed tables: the rows stay with the workers of a dask cluster, in partitions.

- `distribution`: from a source to a table: the states of all partitions are merged, then every partition is coded
- `placement`: the partitions of a source, and which worker gets which of them
- `reading`: how workers read the rows of a partition
- `partitions`: the partitions that workers keep
- `remote_partitions`: requests to the workers, sums of the answers over the partitions, and answers for single rows
- `remote_table`: common methods of distributed tables: requests, weights of rows, and resamples
- `tables`: the discrete and the numeric table in the driver
"""
