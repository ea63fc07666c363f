"""Independent tasks over one table, on threads, processes or a cluster.

- `arrays`: arrays that many tasks read, on their way to workers
- `spread`: many independent tasks over one table, through joblib and whatever backend the user chose
"""
