"""Independent tasks over one table, on threads, processes or a cluster.

- `arrays`: arrays that many tasks read, and how they are sent to workers
- `memory`: the free memory of the machine
- `threads`: tasks on threads of this process; their number depends on the measured cost
- `spread`: many independent tasks over one table, through joblib and the backend that the user chose
"""
