"""Independent tasks over one table, on threads, processes or a cluster.

- `spread`: many independent tasks over one table, through joblib and whatever backend the user chose
"""
