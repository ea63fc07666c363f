"""Independent tasks over one table, on threads, processes or a cluster.

- `arrays`: arrays that many tasks read, on their way to workers
- `memory`: how much memory the machine has left
- `threads`: tasks on threads of this process, as many as pay by the measured cost
- `spread`: many independent tasks over one table, through joblib and whatever backend the user chose
"""
