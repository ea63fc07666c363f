"""One run of a learner: its clock, limits, callback, history and checkpoint.

- `progress`: the argument of a callback, a named tuple per family of learners
- `snapshot`: the values of a snapshot, each checked when it is read back
- `checkpoint`: snapshots of a run in a file, from which a killed run can resume, and the fingerprint of a run
- `run`: the run itself, its tasks in several threads, and the progress bar
- `store`: storage for the state of solvers: the checkpoint of a run, or a section of it
"""
