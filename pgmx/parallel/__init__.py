"""Independent tasks over one table, on threads, processes or a cluster.

- `arrays`: arrays that many tasks read, on their way to workers
- `memory`: how much memory the machine has left
- `spread`: many independent tasks over one table, through joblib and whatever backend the user chose
"""
